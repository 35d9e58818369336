// SPDX-License-Identifier: Apache-2.0
#include "lower/wgmma/ring_map.h"

#include <algorithm>

#include "base/index.h"
#include "lower/expressions.h"
#include "lower/members.h"
#include "lower/mma/core_map.h"
#include "lower/post.h"
#include "schedule/wgmma/wgmma_tiles.h"

namespace tilefuse::lower {

using kernel::ExprRef;

namespace {

constexpr std::int64_t kTogether = 4; // rows whose reads are under way together

} // namespace

RingMap::RingMap(Context &context, const schedule::CoreFeed &feed, const WgmmaRing &ring,
                 std::int64_t row_elems)
    : cx_(context), b_(context.build), feed_(feed), ring_(ring),
      producer_(cx_.members.contexts[feed.producer]), map_(producer_.whole), row_elems_(row_elems),
      lanes_(static_cast<int>(cx_.gemm().tile.chunk())), chunks_(row_elems / lanes_),
      apart_(schedule::kGroupItems / chunks_) {}

void RingMap::place(ExprRef item, List &list) {
  const schedule::Swizzle swizzle = schedule::core_swizzle(chunks_ * schedule::kChunkBytes);
  first_row_ = named(b_, list, "map_row", b_.div(item, b_.integer(chunks_)));
  const ExprRef chunk = named(b_, list, "map_chunk", b_.mod(item, b_.integer(chunks_)));
  run_ = named(b_, list, "map_run",
               b_.mul(swizzled(b_, swizzle, chunk, first_row_), b_.integer(lanes_)));
  place_ =
      named(b_, list, "map_place",
            b_.add(b_.mul(first_row_, b_.integer(row_elems_)), b_.mul(chunk, b_.integer(lanes_))));
}

void RingMap::read_shared(const Positions &points, IndexId along, ExprRef exists, List &list) {
  const ExprRef valid = count_if(b_, exists, lanes_);
  shared_.assign(map_.extras.size(), nullptr);
  for (const int extra : feed_.read) {
    const nest::Linear flat = read_form(cx_, feed_, extra);
    const std::int64_t stride = flat.coeff[along];
    const ExprRef from = b_.add(linear(cx_, flat, points), b_.mul(run_, b_.integer(stride)));
    const kernel::BufferId buffer = producer_.slot_buffers[map_.extras[at(extra)].slot];
    shared_[at(extra)] =
        named(b_, list, "shared", shared_run(b_, buffer, from, lanes_, stride, valid));
  }
}

std::vector<ExprRef> RingMap::checked(const Positions &points, bool is_shift, List &list) const {
  std::vector<ExprRef> subscripts;
  for (const nest::Dim &dim : cx_.nest.inputs[at(feed_.input)].dims) {
    nest::Linear form = dim.at;
    form.constant = is_shift ? 0 : form.constant;
    if (dim.guarded)
      subscripts.push_back(named(b_, list, is_shift ? "shift" : "at", linear(cx_, form, points)));
  }
  return subscripts;
}

ExprRef RingMap::inside(const std::vector<ExprRef> &subscripts,
                        const std::vector<ExprRef> &shifts) const {
  ExprRef all = nullptr;
  std::size_t k = 0;
  for (const nest::Dim &dim : cx_.nest.inputs[at(feed_.input)].dims)
    if (dim.guarded) {
      all = also_inside(b_, all, b_.add(subscripts[k], shifts[k]), dim.size);
      ++k;
    }
  return all;
}

ExprRef RingMap::load(int extra, ExprRef place, List &list) const {
  if (shared_[at(extra)] != nullptr)
    return shared_[at(extra)];
  const auto number =
      std::find(feed_.copied.begin(), feed_.copied.end(), extra) - feed_.copied.begin();
  const kernel::BufferId from = ring_.copied(feed_.input)[at(number)];
  const DType type = compute_type(b_.kernel()[from].type.elem);
  return named(b_, list, "read", b_.cast(b_.load(from, place, lanes_), type));
}

// Rows are read together before the first of them is written. What is none stays 0, as it was
// copied, by a branch, or is set to 0 by selection.
void RingMap::map_rows(ExprRef first, const std::vector<ExprRef> &exists, List &list) const {
  const kernel::BufferId to = ring_.copied(feed_.input).front();
  const DType stored = b_.kernel()[to].type.elem;
  const bool blends = cx_.schedule.roles.transform.selects;
  const ExprRef buffer = b_.add(b_.mul(ring_.slot(), b_.integer(ring_.elems(feed_.input))),
                                b_.mul(first, b_.integer(row_elems_)));
  for (std::size_t begin = 0; begin < exists.size(); begin += kTogether) {
    const std::size_t end = std::min<std::size_t>(exists.size(), begin + kTogether);
    std::vector<ExprRef> places, made;
    for (std::size_t i = begin; i < end; ++i) {
      const std::int64_t row = static_cast<std::int64_t>(i) * apart_;
      places.push_back(b_.add(b_.add(buffer, place_), b_.integer(row * row_elems_)));
      made.push_back(expr_value(b_, map_.post, lanes_, nullptr,
                                [&](int extra) { return load(extra, places.back(), list); }));
    }
    for (std::size_t i = begin; i < end; ++i) { // before any is stored under a condition
      ExprRef &value = made[i - begin];
      if (blends && exists[i] != nullptr)
        value = b_.select(exists[i], value, b_.real(0, value->type));
      value = named(b_, list, "made", value);
    }
    for (std::size_t i = begin; i < end; ++i) {
      const ExprRef valid = blends ? nullptr : count_if(b_, exists[i], lanes_);
      list.push_back(b_.store(to, places[i - begin], b_.cast(made[i - begin], stored), 1, valid));
    }
  }
}

} // namespace tilefuse::lower
