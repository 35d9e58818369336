// SPDX-License-Identifier: Apache-2.0
// What a contraction writes, as a box.
#pragma once

#include "program/storage/boxes.h"

namespace tilefuse::program {

// The elements that a contraction into a tensor of `shape` writes, where they form a box that exact
// reasoning finds: index ranges by interval propagation, then a search for a witness of each output
// subscript. Nothing when unsure, and for a scalar that is not written, which no box describes.
std::optional<Box> written_box(const Program &program, const Shape &shape,
                               const Contraction &contraction);

} // namespace tilefuse::program
