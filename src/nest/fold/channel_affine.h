// SPDX-License-Identifier: Apache-2.0
// Maps that are scale * t + shift per channel of one tensor t, found symbolically and evaluated per
// channel. BatchNorm, bias and scalar factors are such maps.
#pragma once

#include <optional>
#include <vector>

#include "program/program.h"

namespace tilefuse::nest {

// Elements of a dimension range of a tensor, in row-major order: `before` elements of slower
// dimensions, `count` channels. A count of 1 is a map whose constants do not vary at all.
struct Channels {
  std::int64_t before = 1;
  std::int64_t count = 1;
  friend bool operator==(const Channels &, const Channels &) = default;
};

// scale * t + shift, one value per channel.
struct ChannelAffine {
  Channels channels;
  std::vector<double> scale;
  std::vector<double> shift;
};

// The map `statement` as a function of `t`, which has the result's shape and floating type. Nothing
// when it is not affine, when another operand is no known constant or varies along more than one
// dimension, or when a value is not finite.
std::optional<ChannelAffine> channel_affine(const program::Program &program,
                                            const program::Statement &statement,
                                            program::TensorId t);

// second(first(t)); nothing when their channels differ.
std::optional<ChannelAffine> compose(const ChannelAffine &second, const ChannelAffine &first);

} // namespace tilefuse::nest
