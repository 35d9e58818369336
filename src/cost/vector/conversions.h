// SPDX-License-Identifier: Apache-2.0
// What it costs a core to compute in another type than a tensor is stored in: halves in float, whole
// numbers of 8 and 16 bits in 32. Constants that are packed and inputs that are staged are converted
// once, when they are copied; what a kernel reads from memory as it lies is converted at each read.
#pragma once

#include "target/dtype.h"

namespace tilefuse::cost {

// Vector instructions beside the load or store, as many as tell: most run on ports that multiply-adds
// leave idle, so that a network whose every product converts runs at 0.8 to 0.97 of its rate in f32,
// not at half of it (docs/lab/2026-11-vector-model.md).
struct Conversion {
  double neighbours = 0; // of a register that is read
  double spread = 0;     // of an element that is read for all lanes: a load does both otherwise
  double stored = 0;     // of a register that is written
};

// Of values that are computed in the type that `stored` asks for (dtype_traits: value).
Conversion conversion(DType stored);

} // namespace tilefuse::cost
