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

Program drop_dead(Program program) {
  const std::vector<bool> live = find_live(program);
  std::vector<TensorId> renamed(program.tensors.size());
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < renamed.size(); ++i)
    if (live[i]) {
      renamed[i] = TensorId{static_cast<int>(tensors.size())};
      tensors.push_back(std::move(program.tensors[i]));
    }
  program.tensors = std::move(tensors);
  std::erase_if(program.statements,
                [&](const Statement &statement) { return !live[at(statement.out)]; });
  const Renaming rename(std::move(renamed));
  for (std::vector<TensorId> *ports : {&program.inputs, &program.outputs})
    std::for_each(ports->begin(), ports->end(), rename);
  std::for_each(program.statements.begin(), program.statements.end(), rename);
  return program;
}

Program with_statements(Program program, std::vector<Statement> statements, bool drop) {
  program.statements = std::move(statements);
  if (drop)
    program = drop_dead(std::move(program));
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
  return drop_dead(std::move(program));
}

} // namespace tilefuse::program
