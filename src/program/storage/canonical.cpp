// SPDX-License-Identifier: Apache-2.0
#include "program/storage/canonical.h"

#include <set>

#include "base/index.h"
#include "program/storage/boxes.h"

namespace tilefuse::program {
namespace {

std::vector<TensorId> every_tensor(const Program &program) {
  std::vector<TensorId> ids;
  for (std::size_t i = 0; i < program.tensors.size(); ++i)
    ids.push_back(TensorId{static_cast<int>(i)});
  return ids;
}

// Makes views of views views of the source, views of constants constants. Returns each tensor's
// source.
std::vector<TensorId> collapse_views(Program &program) {
  std::vector<TensorId> source = every_tensor(program);
  std::vector<Statement> kept;
  for (Statement &statement : program.statements) {
    auto *view = std::get_if<View>(&statement.body);
    if (!view) {
      kept.push_back(std::move(statement));
      continue;
    }
    view->in = source[at(view->in)];
    const Tensor &from = program[view->in];
    if (from.role == Role::Constant) {
      Tensor &to = program[statement.out];
      to.role = Role::Constant;
      to.data = from.data;
      to.data_hash = from.data_hash;
      continue;
    }
    source[at(statement.out)] = view->in;
    kept.push_back(std::move(statement));
  }
  program.statements = std::move(kept);
  return source;
}

void separate_outputs(Program &program, const std::vector<TensorId> &source) {
  std::set<TensorId> taken;
  for (TensorId &output : program.outputs) {
    const TensorId root = source[at(output)];
    if (program[root].role == Role::Temporary && taken.insert(root).second)
      continue;
    Tensor copy = program[output];
    copy.role = Role::Temporary;
    copy.data = nullptr;
    copy.data_hash.clear();
    const std::size_t rank = copy.shape.size();
    const TensorId fresh = program.add(std::move(copy));
    program.statements.push_back({fresh, identity(output, rank), "output"});
    output = fresh;
  }
}

} // namespace

Program canonicalize(const Program &program) {
  Program result = program;
  const std::vector<TensorId> source = collapse_views(result);
  separate_outputs(result, source);
  return result;
}

Uses uses_of(const Program &program) {
  const std::size_t count = program.tensors.size();
  Uses uses{std::vector<int>(count, -1),
            std::vector<int>(count, 0),
            {},
            every_tensor(program),
            std::vector<bool>(count, false)};
  uses.views.resize(count);
  for (std::size_t s = 0; s < program.statements.size(); ++s) {
    const Statement &statement = program.statements[s];
    uses.definition[at(statement.out)] = static_cast<int>(s);
    if (const auto *view = std::get_if<View>(&statement.body)) {
      uses.source[at(statement.out)] = view->in;
      uses.views[at(view->in)].push_back(statement.out);
      continue;
    }
    for (TensorId id : program::reads(statement))
      ++uses.reads[at(id)];
  }
  for (TensorId id : program.outputs)
    uses.is_output[at(id)] = true;
  return uses;
}

} // namespace tilefuse::program
