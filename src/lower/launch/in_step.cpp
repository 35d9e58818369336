// SPDX-License-Identifier: Apache-2.0
#include "lower/launch/in_step.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "lower/wgmma/wgmma_ring.h"

namespace tilefuse::lower {
namespace {

using namespace kernel;

// What a block's first tile lies behind its number; null: nothing.
ExprRef behind_block(const For &loop) {
  const Scalar *sum = std::get_if<Scalar>(&loop.begin->node);
  return sum == nullptr ? nullptr : sum->args[1];
}

// Loops over tiles, and the names that they can see.
struct Outline {
  std::vector<const Let *> lets;
  std::vector<const For *> loops;
};

void outline(StmtRef stmt, std::vector<const Let *> seen, Outline &found) {
  const For *loop = std::get_if<For>(&stmt->node);
  if (loop != nullptr && is_tile_loop(*loop)) {
    found.loops.push_back(loop);
    found.lets.insert(found.lets.end(), seen.begin(), seen.end());
    return;
  }
  for (const StmtRef child : children(stmt)) {
    if (const Let *let = std::get_if<Let>(&child->node))
      seen.push_back(let);
    outline(child, seen, found);
  }
}

Outline outline_of(const Kernel &kernel) {
  Outline found;
  outline(kernel.body, {}, found);
  return found;
}

// Copies expressions of a kernel whose names are those of another.
class Renamer : public Rewriter {
public:
  using Rewriter::Rewriter;
  VarId variable(VarId from) override { return names_.at(from); }
  void name(VarId from, VarId as) { names_[from] = as; }

private:
  std::map<VarId, VarId> names_;
};

// Names of equal values.
bool has_names(const std::vector<const Let *> &first, const std::vector<const Let *> &other) {
  Kernel scratch;
  Builder build(scratch);
  Renamer one(build), two(build);
  bool is_alike = first.size() == other.size();
  for (std::size_t i = 0; is_alike && i < first.size(); ++i) {
    is_alike = is_same(one.expr(first[i]->value), two.expr(other[i]->value));
    const VarId name = build.variable("name", {});
    one.name(first[i]->var, name);
    two.name(other[i]->var, name);
  }
  return is_alike;
}

bool mentions(StmtRef stmt, VarId var) {
  bool found = false;
  for_each_expr(stmt, [&](ExprRef expr) {
    const VarRef *ref = std::get_if<VarRef>(&expr->node);
    found = found || (ref != nullptr && ref->var == var);
  });
  return found;
}

std::vector<StmtRef> statements(StmtRef body) {
  const Block *block = std::get_if<Block>(&body->node);
  return block == nullptr ? std::vector<StmtRef>{body} : block->body;
}

bool has_buffers(const Kernel &kernel, const Kernel &other) {
  const auto own = [](const Buffer &buffer) { return buffer.space != Space::Global; };
  return std::all_of(other.buffers.begin(), other.buffers.end(), [&](const Buffer &buffer) {
    return !own(buffer) ||
           std::any_of(kernel.buffers.begin(), kernel.buffers.end(), [&](const Buffer &same) {
             return same.name == buffer.name && same.space == buffer.space &&
                    same.type == buffer.type && same.elems == buffer.elems;
           });
  });
}

} // namespace

bool can_step(const Kernel &first, const Kernel &other) {
  const Outline a = outline_of(first), b = outline_of(other);
  bool is_alike = first.blocks == other.blocks && first.block_size == other.block_size &&
                  first.cluster == 1 && other.cluster == 1 && has_buffers(first, other) &&
                  has_buffers(other, first) && has_names(a.lets, b.lets) && a.loops.size() == 2 &&
                  b.loops.size() == 2;
  for (std::size_t l = 0; is_alike && l < a.loops.size(); ++l)
    is_alike = a.loops[l]->step == b.loops[l]->step && is_constant(a.loops[l]->end) &&
               is_constant(b.loops[l]->end);
  return is_alike && a.loops[0]->step == first.blocks && behind_block(*a.loops[0]) == nullptr;
}

InStep::InStep(Builder &build, std::vector<const SidePart *> parts,
               std::vector<PartCopier *> copiers)
    : b_(build), parts_(std::move(parts)), copiers_(std::move(copiers)) {
  std::vector<const Let *> first;
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    Outline found = outline_of(*parts_[p]->kernel);
    loops_.push_back(std::move(found.loops));
    if (p == 0)
      first = std::move(found.lets);
    for (std::size_t i = 0; p > 0 && i < first.size(); ++i)
      copiers_[p]->name(found.lets[i]->var, copiers_[0]->variable(first[i]->var));
  }
}

StmtRef InStep::loop() {
  std::int64_t end = 0;
  for (const auto &loops : loops_) {
    std::int64_t tiles = 0;
    is_constant(loops[next_]->end, &tiles);
    end = std::max(end, tiles);
  }
  const For &first = *loops_[0][next_];
  const VarId tile = b_.variable("tile", {});
  const StmtRef all = next_ == 0 ? producer(tile) : consumer(tile, behind_block(first));
  ++next_;
  return b_.loop(tile, ForKind::Serial, b_.block(), end, loops_[0][0]->step, all);
}

// One group of warps fills the ring for all that take turns.
StmtRef InStep::producer(VarId tile) {
  std::vector<StmtRef> all;
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    const For &own = *loops_[p][next_];
    const VarId copied = b_.variable("copied", {});
    std::int64_t tiles = 0;
    is_constant(own.end, &tiles);
    copiers_[p]->name(own.var, copied);
    all.push_back(b_.let(copied, b_.min(b_.var(tile), tiles - 1)));
    all.push_back(copiers_[p]->stmt(own.body));
  }
  return b_.block(std::move(all));
}

// `behind`: what a group that takes turns lies behind the first; null: there is one.
StmtRef InStep::consumer(VarId tile, ExprRef behind) {
  std::array<std::vector<StmtRef>, 2> of_groups;
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    std::vector<StmtRef> &list = of_groups[behind == nullptr ? 0 : p % 2];
    const For &own = *loops_[p][next_];
    copiers_[p]->name(own.var, tile);
    std::vector<StmtRef> products, results;
    for (const StmtRef stmt : statements(own.body))
      (results.empty() && !mentions(stmt, own.var) ? products : results)
          .push_back(copiers_[p]->stmt(stmt));
    const ExprRef exists = b_.less(b_.var(tile), copiers_[p]->expr(own.end));
    list.push_back(b_.block(std::move(products)));
    list.push_back(b_.branch(exists, b_.block(std::move(results))));
    list.push_back(behind == nullptr ? nullptr : skip_difference(p));
  }
  const StmtRef first = b_.block(std::move(of_groups[0]));
  if (behind == nullptr)
    return first;
  const ExprRef is_later = b_.less(0, copiers_[0]->expr(behind));
  return b_.branch(is_later, b_.block(std::move(of_groups[1])), first);
}

// A group has gone over as many buffers as its own tile took; the other's next tile is of the next
// kernel.
StmtRef InStep::skip_difference(std::size_t part) {
  const StepPart &here = *parts_[part]->step;
  const std::int64_t other = parts_[(part + 1) % parts_.size()]->step->steps;
  const std::int64_t round = 2 * here.ring; // buffers until the parity is the same
  const std::int64_t more = ((other - here.steps) % round + round) % round;
  if (more == 0)
    return nullptr;
  return skip_buffers(b_, copiers_[part]->buffer(here.place), here.ring, more);
}

} // namespace tilefuse::lower
