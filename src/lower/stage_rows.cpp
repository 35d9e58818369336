// SPDX-License-Identifier: Apache-2.0
#include "lower/stage_fill.h"

namespace tilefuse::lower {
namespace {

using kernel::ExprRef;
using kernel::ForKind;
using kernel::StmtRef;
using kernel::Type;
using kernel::VarId;
using schedule::StageDim;

// Copies one tile into its staging buffer, dimension by dimension.
class RowFill {
public:
  RowFill(const Context &cx, int input) : s_(cx, input), b_(cx.build) {}

  StmtRef build() { return rows(0, s_.base, b_.integer(0)); }

private:
  StmtRef rows(std::size_t d, ExprRef from, ExprRef to);
  StmtRef row(ExprRef from, ExprRef to);
  StmtRef fill_run(ExprRef at, ExprRef begin, ExprRef end);
  StmtRef copy_run(ExprRef from, ExprRef to, ExprRef begin, ExprRef end);
  // `body(position, lanes)` over [begin, end): whole vectors first, then single elements.
  template <typename Body> StmtRef run(ExprRef begin, ExprRef end, const Body &body);

  Type value_type(int lanes) const { return {s_.type, lanes}; }

  StageSource s_;
  kernel::Builder &b_;
};

StmtRef RowFill::rows(std::size_t d, ExprRef from, ExprRef to) {
  if (s_.rank() == 0)
    return copy_run(from, to, b_.integer(0), b_.integer(1));
  if (d + 1 == s_.rank())
    return row(from, to);
  const StageDim &dim = s_.tile.dims[d];
  const VarId var = b_.variable("e", {});
  const ExprRef subscript = b_.add(s_.origins[d], b_.var(var));
  const ExprRef next_from = b_.add(from, b_.mul(subscript, b_.integer(s_.dim(d).stride)));
  const ExprRef next_to = b_.add(to, b_.mul(b_.var(var), b_.integer(dim.stride)));
  StmtRef body = rows(d + 1, next_from, next_to);
  if (dim.checked)
    body = b_.branch(s_.inside(d, subscript), body,
                     fill_run(next_to, b_.integer(0), b_.integer(dim.stride)));
  return b_.loop(var, ForKind::Serial, b_.integer(0), b_.integer(dim.range), 1, body);
}

StmtRef RowFill::row(ExprRef from, ExprRef to) {
  const std::size_t d = s_.rank() - 1;
  const StageDim &dim = s_.tile.dims[d];
  const ExprRef first = b_.add(from, b_.mul(s_.origins[d], b_.integer(s_.dim(d).stride)));
  const ExprRef zero = b_.integer(0);
  const ExprRef range = b_.integer(dim.range);
  if (!dim.checked)
    return copy_run(first, to, zero, range);
  const VarId low = b_.variable("low", {});
  const VarId high = b_.variable("high", {});
  const ExprRef size = b_.integer(s_.dim(d).size);
  const ExprRef low_value = b_.min(b_.max(b_.sub(zero, s_.origins[d]), zero), range);
  const ExprRef high_value = b_.max(b_.min(b_.sub(size, s_.origins[d]), range), b_.var(low));
  return b_.block({b_.let(low, low_value), b_.let(high, high_value),
                   fill_run(to, zero, b_.var(low)), copy_run(first, to, b_.var(low), b_.var(high)),
                   fill_run(to, b_.var(high), range)});
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
    const ExprRef rest = b_.add(begin, b_.integer(count / width * width));
    const StmtRef vectors =
        b_.loop(var, ForKind::Serial, begin, rest, width, body(position, width));
    return b_.block({vectors, singles(rest)});
  }
  const ExprRef fits = b_.scalar(ScalarOp::Le, {b_.add(position, b_.integer(width)), end});
  return b_.loop(var, ForKind::Serial, begin, end, width,
                 b_.branch(fits, body(position, width), singles(position)));
}

StmtRef RowFill::fill_run(ExprRef at, ExprRef begin, ExprRef end) {
  return run(begin, end, [&](ExprRef e, int lanes) {
    return b_.store(s_.to, b_.add(at, e), b_.real(s_.fill, value_type(lanes)));
  });
}

StmtRef RowFill::copy_run(ExprRef from, ExprRef to, ExprRef begin, ExprRef end) {
  const std::int64_t stride = s_.rank() == 0 ? 1 : s_.dim(s_.rank() - 1).stride;
  if (stride == 1) {
    return run(begin, end, [&](ExprRef e, int lanes) {
      return b_.store(s_.to, b_.add(to, e), s_.load(b_.add(from, e), lanes, nullptr));
    });
  }
  const VarId var = b_.variable("e", {});
  const ExprRef e = b_.var(var);
  const ExprRef source = b_.add(from, b_.mul(e, b_.integer(stride)));
  return b_.loop(var, ForKind::Serial, begin, end, 1,
                 b_.store(s_.to, b_.add(to, e), s_.load(source, 1, nullptr)));
}

} // namespace

StmtRef fill_by_rows(const Context &cx, int input) { return RowFill(cx, input).build(); }

} // namespace tilefuse::lower
