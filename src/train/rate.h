// SPDX-License-Identifier: Apache-2.0
// Learning rates by step, as PyTorch's schedulers (torch.optim.lr_scheduler) give them when they are stepped once per
// optimiser step. With R the recipe's rate, F its floor, W the steps of the warm-up, T those of the run and t the step:
//
//   warm-up     R (t + 1) / W                     LinearLR(1/W, 1, W - 1), then the schedule over s = t - W of S = T - W;
//                                                 Goyal et al. 2017, 2.2
//   constant    R
//   step        R factor^(milestones passed)      MultiStepLR; milestones are epochs of the run, warm-up included
//   cosine      F + (R - F) (1 + cos(pi s/S)) / 2 CosineAnnealingLR; Loshchilov and Hutter 2017
//   poly        F + (R - F) (1 - s/S)^power       PolynomialLR where F = 0
//   one_cycle   OneCycleLR with its defaults: from R/25 to R within the warm-up (without one: 30 % of the run), then
//               down to F (where it is 0: R/250000) by cosines; Smith and Topin 2019. The momentum stays as it is.
//
// T is that of all epochs; a limit of steps ends a run earlier and changes no rate, so that it can be taken up again.
#pragma once

#include <cstdint>

#include "train/recipe_value.h"

namespace tilefuse::train {

// Rate of a step from 0 on; past the end of the run that of its last step. `steps_per_epoch` is at least 1.
double rate_at(const Recipe &recipe, std::int64_t step, std::int64_t steps_per_epoch);

} // namespace tilefuse::train
