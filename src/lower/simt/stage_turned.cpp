// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/stage_turned.h"

#include <functional>
#include <string>
#include <utility>

#include "lower/post.h"
#include "lower/simt/stage_source.h"
#include "schedule/staging.h"

namespace tilefuse::lower {
namespace {

using kernel::ForKind;
using kernel::VarId;
using schedule::StageDim;

class TurnedFill {
public:
  TurnedFill(const Context &cx, int input) : s_(cx, input), b_(cx.build), width_(cx.width()) {
    const int turned = schedule::turned_dim(cx.nest, cx.schedule, input).value();
    while (dim(lane_).dim != turned)
      ++lane_;
  }

  StmtRef build() {
    Place place{{}, b_.integer(0)};
    for (std::size_t k = 0; k < s_.read_streams(); ++k)
      place.from.push_back(s_.streams[k].base);
    return rows(0, place);
  }

private:
  // An element of the tile and what it is made from, by stream.
  struct Place {
    std::vector<ExprRef> from;
    ExprRef to{};
  };
  std::size_t run() const { return s_.rank() - 1; }
  const StageDim &dim(std::size_t d) const { return s_.tile.dims[d]; }
  Place moved(const Place &place, std::size_t d, ExprRef step) const;
  StmtRef rows(std::size_t d, const Place &place);
  StmtRef padding(std::size_t d, ExprRef to);
  StmtRef lane_chunks(const Place &place);
  StmtRef along_run(const Place &place, ExprRef lanes, ExprRef begin, ExprRef end);
  StmtRef single(const Place &place, ExprRef lanes);
  StmtRef square(const Place &place);
  StmtRef zeros(ExprRef to, ExprRef begin, ExprRef end);
  StmtRef loop(ExprRef begin, ExprRef end, std::int64_t step,
               const std::function<StmtRef(ExprRef)> &body);
  ExprRef read(std::size_t stream, ExprRef at, std::int64_t stride, ExprRef valid) const;
  BufferId square_registers(DType type);

  StageSource s_;
  kernel::Builder &b_;
  int width_;
  std::size_t lane_ = 0; // dimension of the tile
};

StmtRef TurnedFill::loop(ExprRef begin, ExprRef end, std::int64_t step,
                         const std::function<StmtRef(ExprRef)> &body) {
  const VarId var = b_.variable("e", {});
  return b_.loop(var, ForKind::Serial, begin, end, step, body(b_.var(var)));
}

// `step` subscripts on along a dimension, from the first of the box.
TurnedFill::Place TurnedFill::moved(const Place &place, std::size_t d, ExprRef step) const {
  Place next = place;
  const ExprRef subscript = b_.add(s_.origins[d], step);
  for (std::size_t k = 0; k < next.from.size(); ++k)
    next.from[k] = b_.add(next.from[k], b_.mul(subscript, s_.streams[k].strides[d]));
  next.to = b_.add(next.to, b_.mul(step, dim(d).stride));
  return next;
}

StmtRef TurnedFill::rows(std::size_t d, const Place &place) {
  if (d == s_.rank() || (d == run() && d != lane_))
    return lane_chunks(place);
  if (d == lane_)
    return rows(d + 1, place);
  return loop(b_.integer(0), b_.integer(dim(d).box), 1, [&](ExprRef step) {
    const Place next = moved(place, d, step);
    const StmtRef body = rows(d + 1, next);
    return dim(d).checked
               ? b_.branch(s_.inside(d, b_.add(s_.origins[d], step)), body, padding(d + 1, next.to))
               : body;
  });
}

// What dimension d and those further in hold outside the tensor.
StmtRef TurnedFill::padding(std::size_t d, ExprRef to) {
  if (d == s_.rank())
    return loop(b_.integer(0), b_.integer(dim(lane_).box), width_, [&](ExprRef lane) {
      return b_.store(s_.to, b_.add(to, lane), b_.real(s_.fill, {s_.type, width_}));
    });
  if (d == lane_)
    return padding(d + 1, to);
  return loop(b_.integer(0), b_.integer(dim(d).box), 1, [&](ExprRef step) {
    return padding(d + 1, b_.add(to, b_.mul(step, dim(d).stride)));
  });
}

// Lanes past the last one of the tensor are 0.
StmtRef TurnedFill::lane_chunks(const Place &place) {
  return loop(b_.integer(0), b_.integer(dim(lane_).box), width_, [&](ExprRef lane) {
    const Place chunk = moved(place, lane_, lane);
    ExprRef exist = nullptr;
    if (dim(lane_).checked || dim(lane_).box % width_ != 0)
      exist = b_.min(b_.sub(s_.dim(lane_).size, b_.add(s_.origins[lane_], lane)),
                     b_.sub(dim(lane_).box, lane));
    if (run() == lane_)
      return single(chunk, exist);
    const ExprRef zero = b_.integer(0);
    const ExprRef box = b_.integer(dim(run()).box);
    if (!dim(run()).checked)
      return along_run(chunk, exist, zero, box);
    const ExprRef origin = s_.origins[run()];
    Stmts body;
    const ExprRef low = named(b_, body, "low", b_.min(b_.max(b_.sub(zero, origin), zero), box));
    const ExprRef size = b_.integer(s_.dim(run()).size);
    const ExprRef high = named(b_, body, "high", b_.max(b_.min(b_.sub(size, origin), box), low));
    body.push_back(zeros(chunk.to, zero, low));
    body.push_back(along_run(chunk, exist, low, high));
    body.push_back(zeros(chunk.to, high, box));
    return b_.block(std::move(body));
  });
}

StmtRef TurnedFill::zeros(ExprRef to, ExprRef begin, ExprRef end) {
  return loop(begin, end, 1, [&](ExprRef at) {
    return b_.store(s_.to, b_.add(to, b_.mul(at, dim(run()).stride)),
                    b_.real(s_.fill, {s_.type, width_}));
  });
}

// Squares as long as they fit and all their lanes exist, then vectors one by one.
StmtRef TurnedFill::along_run(const Place &place, ExprRef lanes, ExprRef begin, ExprRef end) {
  const auto singles = [&](ExprRef from) {
    return loop(from, end, 1, [&](ExprRef at) { return single(moved(place, run(), at), lanes); });
  };
  if (dim(run()).box < width_)
    return singles(begin);
  const ExprRef width = b_.integer(width_);
  const StmtRef squares = loop(begin, end, width_, [&](ExprRef at) {
    const ExprRef fits = b_.scalar(ScalarOp::Le, {b_.add(at, width), end});
    return b_.branch(fits, square(moved(place, run(), at)), singles(at));
  });
  return lanes ? b_.branch(b_.scalar(ScalarOp::Ge, {lanes, width}), squares, singles(begin))
               : squares;
}

// Of one stream, in the type that is computed with.
ExprRef TurnedFill::read(std::size_t stream, ExprRef at, std::int64_t stride, ExprRef valid) const {
  return shared_run(b_, s_.streams[stream].from, at, width_, stride,
                    stride == 0 && valid ? b_.min(valid, 1) : valid);
}

// One vector of lanes.
StmtRef TurnedFill::single(const Place &place, ExprRef lanes) {
  std::vector<ExprRef> values;
  for (std::size_t k = 0; k < place.from.size(); ++k)
    values.push_back(read(k, place.from[k], s_.streams[k].strides[lane_], lanes));
  return b_.store(s_.to, place.to, s_.of_vectors(values));
}

BufferId TurnedFill::square_registers(DType type) {
  return register_buffer(b_, "square" + std::to_string(b_.kernel().buffers.size()), {type, width_},
                         width_);
}

// As many vectors as each has lanes. Streams without a run of memory are read lane by lane.
StmtRef TurnedFill::square(const Place &place) {
  Stmts body;
  std::vector<BufferId> squares;
  for (std::size_t k = 0; k < place.from.size(); ++k) {
    const StageStream &stream = s_.streams[k];
    const bool is_run = stream.strides[run()] == 1 && stream.strides[lane_] != 0;
    const std::size_t across = is_run ? lane_ : run();
    squares.push_back(square_registers(compute_type(b_.kernel()[stream.from].type.elem)));
    for (int row = 0; row < width_; ++row) {
      const ExprRef at = b_.add(place.from[k], row * stream.strides[across]);
      const std::int64_t stride = is_run ? 1 : stream.strides[lane_];
      body.push_back(b_.store(squares[k], row, read(k, at, stride, nullptr)));
    }
    if (is_run)
      body.push_back(b_.transpose({{squares[k], b_.integer(0)}, width_}));
  }
  for (int row = 0; row < width_; ++row) {
    std::vector<ExprRef> values;
    for (const BufferId square : squares)
      values.push_back(b_.load(square, row, width_));
    body.push_back(
        b_.store(s_.to, b_.add(place.to, row * dim(run()).stride), s_.of_vectors(values)));
  }
  return b_.block(std::move(body));
}

} // namespace

StmtRef fill_turned(const Context &cx, int input) { return TurnedFill(cx, input).build(); }

} // namespace tilefuse::lower
