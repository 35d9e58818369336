// SPDX-License-Identifier: Apache-2.0
// Products whose inputs pointwise maps compute, for checks of kernels that evaluate them.
#pragma once

#include <string>
#include <vector>

#include "poly/group.h"

namespace tilefuse::model {

// What a map reads: a tensor that lies as the one it gives, or a float32 number per channel.
enum class Reads { Tensor, Channels };

// The group with `post` of such operands as what feeds an input of its anchor.
poly::Group fed(const poly::Group &group, int input, const std::string &post,
                const std::vector<Reads> &reads);

// BatchNorm and ReLU: no 0 at 0, which padding is.
poly::Group normalised(const poly::Group &group, int input);
// dy * relu'(y).
poly::Group masked(const poly::Group &group, int input);

} // namespace tilefuse::model
