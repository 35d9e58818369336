// SPDX-License-Identifier: Apache-2.0
// The reduction of a nest whose points are expressions of its inputs (Comb::Term), in double
// precision: rows of the longest index at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "nest/nest.h"

namespace tilefuse::nest {

// As accumulate() (accumulate.h), of a nest with a term.
std::vector<double> accumulate_terms(const Nest &nest, std::span<const std::span<std::byte>> slots);

// Calls `visit` with each point of a nest with a term, rows of the longest index one after the
// other: the operands' values, and where the point's accumulator lies.
using VisitRow = std::function<void(const std::vector<std::vector<double>> &operands,
                                    std::int64_t accumulator, std::int64_t step)>;
void for_each_row(const Nest &nest, std::span<const std::span<std::byte>> slots,
                  const VisitRow &visit);

} // namespace tilefuse::nest
