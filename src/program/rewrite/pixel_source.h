// SPDX-License-Identifier: Apache-2.0
// Inside of first_layer.h: what the data of a convolution was made of element by element, so that its
// pixels are stored of that in one statement.
//
//   %2 : f32[1, 3, 229, 229] = assign[i0, i1, i2, i3](%0[i0, i1, i2, i3]) -> [i0, i1, i2 + 3, i3 + 3]
//   %3 : u8[1, 3, 229, 229] = map[%2](u8(round($0 / 0.25) + 124))
//
// of %3: elements of %0, 3 rows and columns further, and what the map makes of each; zeros around.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "program/program.h"

namespace tilefuse::program {

struct PixelSource {
  TensorId from{};
  std::vector<std::int64_t> before; // zeros in front of its elements, by dimension; none: 0
  std::optional<Expr> made;         // what is made of each element, and of zeros; nothing: itself
  std::string origin;               // of what makes it
};

class PixelSources {
public:
  void note(const Program &program, const Statement &statement);
  // The data itself where no single tensor's elements were made into it.
  PixelSource of(TensorId data) const;

private:
  std::map<TensorId, PixelSource> made_;   // by maps
  std::map<TensorId, PixelSource> placed_; // with zeros around them
};

} // namespace tilefuse::program
