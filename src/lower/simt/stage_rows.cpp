// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/stage_rows.h"

#include <algorithm>

#include "lower/simt/stage_source.h"

namespace tilefuse::lower {
namespace {

using kernel::ForKind;
using kernel::Type;
using kernel::VarId;
using schedule::StageDim;

using Addresses = std::vector<ExprRef>; // by stream

// Fills one staging tile, or its padding alone, dimension by dimension.
class RowFill {
public:
  RowFill(StageSource source, bool pads_only)
      : s_(std::move(source)), b_(s_.cx.build), pads_only_(pads_only) {}

  StmtRef build() {
    Addresses bases;
    for (const StageStream &stream : s_.streams)
      bases.push_back(stream.base);
    if (s_.stored && !pads_only_)
      owned_ = s_.owns_any();
    return rows(0, bases, b_.integer(0));
  }

private:
  StmtRef rows(std::size_t d, const Addresses &from, ExprRef to);
  StmtRef row(const Addresses &from, ExprRef to);
  StmtRef fill_run(ExprRef at, ExprRef begin, ExprRef end);
  StmtRef copy_run(const Addresses &from, ExprRef to, ExprRef begin, ExprRef end);
  // What is owned of a row that is staged, from there to memory; null where nothing is stored.
  StmtRef store_run(const Addresses &from, ExprRef to, ExprRef begin, ExprRef end);
  // `from`, moved along dimension d by `steps` elements of the tensor.
  Addresses moved(const Addresses &from, std::size_t d, ExprRef steps) const;
  bool is_padded(std::size_t d) const;
  // `body(position, lanes)` over [begin, end): whole vectors first, then single elements.
  template <typename Body> StmtRef run(ExprRef begin, ExprRef end, const Body &body);

  Type value_type(int lanes) const { return {s_.type, lanes}; }

  StageSource s_;
  kernel::Builder &b_;
  bool pads_only_;
  ExprRef owned_ = nullptr; // whether the current row is stored in memory too; null: yes
};

Addresses RowFill::moved(const Addresses &from, std::size_t d, ExprRef steps) const {
  Addresses next = from;
  for (std::size_t k = 0; k < next.size(); ++k)
    next[k] = b_.add(next[k], b_.mul(steps, s_.streams[k].strides[d]));
  return next;
}

// Whether there is something outside the tensor in dimension d or further in.
bool RowFill::is_padded(std::size_t d) const {
  return std::any_of(s_.tile.dims.begin() + static_cast<std::ptrdiff_t>(d), s_.tile.dims.end(),
                     [](const StageDim &dim) { return dim.checked; });
}

StmtRef RowFill::rows(std::size_t d, const Addresses &from, ExprRef to) {
  if (pads_only_ && !is_padded(d))
    return b_.block({});
  if (s_.rank() == 0)
    return copy_run(from, to, b_.integer(0), b_.integer(1));
  const StageDim &dim = s_.tile.dims[d];
  if (d + 1 == s_.rank())
    return row(from, b_.add(to, dim.before));
  const VarId var = b_.variable("e", {});
  const ExprRef subscript = b_.add(s_.origins[d], b_.var(var));
  const ExprRef place = b_.add(b_.var(var), dim.before);
  const ExprRef next_to = b_.add(to, b_.mul(place, dim.stride));
  const ExprRef outer = owned_;
  if (const ExprRef owns = s_.stored ? s_.owns(d, b_.var(var)) : nullptr)
    owned_ = b_.logical_and(owned_, owns);
  StmtRef body = rows(d + 1, moved(from, d, subscript), next_to);
  owned_ = outer;
  if (dim.checked)
    body = b_.branch(s_.inside(d, subscript), body,
                     fill_run(next_to, b_.integer(0), b_.integer(dim.stride)));
  return b_.loop(var, ForKind::Serial, 0, dim.box, 1, body);
}

StmtRef RowFill::row(const Addresses &from, ExprRef to) {
  const std::size_t d = s_.rank() - 1;
  const StageDim &dim = s_.tile.dims[d];
  const Addresses first = moved(from, d, s_.origins[d]);
  const ExprRef zero = b_.integer(0);
  const ExprRef range = b_.integer(dim.box);
  if (!dim.checked)
    return b_.block({copy_run(first, to, zero, range), store_run(first, to, zero, range)});
  const VarId low = b_.variable("low", {});
  const VarId high = b_.variable("high", {});
  const ExprRef size = b_.integer(s_.dim(d).size);
  const ExprRef low_value = b_.min(b_.max(b_.sub(zero, s_.origins[d]), zero), range);
  const ExprRef high_value = b_.max(b_.min(b_.sub(size, s_.origins[d]), range), b_.var(low));
  return b_.block({b_.let(low, low_value), b_.let(high, high_value),
                   fill_run(to, zero, b_.var(low)), copy_run(first, to, b_.var(low), b_.var(high)),
                   fill_run(to, b_.var(high), range),
                   store_run(first, to, b_.var(low), b_.var(high))});
}

StmtRef RowFill::store_run(const Addresses &from, ExprRef to, ExprRef begin, ExprRef end) {
  if (!s_.stored || pads_only_)
    return nullptr;
  const std::size_t d = s_.rank() - 1;
  const schedule::Ownership::Part &part = s_.stored->parts[d];
  if (const ExprRef all = s_.owns(d, b_.integer(part.owned)))
    end = b_.select(all, end, b_.max(begin, b_.min(end, part.owned)));
  const std::int64_t stride = s_.streams.back().strides[d];
  const auto element = [&](ExprRef e, int lanes) {
    const ExprRef value = s_.to_stored(b_.load(s_.to, b_.add(to, e), lanes));
    return b_.store(s_.streams.back().from, moved(from, d, e).back(), value);
  };
  const VarId var = b_.variable("e", {});
  const StmtRef row = stride == 1
                          ? run(begin, end, element)
                          : b_.loop(var, ForKind::Serial, begin, end, 1, element(b_.var(var), 1));
  return owned_ ? b_.branch(owned_, row) : row;
}

template <typename Body> StmtRef RowFill::run(ExprRef begin, ExprRef end, const Body &body) {
  const int width = s_.cx.width();
  const auto singles = [&](ExprRef from) {
    const VarId var = b_.variable("e", {});
    return b_.loop(var, ForKind::Serial, from, end, 1, body(b_.var(var), 1));
  };
  if (width == 1)
    return singles(begin);
  const VarId var = b_.variable("e", {});
  const ExprRef position = b_.var(var);
  std::int64_t count = 0;
  if (kernel::is_constant(b_.sub(end, begin), &count)) {
    const ExprRef rest = b_.add(begin, count / width * width);
    const StmtRef vectors =
        b_.loop(var, ForKind::Serial, begin, rest, width, body(position, width));
    return b_.block({vectors, singles(rest)});
  }
  const ExprRef fits = b_.scalar(ScalarOp::Le, {b_.add(position, width), end});
  return b_.loop(var, ForKind::Serial, begin, end, width,
                 b_.branch(fits, body(position, width), singles(position)));
}

StmtRef RowFill::fill_run(ExprRef at, ExprRef begin, ExprRef end) {
  return run(begin, end, [&](ExprRef e, int lanes) {
    return b_.store(s_.to, b_.add(at, e), b_.real(s_.fill, value_type(lanes)));
  });
}

// Whole vectors where every stream lies without gaps, or is the same along the row.
StmtRef RowFill::copy_run(const Addresses &from, ExprRef to, ExprRef begin, ExprRef end) {
  if (pads_only_)
    return b_.block({});
  const std::size_t d = s_.rank() - 1;
  const bool has_row = s_.rank() > 0;
  const auto element = [&](ExprRef e, int lanes) {
    const Addresses at = has_row ? moved(from, d, e) : from;
    return b_.store(s_.to, b_.add(to, e), s_.value(at, lanes, nullptr));
  };
  const bool in_vectors =
      std::all_of(s_.streams.begin(), s_.streams.end(), [&](const StageStream &stream) {
        return !has_row || stream.strides[d] == 1 || (s_.map && stream.strides[d] == 0);
      });
  if (in_vectors)
    return run(begin, end, element);
  const VarId var = b_.variable("e", {});
  return b_.loop(var, ForKind::Serial, begin, end, 1, element(b_.var(var), 1));
}

} // namespace

StmtRef fill_by_rows(const Context &cx, int input, bool pads_only) {
  return RowFill(StageSource(cx, input), pads_only).build();
}

StmtRef move_rows(const Context &cx, int input, std::size_t d, std::int64_t from,
                  std::int64_t count) {
  StageSource within(cx, input);
  const auto &dims = within.tile.dims;
  StageStream stream{.from = within.to};
  std::int64_t offset = 0;
  for (std::size_t e = 0; e < dims.size(); ++e) {
    const std::int64_t first = dims[e].before + (e == d ? from : 0);
    offset += first * dims[e].stride;
    stream.strides.push_back(dims[e].stride);
    within.origins[e] = cx.build.integer(0);
    within.tile.dims[e].checked = false;
  }
  within.tile.dims[d].box = count;
  stream.base = cx.build.integer(offset);
  within.streams = {stream};
  within.map = nullptr;
  return RowFill(std::move(within), false).build();
}

} // namespace tilefuse::lower
