// SPDX-License-Identifier: Apache-2.0
// Nests whose time says how fast one part of a device is, and that time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "nest/nest.h"
#include "runtime/device.h"
#include "schedule/schedule.h"

namespace tilefuse::model {

// out[i] = post(in0[i], in1[i], …) with as many extras as `types`.
nest::Nest map_nest(const std::string &name, const std::vector<DType> &types, std::int64_t points,
                    const std::function<program::Expr(const std::vector<program::Expr> &)> &post);
// A matrix product of `size` rows, columns and depth, stored in a type.
nest::Nest product_nest(std::int64_t size, DType type);
// Reads and writes f32.
nest::Nest copy_nest(std::int64_t elems);
// out[i] = max of in[i + k], k below `window`.
nest::Nest window_nest(std::int64_t elems, std::int64_t window);
// out[i] = sum over k of so many additions of a[i] and products with a constant, one behind the
// other, that begin at b[k].
nest::Nest chain_nest(std::int64_t elems, std::int64_t chains, int operations);

// The least device seconds of several runs under a schedule, or under that which search picks.
double best_seconds(runtime::Device &device, const nest::Nest &nest,
                    const schedule::Schedule &schedule);
double best_seconds(runtime::Device &device, const nest::Nest &nest);

} // namespace tilefuse::model
