// SPDX-License-Identifier: Apache-2.0
// Random changes of training pictures, in u8 and in place: a crop of the same size out of the
// picture with zeros around it, then perhaps its mirror image. The draws are Threefry's, keyed by
// (seed, epoch) with the picture's number as the counter, so that they are the same on any number
// of threads and after any restart.
#pragma once

#include <cstdint>
#include <span>

#include "data/source.h"

namespace tilefuse::data {

struct Augment {
  int pad_crop = 0;  // pixels of zeros on each side
  bool flip = false; // mirrors left and right with probability 1/2

  bool operator==(const Augment &) const = default;
};

// Error{Shape} where the zeros are negative or wider than the picture.
void check(const Augment &augment, const PictureForm &form);

// Changes picture `sample`, which lies in `pixels`.
void augment(const Augment &augment, const PictureForm &form, std::uint64_t seed,
             std::int64_t epoch, std::int64_t sample, std::span<std::uint8_t> pixels);

} // namespace tilefuse::data
