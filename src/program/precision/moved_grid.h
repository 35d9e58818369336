// SPDX-License-Identifier: Apache-2.0
// Scales and zero points of a tensor where a statement moves it or sums over it: along which
// dimensions of the result they vary.
#pragma once

#include <optional>

#include "program/precision/scaled.h"

namespace tilefuse::program {

// Of a tensor of shape `from` that is viewed as `to`. Nothing where the view splits or joins what
// the grid varies along with something else.
std::optional<Grid> viewed_grid(const Grid &grid, const Shape &from, const Shape &to);
// Offset and scale of the result of a view, or of a contraction that moves elements.
std::optional<Term> moved_term(const Program &program, const Statement &statement,
                               const Term &term);
// Of what a contraction reads, as it varies along its result. Nothing where it varies along what is
// summed.
std::optional<Grid> result_grid(const Program &program, const Statement &statement,
                                const Access &access, const Grid &grid);
// Sums of the elements of an operand over all that is no index of the result. Nothing where an
// index of the result moves the operand together with another.
std::optional<Grid> summed_grid(const Program &program, const Statement &statement,
                                const Access &access, const Tensor &operand);

} // namespace tilefuse::program
