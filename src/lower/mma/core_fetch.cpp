// SPDX-License-Identifier: Apache-2.0
#include "lower/mma/core_fetch.h"

#include <string>

#include "kernel/rules.h"
#include "lower/expressions.h"

namespace tilefuse::lower {

using schedule::kCoreColumns;
using schedule::kCoreRows;
using schedule::kHalfRows;
using schedule::kPairs;
using schedule::kWordGroup;

namespace {

constexpr std::int64_t kHalves = 2;    // of a step's depth
constexpr std::int64_t kHalfDepth = 4; // words of one

std::string name_of(const CoreSide &side) { return side.is_data() ? "data" : "filter"; }

// Work-item (t, g) reads point t of each half of the depth: of the data 2 neighbours of row g, which
// are 8 apart in a fragment, of the filter column g. Other fragments of the 32 lie in chunks that
// differ in bits which are 0 here.
CorePlace word_place(kernel::Builder &b, Stmts &list, const CoreSide &side, ExprRef item,
                     ExprRef first) {
  CorePlace place;
  const ExprRef own = b.div(item, kHalfDepth);
  const ExprRef point = side.is_data() ? dealt_row(b, own)
                                       : b.add(b.mul(b.div(own, 4), kWordGroup / 2), b.mod(own, 4));
  for (std::int64_t half = 0; half < kHalves; ++half) {
    const ExprRef row = b.add(b.mod(item, kHalfDepth), half * kHalfDepth);
    const ExprRef chunk = swizzled(b, side.swizzle(), b.div(point, side.chunk()), row);
    const ExprRef inside =
        b.add(b.add(first, b.mul(chunk, side.chunk())), b.mod(point, side.chunk()));
    place.words[static_cast<std::size_t>(half)] =
        named(b, list, name_of(side) + "_word", b.add(b.mul(row, side.side().elems), inside));
  }
  if (side.is_data())
    place.loaded = register_buffer(b, name_of(side) + "_loaded",
                                   {b.kernel()[side.ring()].type.elem, 1}, kPairs);
  return place;
}

// A load brings what stands in neighbouring registers of a fragment, or one word, so that none of
// them is moved.
StmtRef fetch_words(kernel::Builder &b, const CoreSide &side, const CorePlace &from,
                    const CoreStripe &at, BufferId to, std::int64_t stripes) {
  Stmts list;
  const std::int64_t row = at.step * kHalves * kHalfDepth * side.side().elems;
  const std::int64_t points = side.is_data() ? kCoreRows : kCoreColumns;
  const std::int64_t of_group = kWordGroup / points; // fragments
  for (std::int64_t number = 0; number < stripes * kCoreRows / points; ++number)
    for (std::int64_t half = 0; half < kHalves; ++half) {
      const std::int64_t apart = side.is_data() ? dealt_row(number, 0) : dealt_column(number);
      const ExprRef word = b.scalar(ScalarOp::BitXor, {from.words[static_cast<std::size_t>(half)],
                                                       b.integer(apart % kWordGroup)});
      const ExprRef first = b.add(b.add(at.buffer, word), row + number / of_group * kWordGroup);
      if (!side.is_data()) {
        list.push_back(b.store(to, number * kHalves + half, b.load(side.ring(), first)));
        continue;
      }
      list.push_back(b.store(from.loaded, 0, b.load(side.ring(), first, kPairs)));
      for (std::int64_t down = 0; down < kPairs; ++down) // 8 rows each
        list.push_back(
            b.store(to, (number * kHalves + half) * kPairs + down, b.load(from.loaded, down)));
    }
  return b.block(std::move(list));
}

} // namespace

ExprRef dealt_row(kernel::Builder &b, ExprRef eighth) {
  return b.add(b.add(b.mul(b.div(eighth, 4), 4), b.mul(b.mod(b.div(eighth, 2), 2), kWordGroup / 2)),
               b.mul(b.mod(eighth, 2), kPairs));
}

std::int64_t dealt_row(std::int64_t stripe, std::int64_t half) {
  return stripe / 2 * kWordGroup + stripe % 2 * kHalfRows + half;
}

ExprRef dealt_column(kernel::Builder &b, ExprRef quarter) {
  return b.add(b.mul(b.div(quarter, 2), kWordGroup / 2), b.mul(b.mod(quarter, 2), kPairs));
}

std::int64_t dealt_column(std::int64_t tile) {
  return tile / 4 * kWordGroup + tile % 4 * (kCoreColumns / 2);
}

// The four 8 x 16-byte tiles of a stripe go down 16 pixels and then along the depth for the data,
// the other way for the filter. In straight rows the depth is found by the chunk, in turned ones by
// the row.
CorePlace core_place(kernel::Builder &b, Stmts &list, const CoreSide &side, ExprRef item,
                     ExprRef first) {
  if (side.reads_words())
    return word_place(b, list, side, item, first);
  const ExprRef eighth = b.mod(item, 8);
  const ExprRef low = b.mod(b.div(item, 8), 2);
  const ExprRef high = b.div(item, 16);
  const ExprRef own = side.is_data() ? low : high; // 8 pixels or channels further
  const ExprRef deep = side.is_data() ? high : low;
  const schedule::Swizzle swizzle = side.swizzle();
  ExprRef row = b.add(eighth, b.mul(side.is_turned() ? deep : own, 8));
  ExprRef chunk = deep;
  if (side.is_turned())
    chunk = b.add(b.div(first, side.chunk()), own);
  else
    row = b.add(first, row);
  CorePlace place;
  place.row = named(b, list, name_of(side) + "_row", b.mul(row, side.side().elems));
  place.swizzled = named(b, list, name_of(side) + "_chunk", swizzled(b, swizzle, chunk, eighth));
  return place;
}

StmtRef core_fetch(kernel::Builder &b, const CoreSide &side, const CorePlace &from,
                   const CoreStripe &at, BufferId to, std::int64_t to_stripe) {
  const std::int64_t step_points = 2 * side.chunk();
  const std::int64_t rows = side.is_turned() ? at.step * step_points : at.stripe * kCoreRows;
  const ExprRef chunk = b.scalar(
      ScalarOp::BitXor, {b.integer(2 * (side.is_turned() ? at.stripe : at.step)), from.swizzled});
  const ExprRef at_row = b.add(from.row, rows * side.side().elems);
  kernel::LoadMatrix load{.to = {to, b.integer(0)},
                          .from = side.ring(),
                          .index = b.add(b.add(at.buffer, b.mul(chunk, side.chunk())), at_row),
                          .matrices = 4,
                          .transposed = side.is_turned()};
  load.to.index = b.integer(to_stripe * load_matrix_values(b.kernel(), load));
  return b.load_matrix(load);
}

BufferId core_fragments(kernel::Builder &b, const CoreSide &side, const Fragment &fragment,
                        std::int64_t count) {
  const int lanes = side.reads_words() ? 1 : fragment.values();
  return register_buffer(b, name_of(side) + "_values", {fragment.type, lanes},
                         count * fragment.values() / lanes);
}

ExprRef core_fragment(kernel::Builder &b, const CoreSide &side, const Fragment &fragment,
                      std::int64_t number) {
  return b.integer(side.reads_words() ? number * fragment.values() : number);
}

StmtRef core_fetch_all(kernel::Builder &b, const CoreSide &side, const CorePlace &from,
                       const CoreStripe &at, BufferId to, std::int64_t stripes) {
  if (side.reads_words())
    return fetch_words(b, side, from, at, to, stripes);
  Stmts list;
  for (std::int64_t i = 0; i < stripes; ++i)
    list.push_back(core_fetch(b, side, from, {i, at.step, at.buffer}, to, i));
  return b.block(std::move(list));
}

} // namespace tilefuse::lower
