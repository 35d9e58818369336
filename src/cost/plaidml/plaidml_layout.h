// SPDX-License-Identifier: Apache-2.0
// How a tile of one input lies in shared memory. Indices that walk the same memory are merged (x
// and i of a convolution: `i_x` covers T_i + T_x - 1 rows), and local strides are kept odd so that
// neighbouring rows fall into different banks:
//
//          Range    Global     Local
//    i_x       3     14336         1
//    j_y       4        64       393
//     ci       8         1        49
//      n      16   3211264         3      1572 elements
#pragma once

#include <string>
#include <vector>

#include "cost/plaidml/plaidml_flat.h"

namespace tilefuse::cost::plaidml {

struct MergedIndex {
  std::vector<std::size_t> members; // indices of the kernel, by rising stride
  std::int64_t stride = 0;          // elements of the tensor, positive
  std::int64_t range = 1;
  std::int64_t local_stride = 1;
  std::int64_t zero = 0; // position of the tile's origin, above 0 under negative strides
};

// Where one index of the kernel went: position in `merged` and steps per point, negative where the
// tensor is walked backwards.
struct Member {
  std::size_t index = 0;
  std::size_t merged = 0;
  std::int64_t scale = 1;
};

struct SharedLayout {
  std::vector<MergedIndex> merged;     // in the order of local strides
  std::vector<Member> members;         // by rising stride
  std::vector<std::size_t> load_order; // positions in `merged`, fastest threads first
  std::int64_t elems = 1;              // vectors where vectorised
  std::int64_t local_zero = 0;         // of the tile's origin, elements of the buffer
  std::int64_t global_zero = 0;        // the same in the tensor
};

// `line_elems`: elements (vectors) of one memory access of full width.
SharedLayout shared_layout(const Access &access, const Tile &tile, std::int64_t line_elems);

// Memory accesses of full width that fill the tile: its elements over the best saving that a single
// merged index offers; 1 without indices.
std::int64_t loads(const SharedLayout &layout, std::int64_t line_elems);

// "i_x"
std::string name_of(const MergedIndex &merged, const std::vector<std::string> &names);

} // namespace tilefuse::cost::plaidml
