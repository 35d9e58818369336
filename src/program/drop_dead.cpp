// SPDX-License-Identifier: Apache-2.0
#include "program/drop_dead.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/index.h"
#include "program/renaming.h"

namespace tilefuse::program {
namespace {

// Tensors some output depends on, and every input.
std::vector<bool> find_live(const Program &program) {
  std::vector<bool> live(program.tensors.size(), false);
  for (TensorId id : program.inputs)
    live[at(id)] = true;
  for (TensorId id : program.outputs)
    live[at(id)] = true;
  for (auto s = program.statements.rbegin(); s != program.statements.rend(); ++s)
    if (live[at(s->out)])
      for (TensorId id : reads(*s))
        live[at(id)] = true;
  return live;
}

} // namespace

Program drop_dead(const Program &program) {
  const std::vector<bool> live = find_live(program);
  Program result;
  result.name = program.name;
  result.tf32 = program.tf32;
  std::vector<TensorId> renamed(program.tensors.size());
  for (std::size_t i = 0; i < program.tensors.size(); ++i)
    if (live[i])
      renamed[i] = result.add(program.tensors[i]);
  const Renaming rename(std::move(renamed));
  result.inputs = program.inputs;
  result.outputs = program.outputs;
  std::for_each(result.inputs.begin(), result.inputs.end(), rename);
  std::for_each(result.outputs.begin(), result.outputs.end(), rename);
  for (const Statement &statement : program.statements)
    if (live[at(statement.out)]) {
      result.statements.push_back(statement);
      rename(result.statements.back());
    }
  return result;
}

Program with_statements(Program program, std::vector<Statement> statements, bool drop) {
  program.statements = std::move(statements);
  if (drop)
    program = drop_dead(program);
  verify(program);
  return program;
}

Program alone(Program program, std::vector<Statement> statements) {
  std::set<TensorId> inputs, computed;
  for (const Statement &statement : statements) {
    for (TensorId id : reads(statement))
      if (computed.count(id) == 0 && program[id].role != Role::Constant)
        inputs.insert(id);
    computed.insert(statement.out);
  }
  for (Tensor &tensor : program.tensors)
    if (tensor.role == Role::Input)
      tensor.role = Role::Temporary;
  for (TensorId id : inputs)
    program[id].role = Role::Input;
  program.inputs = {inputs.begin(), inputs.end()};
  program.outputs = {statements.back().out};
  program.statements = std::move(statements);
  return drop_dead(program);
}

} // namespace tilefuse::program
