// SPDX-License-Identifier: Apache-2.0
#include "lower/share_reads.h"

#include <map>
#include <tuple>
#include <vector>

#include "base/index.h"
#include "kernel/walk.h"

namespace tilefuse::lower {
namespace {

using namespace kernel;

// The read that a value is, as it lies in memory or converted; null for others.
const Load *read_of(ExprRef value) {
  while (true) {
    if (const auto *cast = std::get_if<Cast>(&value->node))
      value = cast->value;
    else if (const auto *spread = std::get_if<Broadcast>(&value->node))
      value = spread->value;
    else
      return std::get_if<Load>(&value->node);
  }
}

// The two give the same value of reads of one buffer.
bool reads_same(ExprRef a, ExprRef b) {
  if (a->type != b->type || a->node.index() != b->node.index())
    return false;
  const auto *one = std::get_if<Load>(&a->node);
  if (one == nullptr)
    return reads_same(children(a).front(), children(b).front());
  const Load &other = std::get<Load>(b->node);
  return one->lane_stride == other.lane_stride && one->fill == other.fill &&
         is_same(one->index, other.index) && is_same(one->valid, other.valid);
}

// What an index adds to its terms.
std::int64_t displacement(ExprRef index) {
  std::int64_t value = 0;
  if (const auto *sum = std::get_if<Scalar>(&index->node); sum && sum->op == ScalarOp::Add)
    is_constant(sum->args.back(), &value);
  else
    is_constant(index, &value);
  return value;
}

class Sharing : public Rewriter {
public:
  explicit Sharing(Builder &to) : Rewriter(to) {}

  ExprRef expr(ExprRef from) override {
    if (const auto *ref = from ? std::get_if<VarRef>(&from->node) : nullptr)
      if (const auto found = shared_.find(ref->var); found != shared_.end())
        return to().var(found->second);
    return Rewriter::expr(from);
  }

  StmtRef stmt(StmtRef from) override {
    if (const auto *let = std::get_if<Let>(&from->node))
      return read(*let);
    const std::size_t outside = open_.size();
    const StmtRef copy = Rewriter::stmt(from);
    for (; open_.size() > outside; open_.pop_back())
      read_[open_.back()].pop_back();
    return copy;
  }

private:
  using Place = std::tuple<BufferId, std::int64_t>; // a buffer and a displacement in it

  StmtRef read(const Let &let) {
    const ExprRef value = expr(let.value);
    const Load *load = read_of(value);
    if (load == nullptr || load->valid == nullptr || !is_fixed(to().kernel()[load->buffer]))
      return to().let(let.var, value);
    const Place place{load->buffer, displacement(load->index)};
    for (const auto &[var, known] : read_[place])
      if (reads_same(known, value)) {
        shared_[let.var] = var;
        return nullptr;
      }
    read_[place].emplace_back(let.var, value);
    open_.push_back(place);
    return to().let(let.var, value);
  }

  static bool is_fixed(const Buffer &buffer) {
    return buffer.space == Space::Global && !buffer.written;
  }

  std::map<Place, std::vector<std::pair<VarId, ExprRef>>> read_; // by variables in scope
  std::vector<Place> open_;                                      // of them, in order
  std::map<VarId, VarId> shared_;
};

} // namespace

Kernel share_reads(const Kernel &kernel) { return rewritten_by<Sharing>(kernel); }

} // namespace tilefuse::lower
