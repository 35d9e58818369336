// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/tile_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/index.h"
#include "lower/address.h"
#include "lower/post.h"
#include "lower/simt/chunk_loops.h"
#include "lower/simt/guards.h"
#include "lower/simt/prefetch.h"
#include "lower/simt/store_tile.h"
#include "nest/index.h"
#include "nest/maps_inputs.h"
#include "schedule/dots.h"
#include "schedule/result_vectors.h"
#include "schedule/staging.h"
#include "target/dtype_traits.h"

namespace tilefuse::lower {
namespace {

using kernel::ExprRef;
using kernel::ForKind;
using kernel::StmtRef;
using kernel::Type;
using kernel::VarId;
using program::Agg;
using program::Comb;

} // namespace

TileBuilder::TileBuilder(const Context &cx, const StepSizes &sizes)
    : cx_(cx), b_(cx_.build), vector_(schedule::vector_index(cx.schedule)),
      rows_(schedule::dot_rows(cx.nest, cx.schedule)) {
  for (const IndexId i : output_indices(cx_.nest)) {
    const schedule::Split &split = cx_.schedule.splits[i];
    copies_.push_back(schedule::copies_of(split, sizes[i]));
    if (cx_.is_vector() && i == vector_)
      partial_lanes_ = sizes[i] % split.copy_stride();
    ragged_.push_back(!cx_.is_vector() && extent(cx_.nest, i) % sizes[i] != 0);
  }
  if (rows_)
    of_last_ = sizes[rows_->index] < rows_->rows ? 1 : 0;
}

StmtRef TileBuilder::for_copies(const std::vector<IndexId> &indices, const LoopBody &body) {
  std::vector<VarId> vars;
  for (const IndexId i : indices) {
    vars.push_back(b_.variable("k_" + cx_.nest.indices[i].name, {}));
    const std::int64_t stride = cx_.schedule.splits[i].copy_stride();
    cx_.kept[i] = b_.mul(b_.var(vars.back()), b_.integer(stride));
  }
  StmtRef result = body();
  for (std::size_t n = indices.size(); n-- > 0;)
    result = b_.loop(vars[n], ForKind::Unroll, b_.integer(0), b_.integer(copies_[indices[n]]), 1,
                     result);
  for (const IndexId i : indices)
    cx_.kept[i] = b_.integer(0);
  return result;
}

std::vector<IndexId> TileBuilder::all_copied() const {
  std::vector<IndexId> indices;
  for (const IndexId i : copies_.ids())
    if (copies_[i] > 1)
      indices.push_back(i);
  return indices;
}

std::vector<IndexId> TileBuilder::copied_by(int input) const {
  const nest::Operand &operand = cx_.nest.inputs[at(input)];
  std::vector<IndexId> indices;
  for (const IndexId i : all_copied())
    if (moves(operand, i))
      indices.push_back(i);
  return indices;
}

// Position of the current copy among those of `indices`, the last index fastest.
ExprRef TileBuilder::copy_number(const std::vector<IndexId> &indices) const {
  ExprRef number = b_.integer(0);
  for (const IndexId i : indices) {
    const std::int64_t stride = cx_.schedule.splits[i].copy_stride();
    const ExprRef copy = b_.div(cx_.kept[i], b_.integer(stride));
    number = b_.add(b_.mul(number, b_.integer(copies_[i])), copy);
  }
  return number;
}

ExprRef TileBuilder::acc_position() const {
  if (rows_)
    return b_.mul(b_.add(b_.mul(tile_, rows_->rows), row_), cx_.width());
  return b_.mul(copy_number(all_copied()), b_.integer(acc_apart_));
}

ExprRef TileBuilder::valid_lanes() const {
  if (partial_lanes_ == 0)
    return nullptr;
  const IndexId lane = *vector_;
  if (!is_output(cx_.nest, lane))
    return b_.integer(partial_lanes_);
  const std::int64_t lanes = cx_.schedule.splits[lane].lane;
  const std::int64_t points = (copies_[lane] - 1) * lanes + partial_lanes_;
  return b_.min(b_.sub(b_.integer(points), cx_.kept[lane]), b_.integer(lanes));
}

ExprRef TileBuilder::point_exists(IndexId index) const {
  if (!ragged_[index])
    return nullptr;
  return b_.less(cx_.place(index), b_.integer(extent(cx_.nest, index)));
}

TileBuilder::Valid TileBuilder::valid_parts(const nest::Operand *operand, bool spread) const {
  Valid valid;
  if (cx_.is_vector()) {
    valid.count = spread ? valid_lanes() : nullptr;
    return valid;
  }
  for (const IndexId i : output_indices(cx_.nest)) {
    if (!ragged_[i] || (operand != nullptr && !moves(*operand, i)))
      continue;
    const std::int64_t extent = nest::extent(cx_.nest, i);
    if (spread && i == vector_ && extent % cx_.width() != 0)
      valid.count = b_.sub(b_.integer(extent), cx_.place(i));
    else
      valid.exists = b_.logical_and(valid.exists, point_exists(i));
  }
  return valid;
}

ExprRef TileBuilder::valid_elems(const Valid &valid, std::int64_t lanes) const {
  if (valid.exists == nullptr)
    return valid.count;
  return b_.select(valid.exists, valid.count ? valid.count : b_.integer(lanes), b_.integer(0));
}

void TileBuilder::make_streams() {
  for (std::size_t k = 0; k < cx_.nest.inputs.size(); ++k) {
    streams_.push_back(kernel::BufferId{-1});
    const int registers = cx_.schedule.pipes[k].stream;
    if (registers == 0)
      continue;
    streams_.back() =
        register_buffer(b_, fmt::format("stream{}", b_.kernel().buffers.size()),
                        operand_type(static_cast<int>(k)), registers * values_of_body(k));
  }
}

StmtRef TileBuilder::build() {
  if (cx_.nest.inputs.empty())
    return store_results();
  const std::vector<IndexId> all = all_copied();
  std::int64_t count = 1;
  for (const IndexId i : all)
    count *= copies_[i];
  std::vector<StmtRef> body;
  for (std::size_t k = 0; k < cx_.nest.inputs.size(); ++k) {
    const VarId base = b_.variable("base", {});
    body.push_back(b_.let(base, input_base(cx_, static_cast<int>(k))));
    bases_.push_back(b_.var(base));
  }
  if (nest::maps_inputs(cx_.nest)) {
    body.push_back(store_results());
    return b_.block(std::move(body));
  }
  if (rows_) {
    acc_ = cx_.rows.memory;
    body.push_back(zero_rows());
    body.push_back(chunk_loops(cx_, [&] { return chunk(); }));
    body.push_back(put_rows());
    body.push_back(store_results());
    return b_.block(std::move(body));
  }
  acc_ = register_buffer(b_, fmt::format("acc{}", b_.kernel().buffers.size()), value_type(), count);
  make_streams();
  const double start = nest::initial_value(cx_.nest.agg, schedule::held_type(cx_.nest));
  body.push_back(for_copies(
      all, [&] { return b_.store(acc_, acc_position(), b_.real(start, value_type())); }));
  body.push_back(chunk_loops(cx_, [&] { return chunk(); }));
  body.push_back(reduce_lanes());
  body.push_back(where(is_first_lane(), store_results()));
  return b_.block(std::move(body));
}

// Whether the current point takes part: constraints, and guards that no fill value can stand for.
// Null: always.
ExprRef TileBuilder::predicate() const {
  ExprRef all = nullptr;
  for (const nest::Constraint &constraint : cx_.nest.constraints)
    all = b_.logical_and(all, inside(cx_, constraint.expr, constraint.bound));
  if (schedule::has_neutral_fill(cx_.nest))
    return all;
  for (std::size_t k = 0; k < cx_.nest.inputs.size(); ++k)
    all = b_.logical_and(all, checked_inside(cx_, k));
  for (const nest::Dim &dim : cx_.nest.inputs[0].dims)
    if (dim.by) {
      const ExprRef at = position(dim);
      all = b_.logical_and(all, b_.scalar(ScalarOp::Ge, {at, b_.integer(0)}));
      all = b_.logical_and(all, b_.less(at, b_.integer(dim.size)));
    }
  return all;
}

ExprRef TileBuilder::position(const nest::Dim &dim) const {
  const std::size_t k = at(*dim.by);
  const Address address = input_address(cx_, *dim.by, bases_[k]);
  const ExprRef valid = valid_elems(valid_parts(&cx_.nest.inputs[k], false), 1);
  ExprRef value = b_.load(cx_.input_buffers[k], address.index, 1, 1, valid, -1);
  if (size_bytes(value->type.elem) > size_bytes(kernel::Type{}.elem)) {
    const auto limit = [&](std::int64_t at) {
      return b_.real(static_cast<double>(at), value->type);
    };
    if (traits(value->type.elem).is_signed)
      value = b_.scalar(ScalarOp::Max, {value, limit(-1)});
    value = b_.scalar(ScalarOp::Min, {value, limit(dim.size)});
  }
  return b_.cast(value, kernel::Type{}.elem);
}

ExprRef TileBuilder::picked_offset(std::size_t input) const {
  ExprRef sum = nullptr;
  for (const nest::Dim &dim : cx_.nest.inputs[input].dims)
    if (dim.by) {
      const ExprRef elems = b_.mul(position(dim), b_.integer(dim.stride));
      sum = sum ? b_.add(sum, elems) : elems;
    }
  return sum;
}

// The value of an input at the current point, in every lane; for a dot product, its neighbours.
ExprRef TileBuilder::load_input(int input) const {
  const std::size_t k = static_cast<std::size_t>(input);
  Address address = input_address(cx_, input, bases_[k]);
  if (const ExprRef offset = picked_offset(k))
    address.index = b_.add(address.index, offset);
  const bool spread = address.lane_stride != 0 && cx_.width() > 1;
  const bool direct = cx_.schedule.fills[k] == schedule::Fill::Direct;
  const int products = static_cast<int>(schedule::products_of_lane(cx_.schedule));
  const int lanes = (spread ? cx_.width() : 1) * products;
  const std::int64_t apart = spread && products == 1 ? address.lane_stride : 1;
  ExprRef all = nullptr;
  Valid parts = direct ? valid_parts(&cx_.nest.inputs[k], spread) : Valid{};
  if (parts.count)
    parts.count = b_.mul(parts.count, b_.integer(products));
  if (direct && schedule::has_neutral_fill(cx_.nest)) {
    all = checked_inside(cx_, k);
    parts.exists = b_.logical_and(all, parts.exists);
  }
  const ExprRef valid = valid_elems(parts, lanes);
  const ExprRef raw = b_.load(cx_.input_buffers[k], address.index, lanes, apart, valid,
                              valid ? schedule::neutral_fill(cx_.nest) : 0);
  const kernel::Type type = operand_type(input);
  const ExprRef value = filled(cx_, cx_.input_buffers[k], b_.cast(raw, type.elem), all);
  return b_.broadcast(value, type.lanes);
}

// The value of one point, of its operands.
ExprRef TileBuilder::combined(const std::vector<ExprRef> &operands) {
  if (cx_.nest.comb == Comb::Term)
    return expr_value(b_, cx_.nest.term, cx_.width(), nullptr,
                      [&](int operand) { return operands[at(operand)]; });
  if (cx_.nest.comb == Comb::Pick)
    return operands.size() == 1 ? operands[0]
                                : b_.scalar(ScalarOp::Mul, {operands[0], operands[1]});
  if (!program::compares(cx_.nest.comb))
    return b_.scalar(cx_.nest.comb == Comb::Mul ? ScalarOp::Mul : ScalarOp::Add,
                     {operands[0], operands[1]});
  const ExprRef equal = b_.equal(operands[0], operands[1]);
  const bool selects = cx_.nest.comb == Comb::Select;
  return b_.select(equal, selects ? operands[2] : b_.real(1, value_type()),
                   b_.real(0, value_type()));
}

StmtRef TileBuilder::accumulate_one(const std::vector<ExprRef> &operands) {
  const ExprRef position = acc_position();
  const ExprRef old = b_.load(acc_, position, cx_.width());
  const Agg agg = cx_.nest.agg;
  if (const DotOp *dot = cx_.schedule.dot) {
    const bool in_order = schedule::dot_side(cx_.nest, *dot, 0) == schedule::DotSide::A;
    return b_.store(acc_, position,
                    b_.dot(*dot, operands[in_order ? 0 : 1], operands[in_order ? 1 : 0], old));
  }
  if (cx_.nest.comb == Comb::Mul && agg == Agg::Sum && is_float(schedule::held_type(cx_.nest)))
    return b_.store(acc_, position, b_.fma(operands[0], operands[1], old));
  const ExprRef value = cx_.nest.comb == Comb::None ? operands[0] : combined(operands);
  if (cx_.nest.comb == Comb::Term && partial_lanes_ > 0 && !is_output(cx_.nest, *vector_))
    return accumulate_valid(value);
  return b_.store(acc_, position, aggregate(b_, agg, old, value));
}

// Every input is loaded for every register copy, where the point takes part.
StmtRef TileBuilder::accumulate_plainly() {
  return for_copies(all_copied(), [&] {
    std::vector<ExprRef> operands;
    for (std::size_t k = 0; k < cx_.nest.inputs.size() - positions(cx_.nest); ++k)
      operands.push_back(value_of(static_cast<int>(k)));
    const ExprRef takes_part = predicate();
    return where(takes_part, accumulate_one(operands));
  });
}

// Every input's distinct elements are loaded before the copies that share them, what is the same in
// all lanes once; what streams stands in all lanes.
StmtRef TileBuilder::accumulate_terms() {
  std::vector<StmtRef> body;
  std::vector<kernel::BufferId> held;
  const auto is_same_in_lanes = [&](int input) {
    return !vector_ || !moves(cx_.nest.inputs[at(input)], *vector_);
  };
  for (int k = 0; k < static_cast<int>(cx_.nest.inputs.size()); ++k) {
    const std::vector<IndexId> indices = copied_by(k);
    std::int64_t count = 1;
    for (const IndexId i : indices)
      count *= copies_[i];
    kernel::Type type = operand_type(k);
    type.lanes = is_same_in_lanes(k) && cx_.schedule.pipes[at(k)].stream == 0 ? 1 : type.lanes;
    held.push_back(
        register_buffer(b_, fmt::format("frag{}", b_.kernel().buffers.size()), type, count));
    body.push_back(for_copies(indices, [&] {
      const ExprRef value = value_of(k);
      const auto *spread = std::get_if<kernel::Broadcast>(&value->node);
      return b_.store(held[at(k)], copy_number(indices),
                      spread && type.lanes == 1 ? spread->value : value);
    }));
  }
  body.push_back(for_copies(all_copied(), [&] {
    std::vector<ExprRef> operands;
    for (int k = 0; k < static_cast<int>(held.size()); ++k) {
      const int lanes = b_.kernel()[held[at(k)]].type.lanes;
      const ExprRef value = b_.load(held[at(k)], copy_number(copied_by(k)), lanes);
      operands.push_back(b_.broadcast(value, operand_type(k).lanes));
    }
    return accumulate_one(operands);
  }));
  return b_.block(std::move(body));
}

StmtRef TileBuilder::accumulate() {
  std::vector<StmtRef> body;
  for (std::size_t k = 0; k < cx_.nest.inputs.size(); ++k)
    if (cx_.schedule.pipes[k].prefetch)
      body.push_back(prefetch_next_step(cx_, static_cast<int>(k), bases_[k]));
  body.push_back(accumulate_fragments());
  return b_.block(std::move(body));
}

// Fragments of the operand with fewer register copies are loaded first and stay; the other's come
// one by one.
StmtRef TileBuilder::accumulate_fragments() {
  if (rows_)
    return accumulate_rows();
  if (cx_.nest.comb == Comb::Term)
    return accumulate_terms();
  if (predicate() || cx_.nest.inputs.size() > 2)
    return accumulate_plainly();
  const auto fragments = [&](int input) {
    std::int64_t count = 1;
    for (const IndexId i : copied_by(input))
      count *= copies_[i];
    return count;
  };
  const int inputs = static_cast<int>(cx_.nest.inputs.size());
  const int streamed = inputs < 2 || fragments(0) >= fragments(1) ? 0 : 1;
  const int resident = inputs < 2 ? -1 : 1 - streamed;
  std::vector<StmtRef> body;
  std::vector<IndexId> resident_copies;
  kernel::BufferId held{-1};
  if (resident >= 0) {
    resident_copies = copied_by(resident);
    held = register_buffer(b_, fmt::format("frag{}", b_.kernel().buffers.size()),
                           operand_type(resident), fragments(resident));
    body.push_back(for_copies(resident_copies, [&] {
      return where(edge_inside(cx_, static_cast<std::size_t>(resident)),
                   b_.store(held, copy_number(resident_copies), value_of(resident)));
    }));
  }
  const std::vector<IndexId> streamed_copies = copied_by(streamed);
  std::vector<IndexId> others;
  for (const IndexId i : all_copied())
    if (std::find(streamed_copies.begin(), streamed_copies.end(), i) == streamed_copies.end())
      others.push_back(i);
  body.push_back(for_copies(streamed_copies, [&] {
    const VarId value = b_.variable("v", operand_type(streamed));
    const StmtRef let = b_.let(value, value_of(streamed));
    const StmtRef inner = for_copies(others, [&] {
      std::vector<ExprRef> operands(static_cast<std::size_t>(inputs), b_.var(value));
      if (resident < 0)
        return accumulate_one(operands);
      const std::size_t other = static_cast<std::size_t>(resident);
      operands[other] = b_.load(held, copy_number(resident_copies), operand_type(resident).lanes);
      return where(edge_inside(cx_, other), accumulate_one(operands));
    });
    return where(edge_inside(cx_, static_cast<std::size_t>(streamed)), b_.block({let, inner}));
  }));
  return b_.block(std::move(body));
}

// Results of neighbouring copies, a vector at a time.
StmtRef TileBuilder::store_vectors(std::int64_t together) {
  const std::vector<IndexId> all = all_copied();
  const DType stored = b_.kernel()[cx_.result].type.elem;
  const DType type = type_of(cx_.nest, cx_.nest.out);
  const auto place = [&](std::int64_t copy) {
    for (auto i = all.rbegin(); i != all.rend(); ++i) {
      const std::int64_t stride = cx_.schedule.splits[*i].copy_stride();
      cx_.kept[*i] = b_.integer(copy % copies_[*i] * stride);
      copy /= copies_[*i];
    }
  };
  std::int64_t count = 1;
  for (const IndexId i : output_indices(cx_.nest))
    count *= copies_[i];
  std::vector<StmtRef> stores;
  for (std::int64_t copy = 0; copy < count; copy += together) {
    place(copy);
    ExprRef exists = nullptr;
    for (const IndexId i : output_indices(cx_.nest))
      exists = b_.logical_and(exists, point_exists(i));
    const ExprRef acc = b_.load(acc_, b_.integer(copy), static_cast<int>(together));
    const ExprRef at = b_.add(cx_.result_base, linear(cx_, cx_.result_form, places(cx_)));
    const ExprRef value = expr_value(b_, cx_.nest.post, static_cast<int>(together), acc, nullptr);
    stores.push_back(
        where(exists, b_.store(cx_.result, at, b_.cast(b_.cast(value, type), stored))));
  }
  place(0);
  return b_.block(std::move(stores));
}

// What post-ops are applied to, of the current copy; null in a pure map.
ExprRef TileBuilder::result(int width) {
  if (cx_.nest.inputs.empty())
    return nullptr;
  if (!nest::maps_inputs(cx_.nest))
    return b_.load(acc_, acc_position(), width);
  std::vector<ExprRef> operands;
  for (int k = 0; k < static_cast<int>(cx_.nest.inputs.size()); ++k)
    operands.push_back(value_of(k));
  return combined(operands);
}

StmtRef TileBuilder::store_results() {
  // In the tile of a consumer they lie as it reads them, turned or padded, not as in the nest.
  const bool is_own_tensor = b_.kernel()[cx_.result].space == kernel::Space::Global;
  const std::int64_t together = schedule::stored_together(cx_.nest, cx_.schedule);
  if (is_own_tensor && together > 1)
    return store_vectors(together);
  const std::vector<IndexId> all = all_copied();
  const DType type = type_of(cx_.nest, cx_.nest.out);
  const std::int64_t stride = vector_ ? cx_.result_form.coeff[*vector_] : 1;
  const auto store = [&] {
    const int width = cx_.result_width();
    const ExprRef valid = valid_elems(valid_parts(nullptr, width > 1), width);
    const ExprRef value = post_value(cx_, cx_.nest.post, result(width), valid);
    const ExprRef stored = b_.cast(value, type);
    if (cx_.turned != nullptr)
      return b_.store(cx_.turned_buffer, turned_place(cx_), stored, 1,
                      cx_.is_vector() ? valid : nullptr);
    const ExprRef at = b_.add(cx_.result_base, linear(cx_, cx_.result_form, places(cx_)));
    return b_.store(cx_.result, at, b_.cast(stored, b_.kernel()[cx_.result].type.elem),
                    width > 1 ? stride : 1, valid);
  };
  return for_copies(all, [&] { return for_rows(store); });
}

StmtRef register_tile(const Context &cx, const StepSizes &sizes) {
  return TileBuilder(cx, sizes).build();
}

} // namespace tilefuse::lower
