// SPDX-License-Identifier: Apache-2.0
// Random products with a sum of what they store (schedule/wgmma/tile_sums.h): sizes that tiles
// divide, since parts of the sum are whole tiles.
#pragma once

#include <optional>
#include <vector>

#include "base/random.h"
#include "nest/nest.h"
#include "poly/group.h"
#include "schedule/schedule.h"

namespace tilefuse::model {

constexpr int kSummed = 0; // the sum's input that is the product's result

struct SummedProduct {
  nest::Nest product;               // what the sum reads at each pixel is among its operands
  nest::Nest sum;                   // of input kSummed
  std::vector<nest::SlotId> beside; // the sum's slots of the product's last operands
};

SummedProduct random_summed_product(Random &random);

// The product with parts of the sum, which are the schedule's tiles; nothing where they are none.
std::optional<poly::Group> with_sum(const SummedProduct &drawn, const schedule::Schedule &schedule);

} // namespace tilefuse::model
