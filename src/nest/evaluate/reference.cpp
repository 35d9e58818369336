// SPDX-License-Identifier: Apache-2.0
#include "nest/evaluate/reference.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "base/error.h"
#include "base/index.h"
#include "nest/evaluate/evaluate.h"
#include "nest/flatten/flat_statement.h"
#include "nest/flatten/flatten.h"
#include "nest/fold/fold.h"

namespace tilefuse::nest {
namespace {

using program::Bytes;
using program::HostTensor;
using program::Program;
using program::Statement;
using program::TensorId;

// The tensors of one statement, each in a row-major buffer of its own.
struct LocalProgram {
  program::StoredProgram stored;
  Statement statement;
  std::vector<TensorId> tensors; // by local id, those of the whole program

  LocalProgram(const Program &program, const Statement &from) : statement(from) {
    if (auto *map = std::get_if<program::Map>(&statement.body)) {
      for (TensorId &operand : map->operands)
        operand = local(program, operand);
    } else if (auto *contraction = std::get_if<program::Contraction>(&statement.body)) {
      for (program::Access &access : contraction->in)
        access.tensor = local(program, access.tensor);
      if (contraction->init)
        contraction->init = local(program, *contraction->init);
    }
    statement.out = local(program, statement.out);
  }

  TensorId local(const Program &program, TensorId id) {
    const auto found = std::find(tensors.begin(), tensors.end(), id);
    const TensorId result{static_cast<int>(found - tensors.begin())};
    if (found != tensors.end())
      return result;
    const program::Tensor &tensor = program[id];
    tensors.push_back(id);
    stored.program.tensors.push_back(
        {tensor.name, tensor.type, tensor.shape, tensor.role, nullptr});
    stored.windows.push_back(
        {program::BufferId{to_int(result)}, 0, program::row_major(tensor.shape)});
    stored.buffers.push_back({tensor.type, program::elems(tensor.shape), tensor.role});
    return result;
  }
};

const Bytes &bytes_of(const Program &program, TensorId id, std::span<const Bytes *const> data) {
  static const Bytes kNone;
  if (data[at(id)] == nullptr && program::elems(program[id].shape) == 0)
    return kNone;
  if (data[at(id)] == nullptr)
    throw Error(ErrorCode::Shape,
                fmt::format("tensor '{}' has no data to evaluate with", program[id].name));
  return *data[at(id)];
}

// Evaluation only reads what is not the result, so that dropping const is safe.
std::span<std::byte> view_of(const Bytes &bytes) {
  return {const_cast<std::byte *>(bytes.data()), bytes.size()};
}

class Reference {
public:
  Reference(const Program &program, const std::map<std::string, HostTensor> &inputs)
      : program_(program), data_(program.tensors.size(), nullptr), values_(program.tensors.size()),
        last_use_(program.tensors.size(), 0) {
    for (std::size_t s = 0; s < program.statements.size(); ++s)
      for (TensorId id : program::reads(program.statements[s]))
        last_use_[at(id)] = s;
    for (TensorId id : program.outputs)
      last_use_[at(id)] = program.statements.size();
    for (std::size_t i = 0; i < program.tensors.size(); ++i)
      data_[i] = program.tensors[i].data.get();
    for (TensorId id : program.inputs)
      bind(id, inputs);
  }

  std::vector<HostTensor> run() {
    for (std::size_t s = 0; s < program_.statements.size(); ++s) {
      const Statement &statement = program_.statements[s];
      values_[at(statement.out)] = run_statement(program_, statement, data_).data;
      data_[at(statement.out)] = &values_[at(statement.out)];
      for (TensorId id : program::reads(statement))
        if (last_use_[at(id)] == s)
          values_[at(id)] = Bytes();
    }
    std::vector<HostTensor> outputs;
    for (TensorId id : program_.outputs) {
      const program::Tensor &tensor = program_[id];
      outputs.push_back({tensor.name, tensor.type, tensor.shape, bytes_of(program_, id, data_)});
    }
    return outputs;
  }

private:
  void bind(TensorId id, const std::map<std::string, HostTensor> &inputs) {
    const program::Tensor &tensor = program_[id];
    const auto found = inputs.find(tensor.name);
    if (found == inputs.end())
      throw Error(ErrorCode::Shape, fmt::format("no tensor is given for input '{}'", tensor.name));
    const HostTensor &given = found->second;
    if (given.type != tensor.type)
      throw Error(ErrorCode::Type, fmt::format("input '{}': got {}, need {}", tensor.name,
                                               to_string(given.type), to_string(tensor.type)));
    const std::int64_t need = program::elems(tensor.shape) * size_bytes(tensor.type);
    if (given.shape != tensor.shape || static_cast<std::int64_t>(given.data.size()) != need)
      throw Error(ErrorCode::Shape,
                  fmt::format("input '{}': got shape [{}], need [{}]", tensor.name,
                              fmt::join(given.shape, ", "), fmt::join(tensor.shape, ", ")));
    data_[at(id)] = &given.data;
  }

  const Program &program_;
  std::vector<const Bytes *> data_;
  std::vector<Bytes> values_;
  std::vector<std::size_t> last_use_; // by TensorId, the statement's position
};

} // namespace

HostTensor run_statement(const Program &program, const Statement &statement,
                         std::span<const Bytes *const> data) {
  const program::Tensor &tensor = program[statement.out];
  if (const auto *view = std::get_if<program::View>(&statement.body))
    return {tensor.name, tensor.type, tensor.shape, bytes_of(program, view->in, data)};
  HostTensor result = program::make_host_tensor(tensor.name, tensor.type, tensor.shape);
  const LocalProgram local(program, statement);
  for (const FlatStatement &flat : flatten(local.stored, local.statement)) {
    std::vector<std::span<std::byte>> slots;
    for (program::BufferId buffer : flat.buffers) {
      const TensorId id = local.tensors[at(buffer)];
      slots.push_back(id == statement.out ? std::span<std::byte>(result.data)
                                          : view_of(bytes_of(program, id, data)));
    }
    evaluate(flat.nest, slots);
  }
  return result;
}

std::vector<HostTensor> evaluate_program(const Program &program,
                                         const std::map<std::string, HostTensor> &inputs) {
  program::verify(program);
  return Reference(program, inputs).run();
}

} // namespace tilefuse::nest
