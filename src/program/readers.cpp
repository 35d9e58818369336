// SPDX-License-Identifier: Apache-2.0
#include "program/readers.h"

#include "base/index.h"

namespace tilefuse::program {

std::vector<int> count_readers(const Program &program) {
  std::vector<int> readers(program.tensors.size(), 0);
  for (const Statement &statement : program.statements)
    for (const TensorId id : reads(statement))
      ++readers[at(id)];
  for (const TensorId id : program.outputs)
    ++readers[at(id)];
  return readers;
}

} // namespace tilefuse::program
