// SPDX-License-Identifier: Apache-2.0
#include "lower/side_by_side.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "kernel/verify.h"
#include "kernel/walk.h"

namespace tilefuse::lower {
namespace {

using namespace kernel;

constexpr std::int64_t kWarp = 32;
constexpr std::int64_t kCopiers = 128; // work-items of the warps of which one starts tensor copies

std::size_t at(int i) { return static_cast<std::size_t>(i); }

bool is_of_kind(const Buffer &a, const Buffer &b) {
  return a.name == b.name && a.space == b.space && a.type == b.type;
}

// Copies a part's body into the whole.
class PartCopier : public Rewriter {
public:
  PartCopier(Builder &to, const Kernel &part, std::vector<BufferId> buffers)
      : Rewriter(to), part_(part), buffers_(std::move(buffers)), block_(to.block()),
        lane_(to.lane()) {
    for (TensorMap map : part.maps) {
      map.tensor = buffers_[at(to_int(map.tensor))];
      map.name = fmt::format("{}{}", map.name, to.kernel().maps.size());
      maps_.push_back(to.tensor_map(std::move(map)));
    }
  }

  // The body as work-item `lane` of block `block`; with `beside`, which runs in idle warps or,
  // where there are none, in front.
  StmtRef body(ExprRef block, ExprRef lane, StmtRef beside) {
    block_ = block;
    lane_ = lane;
    beside_ = beside;
    const StmtRef copied = stmt(part_.body);
    return to().block({std::exchange(beside_, nullptr), copied});
  }

  ExprRef expr(ExprRef from) override {
    if (from != nullptr && std::holds_alternative<BlockIndex>(from->node))
      return block_;
    if (from != nullptr && std::holds_alternative<LaneIndex>(from->node))
      return lane_;
    return Rewriter::expr(from);
  }

  StmtRef stmt(StmtRef from) override {
    if (beside_ == nullptr || !starts_copies(from))
      return Rewriter::stmt(from);
    const If &one = std::get<If>(from->node);
    const ExprRef is_other = to().scalar(ScalarOp::Le, {to().integer(kWarp), lane_});
    const StmtRef idle = to().branch(is_other, std::exchange(beside_, nullptr));
    return to().branch(expr(one.condition), Rewriter::stmt(one.then_body), idle);
  }

  BufferId buffer(BufferId from) override { return buffers_[at(to_int(from))]; }
  MapId map(MapId from) override { return maps_[at(to_int(from))]; }
  VarId variable(VarId from) override {
    const auto [found, is_new] = variables_.try_emplace(from);
    if (is_new)
      found->second = to().variable(part_[from].name, part_[from].type);
    return found->second;
  }

  // The branch of the one work-item that starts tensor copies.
  static bool starts_copies(StmtRef from) {
    const If *one = from == nullptr ? nullptr : std::get_if<If>(&from->node);
    const Scalar *is = one == nullptr ? nullptr : std::get_if<Scalar>(&one->condition->node);
    if (is == nullptr || is->op != ScalarOp::Eq || one->else_body != nullptr ||
        !std::holds_alternative<LaneIndex>(is->args[0]->node))
      return false;
    bool copies = false;
    for_each_stmt(one->then_body, [&](StmtRef stmt) {
      copies = copies || std::holds_alternative<TensorCopy>(stmt->node);
    });
    return copies;
  }

private:
  const Kernel &part_;
  std::vector<BufferId> buffers_;
  std::vector<MapId> maps_;
  std::map<VarId, VarId> variables_;
  ExprRef block_;
  ExprRef lane_;
  StmtRef beside_ = nullptr;
};

// Buffers of the whole: its arguments, then others, those of one kind once.
std::vector<Buffer> merged_buffers(const std::vector<SidePart> &parts) {
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
               .written = whole.written || argument.written};
    }
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

class Joiner {
public:
  explicit Joiner(const std::vector<SidePart> &parts) : parts_(parts), build_(whole_) {}

  Kernel run() {
    const Kernel &first = *parts_[0].kernel;
    whole_.block_size = first.block_size;
    whole_.blocks = 0;
    for (const SidePart &part : parts_) {
      whole_.blocks += part.is_dealt ? 0 : part.kernel->blocks;
      whole_.flops += part.kernel->flops;
    }
    whole_.name = fmt::format("{}__beside_{}", first.name, parts_.size() - 1);
    declare();
    whole_.body = body();
    verify(whole_, true);
    return std::move(whole_);
  }

private:
  void declare() {
    const std::vector<Buffer> merged = merged_buffers(parts_);
    for (const Buffer &buffer : merged) {
      ids_.push_back(build_.buffer(buffer));
      if (buffer.space == Space::Global)
        whole_.bytes += static_cast<double>(buffer.elems * size_bytes(buffer.type.elem));
    }
    for (const SidePart &part : parts_) {
      std::vector<BufferId> ids;
      for (std::size_t b = 0; b < part.kernel->buffers.size(); ++b) {
        const Buffer &own = part.kernel->buffers[b];
        const auto same = std::find_if(merged.begin(), merged.end(),
                                       [&](const Buffer &other) { return is_of_kind(own, other); });
        ids.push_back(own.space == Space::Global
                          ? ids_[at(part.arguments[b])]
                          : ids_[static_cast<std::size_t>(same - merged.begin())]);
      }
      copiers_.emplace_back(build_, *part.kernel, std::move(ids));
    }
  }

  // The work-items of a dealt part, every so many-th of them by this one.
  StmtRef dealt(std::size_t part) {
    const Kernel &kernel = *parts_[part].kernel;
    const Kernel &first = *parts_[0].kernel;
    bool has_idle = false;
    for_each_stmt(first.body,
                  [&](StmtRef stmt) { has_idle = has_idle || PartCopier::starts_copies(stmt); });
    const std::int64_t skipped = has_idle ? kWarp : 0;
    const std::int64_t workers = has_idle ? kCopiers - kWarp : first.block_size;
    const VarId item = build_.variable("item", {});
    const ExprRef mine = build_.add(build_.mul(build_.block(), build_.integer(workers)),
                                    build_.sub(build_.lane(), build_.integer(skipped)));
    const ExprRef size = build_.integer(kernel.block_size);
    const StmtRef body = copiers_[part].body(build_.div(build_.var(item), size),
                                             build_.mod(build_.var(item), size), nullptr);
    return build_.loop(item, ForKind::Serial, mine,
                       build_.integer(kernel.blocks * kernel.block_size), first.blocks * workers,
                       body);
  }

  StmtRef body() {
    std::vector<StmtRef> free;
    for (std::size_t p = 1; p < parts_.size(); ++p)
      if (parts_[p].is_dealt)
        free.push_back(dealt(p));
    const StmtRef beside = free.empty() ? nullptr : build_.block(std::move(free));
    std::vector<std::pair<std::int64_t, StmtRef>> bodies; // blocks that end before, body
    std::int64_t begin = 0;
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      if (parts_[p].is_dealt)
        continue;
      const ExprRef block = build_.sub(build_.block(), build_.integer(begin));
      begin += parts_[p].kernel->blocks;
      bodies.emplace_back(begin, copiers_[p].body(block, build_.lane(), p == 0 ? beside : nullptr));
    }
    StmtRef all = bodies.back().second;
    for (std::size_t i = bodies.size() - 1; i-- > 0;)
      all = build_.branch(
          build_.scalar(ScalarOp::Lt, {build_.block(), build_.integer(bodies[i].first)}),
          bodies[i].second, all);
    return all;
  }

  const std::vector<SidePart> &parts_;
  Kernel whole_;
  Builder build_;
  std::vector<BufferId> ids_;
  std::vector<PartCopier> copiers_;
};

} // namespace

bool can_be_dealt(const Kernel &kernel) {
  bool is_free = std::none_of(kernel.buffers.begin(), kernel.buffers.end(),
                              [](const Buffer &b) { return b.space == Space::Local; });
  for_each_stmt(kernel.body, [&](StmtRef stmt) {
    is_free = is_free &&
              (std::holds_alternative<Block>(stmt->node) ||
               std::holds_alternative<Let>(stmt->node) || std::holds_alternative<For>(stmt->node) ||
               std::holds_alternative<If>(stmt->node) || std::holds_alternative<Store>(stmt->node));
  });
  return is_free;
}

std::int64_t side_local_bytes(const std::vector<SidePart> &parts) {
  std::int64_t bytes = 0;
  for (const Buffer &buffer : merged_buffers(parts))
    bytes += buffer.space == Space::Local ? buffer.elems * size_bytes(buffer.type.elem) : 0;
  return bytes;
}

Kernel side_by_side(const std::vector<SidePart> &parts) {
  TILEFUSE_CHECK(!parts.empty() && !parts[0].is_dealt, "a launch without a first part");
  for (const SidePart &part : parts)
    TILEFUSE_CHECK(part.kernel->cluster == 1, "a part that runs in clusters");
  for (const SidePart &part : parts)
    TILEFUSE_CHECK(part.is_dealt ? can_be_dealt(*part.kernel)
                                 : part.kernel->block_size == parts[0].kernel->block_size,
                   "a part that does not fit beside the first");
  return Joiner(parts).run();
}

} // namespace tilefuse::lower
