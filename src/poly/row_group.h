// SPDX-License-Identifier: Apache-2.0
// Groups whose anchor multiplies rows that are made of another product's, as attention does:
//
//   group
//   anchor nest conv { … }           O[r, n] = sum_k P[r, k] * V[k, n]
//   rows input 0 of 0 slots …
//   nest map { … }                   P[r, k] = f16(exp(S[r, k] - M[r]) / L[r])
//   rows input 2 of 1 slots …
//   nest gemm { … }                  L[r] = sum_k exp(S[r, k] - M[r])
//   rows input 1 of 2 slots …
//   nest maxpool { … }               M[r] = max_k S[r, k]
//   rows input 0 of 1 slots …
//   nest gemm { … }                  S[r, k] = sum_d Q[r, d] * K[k, d], the first product
//
// All producers are Feed::Rows: the first product, which is the last of them, and maps and
// reductions of its rows. What they write exists for some rows at a time, with all their keys, in
// registers: tiles, with an element per key, and statistics, with one per row. Members that stand
// before a producer may read what it writes; `input` counts a nest's inputs and then its extras,
// and names the first that does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "poly/group.h"

namespace tilefuse::poly {

bool has_rows(const Group &group);
// The member that computes the first product. Requires rows.
MemberId first_product(const Group &group);
// The producer that writes a slot of the group, if one does.
std::optional<MemberId> writer_of(const Group &group, SlotId slot);
// An operand of a nest by its number: inputs, then extras.
const nest::Operand &operand_of(const nest::Nest &nest, int number);
int operands(const nest::Nest &nest);
// The input of the anchor that is made of rows. Requires rows.
int row_input(const Group &group);
// Whether a member reduces rows.
bool is_statistic(const Group &group, MemberId member);
// Whether a member has a schedule of its own: the anchor, what runs for a tile, and the first
// product of rows.
bool has_schedule(const Group &group, MemberId member);
// Keys of a row.
std::int64_t row_keys(const Group &group);

// For each member, how far apart neighbours of each of its indices lie in the first product's
// result, taken as rows of keys without gaps: 1 for the key; 0 where it moves nothing there.
using RowPlaces = Indexed<MemberId, Indexed<IndexId, std::int64_t>>;
// Nothing where a member does not walk the rows whole.
std::optional<RowPlaces> row_places(const Group &group);

// Why the producers are no rows of the anchor's, or nothing. Requires that slots are named rightly.
std::optional<std::string> broken_rows(const Group &group);

} // namespace tilefuse::poly
