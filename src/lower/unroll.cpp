// SPDX-License-Identifier: Apache-2.0
#include "lower/unroll.h"

#include <map>

#include "base/error.h"
#include "kernel/walk.h"

namespace tilefuse::lower {
namespace {

using namespace kernel;

class Unroller : public Rewriter {
public:
  explicit Unroller(Builder &to) : Rewriter(to) {}

  ExprRef expr(ExprRef from) override {
    if (!from)
      return nullptr;
    if (const auto *ref = std::get_if<VarRef>(&from->node)) {
      const auto found = values_.find(ref->var);
      if (found != values_.end())
        return found->second;
    }
    return Rewriter::expr(from);
  }

  StmtRef stmt(StmtRef from) override {
    if (const auto *loop = std::get_if<For>(&from->node))
      return for_loop(from, *loop);
    if (const auto *let = std::get_if<Let>(&from->node); let && copies_ > 0)
      return fresh_let(*let);
    return Rewriter::stmt(from);
  }

private:
  StmtRef for_loop(StmtRef from, const For &loop) {
    if (loop.kind == ForKind::Unroll)
      return copies(loop);
    if (copies_ == 0)
      return Rewriter::stmt(from);
    const VarId var = fresh(loop.var);
    const ExprRef begin = expr(loop.begin);
    const ExprRef end = expr(loop.end);
    values_[loop.var] = to().var(var);
    return to().loop(var, loop.kind, begin, end, loop.step, stmt(loop.body));
  }

  StmtRef copies(const For &loop) {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    TILEFUSE_CHECK(is_constant(expr(loop.begin), &begin) && is_constant(expr(loop.end), &end),
                   "an unrolled loop has bounds that are not constant");
    std::vector<StmtRef> body;
    ++copies_;
    for (std::int64_t i = begin; i < end; i += loop.step) {
      values_[loop.var] = to().integer(i);
      body.push_back(stmt(loop.body));
    }
    --copies_;
    return to().block(std::move(body));
  }

  // A variable of a copied body is defined once per copy, under a name of its own.
  StmtRef fresh_let(const Let &let) {
    const ExprRef value = expr(let.value);
    const VarId var = fresh(let.var);
    values_[let.var] = to().var(var);
    return to().let(var, value);
  }

  VarId fresh(VarId var) {
    const Variable variable = to().kernel()[var];
    return to().variable(variable.name, variable.type);
  }

  std::map<VarId, ExprRef> values_;
  int copies_ = 0;
};

} // namespace

Kernel unroll(const Kernel &kernel) { return rewritten_by<Unroller>(kernel); }

} // namespace tilefuse::lower
