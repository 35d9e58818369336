// SPDX-License-Identifier: Apache-2.0
// The first half of making subscripts integer: a contraction in new variables, of which the first
// are the coordinates of the result themselves.
//
//   O[2x + i] = +(I[x]), i < 4     →     v0 = 2x + i, v1 = i:   O[v0] = +(I[(v0 - v1) / 2])
//
// Every element of the result is then a point of a box, and a result that strides, overlaps or
// mirrors is a question of which points take part. Points where old indices or subscripts are no
// integers do not count; defract.h removes them.
#pragma once

#include <string>
#include <vector>

#include "nest/integer/bounds.h"
#include "program/program.h"

namespace tilefuse::nest {

// Points with 0 <= form < bound take part; those of a subscript must be whole numbers.
struct Row {
  program::Affine form;
  std::int64_t bound = 0;
  bool is_subscript = true;
  std::string name; // for messages
};

// A contraction's index space: rows of the result's subscripts first, then of the operands', then
// constraints.
struct System {
  std::vector<std::string> indices;
  std::vector<Row> rows;
  std::size_t results = 0; // rows that are the result's subscripts
};

// A system in its new variables.
struct Reduced {
  std::vector<std::string> names;       // by variable: of an old index that it stands for
  std::size_t outputs = 0;              // variables that are the result's coordinates
  std::vector<std::size_t> result_rows; // by output variable: the row that equals it
  std::vector<Row> rows;                // of the system, in the variables
  std::vector<program::Affine> indices; // the old ones, in the variables; must be whole numbers
};

// The rows as conditions with integer coefficients. A row that misses the integers altogether stays
// as near as integers say.
Domain domain_of(const System &system);

// Output variables are those result rows that are linearly independent, in order. The others are
// old indices that the result does not use, or rows: those of fewest values where the result's
// coordinates are settled. `ranges` has one element per old index.
Reduced reduce(const System &system, const std::vector<Interval> &ranges);

} // namespace tilefuse::nest
