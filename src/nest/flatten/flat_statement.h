// SPDX-License-Identifier: Apache-2.0
// A nest and the buffers of the program it works on.
#pragma once


#include "nest/nest.h"
#include "program/storage/storage.h"

namespace tilefuse::nest {

struct FlatStatement {
  Nest nest;
  Indexed<SlotId, program::BufferId> buffers;
};

} // namespace tilefuse::nest
