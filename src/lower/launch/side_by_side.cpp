// SPDX-License-Identifier: Apache-2.0
#include "lower/launch/side_by_side.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "kernel/verify.h"
#include "kernel/walk.h"
#include "lower/launch/in_step.h"

namespace tilefuse::lower {
namespace {

using namespace kernel;

constexpr std::int64_t kWarp = 32;
constexpr std::int64_t kCopiers = 128; // work-items of the warps of which one starts tensor copies

class Joiner {
public:
  explicit Joiner(const std::vector<SidePart> &parts) : parts_(parts), build_(whole_) {}

  Kernel run() {
    const Kernel &first = *parts_[0].kernel;
    whole_.block_size = first.block_size;
    whole_.blocks = 0;
    for (const SidePart &part : parts_) {
      whole_.blocks += has_blocks(part) ? part.kernel->blocks : 0;
      whole_.flops += part.kernel->flops;
    }
    whole_.name =
        fmt::format("{}__beside_{}", first.name, parts_.size() - 1 + parts_[0].between.size());
    copiers_ = declare_parts(build_, parts_);
    step_together();
    whole_.body = body();
    verify(whole_, true);
    return std::move(whole_);
  }

private:
  bool has_blocks(const SidePart &part) const {
    return &part == &parts_[0] || !(part.is_dealt || part.is_following || part.step);
  }

  // Lets the first part's blocks take the tiles of others in step with its own.
  void step_together() {
    std::vector<const SidePart *> together;
    std::vector<PartCopier *> copiers;
    for (std::size_t p = 0; p < parts_.size(); ++p)
      if (parts_[p].step) {
        together.push_back(&parts_[p]);
        copiers.push_back(&copiers_[p]);
      }
    if (together.empty())
      return;
    in_step_.emplace(build_, std::move(together), std::move(copiers));
    copiers_[0].replace_tile_loops([this] { return in_step_->loop(); });
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
    const ExprRef mine =
        build_.add(build_.mul(build_.block(), workers), build_.sub(build_.lane(), skipped));
    const ExprRef size = build_.integer(kernel.block_size);
    const StmtRef body = copiers_[part].body(build_.div(build_.var(item), size),
                                             build_.mod(build_.var(item), size), nullptr);
    return awaiting(part,
                    build_.loop(item, ForKind::Serial, mine, kernel.blocks * kernel.block_size,
                                first.blocks * workers, body));
  }

  // A part that says nowhere when it awaits earlier kernels does so first, where others say it.
  StmtRef awaiting(std::size_t part, StmtRef body) {
    const bool says = std::any_of(parts_.begin(), parts_.end(), [](const SidePart &each) {
      return awaits_earlier(*each.kernel);
    });
    return says && !awaits_earlier(*parts_[part].kernel)
               ? build_.block({build_.await_earlier(), body})
               : body;
  }

  // The first part's, and what follows it.
  StmtRef followed(StmtRef first) {
    std::vector<StmtRef> list = {first};
    for (std::size_t p = 1; p < parts_.size(); ++p)
      if (parts_[p].is_following)
        list.push_back(copiers_[p].body(build_.block(), build_.lane()));
    return list.size() == 1 ? first : build_.block(std::move(list));
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
      if (!has_blocks(parts_[p]))
        continue;
      const ExprRef block = build_.sub(build_.block(), begin);
      begin += parts_[p].kernel->blocks;
      const StmtRef own = copiers_[p].body(block, build_.lane(), p == 0 ? beside : nullptr);
      bodies.emplace_back(begin, awaiting(p, p == 0 ? followed(own) : own));
    }
    StmtRef all = bodies.back().second;
    for (std::size_t i = bodies.size() - 1; i-- > 0;)
      all = build_.branch(build_.less(build_.block(), bodies[i].first), bodies[i].second, all);
    return all;
  }

  const std::vector<SidePart> &parts_;
  Kernel whole_;
  Builder build_;
  std::vector<PartCopier> copiers_;
  std::optional<InStep> in_step_;
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

Kernel side_by_side(const std::vector<SidePart> &parts) {
  TILEFUSE_CHECK(!parts.empty() && !parts[0].is_dealt, "a launch without a first part");
  for (const SidePart &part : parts)
    TILEFUSE_CHECK(part.kernel->cluster == 1, "a part that runs in clusters");
  for (const SidePart &part : parts)
    TILEFUSE_CHECK(part.step       ? parts[0].step && can_step(*parts[0].kernel, *part.kernel)
                   : part.is_dealt ? can_be_dealt(*part.kernel)
                                   : part.kernel->block_size == parts[0].kernel->block_size,
                   "a part that does not fit beside the first");
  return Joiner(parts).run();
}

} // namespace tilefuse::lower
