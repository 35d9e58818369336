// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <utility>

#include "base/index.h"
#include "nest/evaluate/reference.h"
#include "nest/fold/fold.h"
#include "program/drop_dead.h"

namespace tilefuse::nest {
namespace {

using program::Bytes;
using program::Program;
using program::Role;
using program::Statement;
using program::TensorId;

constexpr std::int64_t kMaxGrowth = 4; // results may hold this many times their operands' elements,
constexpr std::int64_t kAlwaysFolded = 1 << 22; // or this many in any case

// Whether everything the statement reads is known, and folding does not blow a small constant up
// into a huge one.
bool is_foldable(const Program &program, const Statement &statement) {
  std::int64_t read = 0;
  for (TensorId id : program::reads(statement)) {
    if (program[id].role != Role::Constant || !program[id].data)
      return false;
    read = std::max(read, program::elems(program[id].shape));
  }
  const std::int64_t result = program::elems(program[statement.out].shape);
  return result <= kAlwaysFolded || result / kMaxGrowth <= read;
}

std::shared_ptr<const Bytes> fold(const Program &program, const Statement &statement) {
  if (const auto *view = std::get_if<program::View>(&statement.body))
    return program[view->in].data;
  std::vector<const Bytes *> data(program.tensors.size(), nullptr);
  for (TensorId id : program::reads(statement))
    data[at(id)] = program[id].data.get();
  return std::make_shared<const Bytes>(run_statement(program, statement, data).data);
}

} // namespace

bool fold_statement(Program &program, const Statement &statement) {
  if (!is_foldable(program, statement))
    return false;
  program::Tensor &tensor = program[statement.out];
  tensor.data = fold(program, statement);
  tensor.role = Role::Constant;
  return true;
}

Program fold_constants(Program program) {
  for (Statement &statement : std::exchange(program.statements, {})) {
    const bool returned = std::find(program.outputs.begin(), program.outputs.end(),
                                    statement.out) != program.outputs.end();
    if (returned || !fold_statement(program, statement))
      program.statements.push_back(std::move(statement));
  }
  return program::drop_dead(std::move(program));
}

} // namespace tilefuse::nest
