// SPDX-License-Identifier: Apache-2.0
// A gradient that goes to the winners of a maximum and is then dropped where they are not above a
// bound is dropped before: a winner's value is the maximum's result. Of a max-pool behind a ReLU the
// mask is thus read where results are, not where pixels are.
//
//   %3 = max[…](%1[in]) -> [out]
//   %4 "winner" = max[…](%1[in] == %3[out] ? %2[tap]) -> [out]        %2: ranks, no two alike
//   %6 = sum[…](%4[out] == %2[tap] ? %5[out]) -> [in]
//   %7 = map[%6, %1](select($1 > 0, $0, 0))
// becomes
//   %8 = map[%5, %3](select($1 > 0, $0, 0))
//   %7 = sum[…](%4[out] == %2[tap] ? %8[out]) -> [in]
//
// Ensures: every value is what it was.
#pragma once

#include "program/program.h"

namespace tilefuse::program {

// Requires a verified program.
Program mask_winners(Program program);

} // namespace tilefuse::program
