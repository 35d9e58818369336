// SPDX-License-Identifier: Apache-2.0
// How pictures of a training batch are mixed with each other: mixup (Zhang, Cisse, Dauphin, Lopez-Paz
// 2018) and cutmix (Yun et al. 2019). Picture n of N takes from N-1-n, since a batch's order is drawn
// anyway. What all its pictures take at pixel (y, x) is rows[y]·columns[x]:
//
//   mixup    rows = 1 - λ everywhere, columns = 1
//   cutmix   rows and columns = 1 in a box of about the share 1 - λ of the pixels, 0 around it
//
// and a label gives up the mean of that. λ is drawn of Beta(α, α), by seed and number of the batch.
#pragma once

#include <cstdint>
#include <vector>

#include "data/source.h"

namespace tilefuse::data {

struct Mixing {
  double mixup = 0;  // α; 0: not done
  double cutmix = 0; // α; where both are done, half of the batches each
  bool is_on() const { return mixup > 0 || cutmix > 0; }

  bool operator==(const Mixing &) const = default;
};

// The rows' numbers and then the columns', of a batch that is `number` in the run; empty where
// nothing is mixed.
std::vector<float> draw_mix(const Mixing &mixing, const PictureForm &form, std::uint64_t seed,
                            std::int64_t number);

} // namespace tilefuse::data
