// SPDX-License-Identifier: Apache-2.0
#include "program/storage/padded_storage.h"

#include "program/storage/placement.h"
#include "program/storage/storage.h"

namespace tilefuse::program {

StoredProgram assign_padded_storage(const Program &program, Layout layout) {
  verify(program);
  StoredProgram stored = Placer(program, layout, true).run();
  verify(stored);
  return stored;
}

} // namespace tilefuse::program
