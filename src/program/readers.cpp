// SPDX-License-Identifier: Apache-2.0
#include "program/readers.h"

#include <algorithm>

#include "base/index.h"

namespace tilefuse::program {

std::vector<std::vector<std::size_t>> readers_of(const Program &program) {
  std::vector<std::vector<std::size_t>> readers(program.tensors.size());
  for (std::size_t s = 0; s < program.statements.size(); ++s)
    for (const TensorId id : reads(program.statements[s]))
      readers[at(id)].push_back(s);
  for (const TensorId id : program.outputs)
    readers[at(id)].push_back(program.statements.size());
  return readers;
}

std::vector<int> count_readers(const Program &program) {
  std::vector<int> counts;
  for (const std::vector<std::size_t> &readers : readers_of(program))
    counts.push_back(static_cast<int>(readers.size()));
  return counts;
}

bool reads_operand(const Expr &expr, int operand) {
  if (expr.kind == Expr::Kind::Operand)
    return expr.operand == operand;
  return std::any_of(expr.args.begin(), expr.args.end(),
                     [&](const Expr &arg) { return reads_operand(arg, operand); });
}

} // namespace tilefuse::program
