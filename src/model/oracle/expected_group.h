// SPDX-License-Identifier: Apache-2.0
// What a correct kernel of a group may store (model/oracle/expected.h): the members run one after
// the other, producers first, and the bound of what one stores is the error of what the next reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/oracle/expected.h"
#include "poly/group.h"

namespace tilefuse::poly {

// At points of the anchor's output indices. `slots` by slot of the group, as they are before the
// kernel runs, whatever those that exist only in tiles hold. Of producers, only the points that are
// needed are computed.
std::vector<nest::Expectation> expect(const Group &group,
                                      std::span<const std::span<std::byte>> slots,
                                      const std::vector<std::vector<std::int64_t>> &points,
                                      double input_roundoff = 0);

} // namespace tilefuse::poly
