// SPDX-License-Identifier: Apache-2.0
#include "program/readers.h"

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

} // namespace tilefuse::program
