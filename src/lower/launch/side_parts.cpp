// SPDX-License-Identifier: Apache-2.0
#include "lower/launch/side_parts.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/index.h"
#include "lower/context.h"

namespace tilefuse::lower {
namespace {

using namespace kernel;

constexpr std::int64_t kWarp = 32;

bool is_of_kind(const Buffer &a, const Buffer &b) {
  return a.name == b.name && a.space == b.space && a.type == b.type;
}

} // namespace

PartCopier::PartCopier(Builder &to, const SidePart &part, std::vector<BufferId> buffers)
    : Rewriter(to), side_(part), part_(*part.kernel), buffers_(std::move(buffers)),
      block_(to.block()), lane_(to.lane()) {
  for (TensorMap map : part_.maps) {
    map.tensor = buffers_[at(map.tensor)];
    map.name = fmt::format("{}{}", map.name, to.kernel().maps.size());
    maps_.push_back(to.tensor_map(std::move(map)));
  }
}

StmtRef PartCopier::body(ExprRef block, ExprRef lane, StmtRef beside) {
  block_ = block;
  lane_ = lane;
  beside_ = beside;
  const StmtRef copied = stmt(part_.body);
  return to().block({std::exchange(beside_, nullptr), copied});
}

ExprRef PartCopier::expr(ExprRef from) {
  if (from != nullptr && std::holds_alternative<BlockIndex>(from->node))
    return block_;
  if (from != nullptr && std::holds_alternative<LaneIndex>(from->node))
    return lane_;
  return Rewriter::expr(from);
}

// Constants at the distances of the part's `between` from where a result is stored.
StmtRef PartCopier::store_between(const Store &from) {
  const Type type = from.value->type;
  const ExprRef index = expr(from.index);
  std::vector<StmtRef> list;
  for (const launch::Between &constants : side_.between) {
    ExprRef exists = nullptr;
    for (const launch::BetweenEdge &edge : constants.edges) {
      const ExprRef inside = to().sub(index, to().integer(constants.offset));
      const ExprRef place = edge.outer == 0 ? inside : to().mod(inside, to().integer(edge.outer));
      const ExprRef end = to().integer(edge.end * edge.stride);
      exists = to().logical_and(exists, to().scalar(ScalarOp::Lt, {place, end}));
    }
    const ExprRef value =
        to().cast(to().real(constants.value, {compute_type(type.elem), type.lanes}), type.elem);
    const StmtRef store =
        to().store(buffer(from.buffer), to().add(index, to().integer(constants.apart)), value,
                   from.lane_stride, expr(from.valid));
    list.push_back(to().branch(exists, store));
  }
  return to().block(std::move(list));
}

StmtRef PartCopier::stmt(StmtRef from) {
  if (const Store *store = std::get_if<Store>(&from->node);
      store != nullptr && store->buffer == side_.results && !side_.between.empty())
    return to().block({Rewriter::stmt(from), store_between(*store)});
  if (const For *loop = std::get_if<For>(&from->node);
      tile_loop_ && loop != nullptr && is_tile_loop(*loop))
    return tile_loop_();
  if (beside_ == nullptr || !starts_copies(from))
    return Rewriter::stmt(from);
  const If &one = std::get<If>(from->node);
  const ExprRef is_other = to().scalar(ScalarOp::Le, {to().integer(kWarp), lane_});
  const StmtRef idle = to().branch(is_other, std::exchange(beside_, nullptr));
  return to().branch(expr(one.condition), Rewriter::stmt(one.then_body), idle);
}

BufferId PartCopier::buffer(BufferId from) { return buffers_[at(from)]; }

MapId PartCopier::map(MapId from) { return maps_[at(from)]; }

VarId PartCopier::variable(VarId from) {
  const auto [found, is_new] = variables_.try_emplace(from);
  if (is_new)
    found->second = to().variable(part_[from].name, part_[from].type);
  return found->second;
}

bool PartCopier::starts_copies(StmtRef from) {
  const If *one = from == nullptr ? nullptr : std::get_if<If>(&from->node);
  const Scalar *is = one == nullptr ? nullptr : std::get_if<Scalar>(&one->condition->node);
  if (is == nullptr || is->op != ScalarOp::Eq || one->else_body != nullptr ||
      !std::holds_alternative<LaneIndex>(is->args[0]->node))
    return false;
  bool copies = false;
  for_each_stmt(one->then_body, [&](StmtRef stmt) {
    copies = copies || kernel::get_intrinsic<TensorCopy>(stmt) != nullptr;
  });
  return copies;
}

bool is_tile_loop(const For &loop) {
  const Scalar *sum = std::get_if<Scalar>(&loop.begin->node);
  const ExprRef first = sum != nullptr && sum->op == ScalarOp::Add ? sum->args[0] : loop.begin;
  return std::holds_alternative<BlockIndex>(first->node);
}

std::vector<Buffer> merged_buffers(const std::vector<SidePart> &parts, std::int64_t counts) {
  std::vector<Buffer> merged;
  for (const SidePart &part : parts)
    for (std::size_t b = 0; b < part.arguments.size(); ++b) {
      const Buffer &argument = part.kernel->buffers[b];
      const std::size_t number = at(part.arguments[b]);
      merged.resize(std::max(merged.size(), number + 1));
      Buffer &whole = merged[number];
      TILEFUSE_CHECK(whole.name.empty() ||
                         (whole.type == argument.type && whole.elems == argument.elems),
                     "one argument of two forms");
      whole = {.name = fmt::format("b{}", number),
               .space = Space::Global,
               .type = argument.type,
               .elems = argument.elems,
               .written = whole.written || argument.written,
               .fixed = (whole.name.empty() || whole.fixed) && argument.fixed};
    }
  if (counts > 0)
    merged.push_back({.name = "arrived", .elems = counts, .written = true, .counts = true});
  const std::size_t globals = merged.size();
  for (const SidePart &part : parts)
    for (std::size_t b = part.arguments.size(); b < part.kernel->buffers.size(); ++b) {
      const Buffer &own = part.kernel->buffers[b];
      const auto found =
          std::find_if(merged.begin() + static_cast<std::ptrdiff_t>(globals), merged.end(),
                       [&](const Buffer &other) { return is_of_kind(own, other); });
      if (found == merged.end())
        merged.push_back(own);
      else
        found->elems = std::max(found->elems, own.elems);
    }
  return merged;
}

std::vector<PartCopier> declare_parts(Builder &build, const std::vector<SidePart> &parts,
                                      std::int64_t counts) {
  const std::vector<Buffer> merged = merged_buffers(parts, counts);
  std::vector<BufferId> declared;
  for (const Buffer &buffer : merged) {
    declared.push_back(build.buffer(buffer));
    if (buffer.space == Space::Global)
      build.kernel().bytes += static_cast<double>(buffer.elems * size_bytes(buffer.type.elem));
  }
  std::vector<PartCopier> copiers;
  for (const SidePart &part : parts) {
    std::vector<BufferId> ids;
    for (std::size_t b = 0; b < part.kernel->buffers.size(); ++b) {
      const Buffer &own = part.kernel->buffers[b];
      const auto same = std::find_if(merged.begin(), merged.end(),
                                     [&](const Buffer &other) { return is_of_kind(own, other); });
      ids.push_back(own.space == Space::Global ? declared[at(part.arguments[b])]
                                               : declared[at(same - merged.begin())]);
    }
    copiers.emplace_back(build, part, std::move(ids));
  }
  return copiers;
}

} // namespace tilefuse::lower
