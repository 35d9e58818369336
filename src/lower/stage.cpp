// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "lower/context.h"
#include "schedule/staging.h"

namespace tilefuse::lower {
namespace {

using kernel::ExprRef;
using kernel::ForKind;
using kernel::StmtRef;
using kernel::Type;
using kernel::VarId;
using schedule::StageDim;
using schedule::StageTile;

// Copies one tile into its staging buffer, dimension by dimension.
class StageFill {
 public:
  StageFill(const Context& cx, int input)
      : cx_(cx),
        b_(cx.build),
        operand_(cx.nest.inputs[static_cast<std::size_t>(input)]),
        tile_(stage_tile(cx.nest, cx.schedule, input)),
        from_(cx.slot_buffers[static_cast<std::size_t>(operand_.slot)]),
        to_(cx.input_buffers[static_cast<std::size_t>(input)]),
        fill_(schedule::neutral_fill(cx.nest)) {
    for (const StageDim& dim : tile_.dims) origins_.push_back(origin(dim));
  }

  StmtRef by_rows() { return rows(0, b_.integer(operand_.offset), b_.integer(0)); }
  StmtRef by_work_items();

 private:
  // Subscript of the tile's first element in one dimension.
  ExprRef origin(const StageDim& dim) const {
    const nest::Linear& at = operand_.dims[static_cast<std::size_t>(dim.dim)].at;
    ExprRef sum = b_.integer(at.constant + dim.lowest);
    for (std::size_t i = 0; i < cx_.outputs(); ++i)
      sum = b_.add(sum, b_.mul(cx_.origin[i], b_.integer(at.coeff[i])));
    return sum;
  }

  const nest::Dim& tensor_dim(std::size_t d) const {
    return operand_.dims[static_cast<std::size_t>(tile_.dims[d].dim)];
  }

  ExprRef inside_tensor(std::size_t d, ExprRef subscript) const {
    const ExprRef above = b_.scalar(ScalarOp::Ge, {subscript, b_.integer(0)});
    const ExprRef below =
        b_.scalar(ScalarOp::Lt, {subscript, b_.integer(tensor_dim(d).size)});
    return b_.logical_and(above, below);
  }

  StmtRef rows(std::size_t d, ExprRef from, ExprRef to);
  StmtRef row(ExprRef from, ExprRef to);
  StmtRef fill_run(ExprRef at, ExprRef begin, ExprRef end);
  StmtRef copy_run(ExprRef from, ExprRef to, ExprRef begin, ExprRef end);
  // `body(position, lanes)` over [begin, end): whole vectors first, then single elements.
  template <typename Body>
  StmtRef run(ExprRef begin, ExprRef end, const Body& body);

  Type value_type(int lanes) const { return {schedule::held_type(cx_.nest), lanes}; }
  ExprRef loaded(ExprRef index, int lanes, ExprRef valid) const {
    const ExprRef raw = b_.load(from_, index, lanes, 1, valid, fill_);
    return b_.cast(raw, schedule::held_type(cx_.nest));
  }

  const Context& cx_;
  kernel::Builder& b_;
  const nest::Operand& operand_;
  StageTile tile_;
  kernel::BufferId from_;
  kernel::BufferId to_;
  double fill_;
  std::vector<ExprRef> origins_;
};

StmtRef StageFill::rows(std::size_t d, ExprRef from, ExprRef to) {
  if (tile_.dims.empty()) return copy_run(from, to, b_.integer(0), b_.integer(1));
  if (d + 1 == tile_.dims.size()) return row(from, to);
  const StageDim& dim = tile_.dims[d];
  const VarId var = b_.variable("e", {});
  const ExprRef subscript = b_.add(origins_[d], b_.var(var));
  const ExprRef next_from =
      b_.add(from, b_.mul(subscript, b_.integer(tensor_dim(d).stride)));
  const ExprRef next_to = b_.add(to, b_.mul(b_.var(var), b_.integer(dim.stride)));
  StmtRef body = rows(d + 1, next_from, next_to);
  if (dim.checked)
    body = b_.branch(inside_tensor(d, subscript), body,
                     fill_run(next_to, b_.integer(0), b_.integer(dim.stride)));
  return b_.loop(var, ForKind::Serial, b_.integer(0), b_.integer(dim.range), 1, body);
}

StmtRef StageFill::row(ExprRef from, ExprRef to) {
  const std::size_t d = tile_.dims.size() - 1;
  const StageDim& dim = tile_.dims[d];
  const ExprRef first =
      b_.add(from, b_.mul(origins_[d], b_.integer(tensor_dim(d).stride)));
  const ExprRef zero = b_.integer(0);
  const ExprRef range = b_.integer(dim.range);
  if (!dim.checked) return copy_run(first, to, zero, range);
  const VarId low = b_.variable("low", {});
  const VarId high = b_.variable("high", {});
  const ExprRef size = b_.integer(tensor_dim(d).size);
  const ExprRef low_value = b_.min(b_.max(b_.sub(zero, origins_[d]), zero), range);
  const ExprRef high_value =
      b_.max(b_.min(b_.sub(size, origins_[d]), range), b_.var(low));
  return b_.block({b_.let(low, low_value), b_.let(high, high_value),
                   fill_run(to, zero, b_.var(low)),
                   copy_run(first, to, b_.var(low), b_.var(high)),
                   fill_run(to, b_.var(high), range)});
}

template <typename Body>
StmtRef StageFill::run(ExprRef begin, ExprRef end, const Body& body) {
  const int width = cx_.width();
  std::vector<StmtRef> parts;
  ExprRef rest = begin;
  if (width > 1) {
    const ExprRef lanes = b_.integer(width);
    const ExprRef whole = b_.mul(b_.div(b_.sub(end, begin), lanes), lanes);
    const VarId var = b_.variable("e", {});
    const VarId middle = b_.variable("rest", {});
    parts.push_back(b_.let(middle, b_.add(begin, whole)));
    parts.push_back(b_.loop(var, ForKind::Serial, begin, b_.var(middle), width,
                            body(b_.var(var), width)));
    rest = b_.var(middle);
  }
  const VarId var = b_.variable("e", {});
  parts.push_back(b_.loop(var, ForKind::Serial, rest, end, 1, body(b_.var(var), 1)));
  return b_.block(std::move(parts));
}

StmtRef StageFill::fill_run(ExprRef at, ExprRef begin, ExprRef end) {
  return run(begin, end, [&](ExprRef e, int lanes) {
    return b_.store(to_, b_.add(at, e), b_.real(fill_, value_type(lanes)));
  });
}

StmtRef StageFill::copy_run(ExprRef from, ExprRef to, ExprRef begin, ExprRef end) {
  const std::int64_t stride = tile_.dims.empty() ? 1 : tensor_dim(tile_.dims.size() - 1).stride;
  if (stride == 1) {
    return run(begin, end, [&](ExprRef e, int lanes) {
      return b_.store(to_, b_.add(to, e), loaded(b_.add(from, e), lanes, nullptr));
    });
  }
  const VarId var = b_.variable("e", {});
  const ExprRef e = b_.var(var);
  const ExprRef source = b_.add(from, b_.mul(e, b_.integer(stride)));
  return b_.loop(var, ForKind::Serial, begin, end, 1,
                 b_.store(to_, b_.add(to, e), loaded(source, 1, nullptr)));
}

// Every work-item copies each block_size-th element.
StmtRef StageFill::by_work_items() {
  const VarId var = b_.variable("e", {});
  const ExprRef e = b_.var(var);
  ExprRef from = b_.integer(operand_.offset);
  ExprRef inside = nullptr;
  for (std::size_t d = 0; d < tile_.dims.size(); ++d) {
    const StageDim& dim = tile_.dims[d];
    const ExprRef step = b_.mod(b_.div(e, b_.integer(dim.stride)), b_.integer(dim.range));
    const ExprRef subscript = b_.add(origins_[d], step);
    from = b_.add(from, b_.mul(subscript, b_.integer(tensor_dim(d).stride)));
    if (dim.checked) inside = b_.logical_and(inside, inside_tensor(d, subscript));
  }
  const ExprRef valid =
      inside ? b_.select(inside, b_.integer(1), b_.integer(0)) : nullptr;
  const StmtRef body = b_.store(to_, e, loaded(from, 1, valid));
  const ExprRef count = b_.integer(tile_.elems);
  const ExprRef trips = b_.integer((tile_.elems + cx_.block_size() - 1) / cx_.block_size());
  const VarId round = b_.variable("round", {});
  const ExprRef position =
      b_.add(b_.mul(b_.var(round), b_.integer(cx_.block_size())), b_.lane());
  const StmtRef guarded = b_.branch(b_.scalar(ScalarOp::Lt, {e, count}), body);
  return b_.loop(round, ForKind::Serial, b_.integer(0), trips, 1,
                 b_.block({b_.let(var, position), guarded}));
}

}  // namespace

StmtRef fill_stages(const Context& cx) {
  std::vector<StmtRef> fills;
  for (std::size_t k = 0; k < cx.nest.inputs.size(); ++k) {
    if (cx.schedule.fills[k] != schedule::Fill::Local) continue;
    StageFill fill(cx, static_cast<int>(k));
    fills.push_back(cx.block_size() > 1 ? fill.by_work_items() : fill.by_rows());
  }
  if (!fills.empty() && cx.block_size() > 1) fills.push_back(cx.build.barrier());
  return cx.build.block(std::move(fills));
}

}  // namespace tilefuse::lower
