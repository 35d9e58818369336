// SPDX-License-Identifier: Apache-2.0
// Generic walking, written once: children of a node, and rebuilding a tree with some nodes
// replaced. Passes are functions `Kernel pass(const Kernel&)` that copy what they keep into a new
// kernel through a Rewriter.
#pragma once

#include <functional>
#include <vector>

#include "kernel/build.h"
#include "kernel/intrinsics.h"
#include "kernel/nodes.h"

namespace tilefuse::kernel {

// Direct sub-expressions of an expression, of a statement (not of its sub-statements), and direct
// sub-statements.
std::vector<ExprRef> children(ExprRef expr);
std::vector<ExprRef> expressions(StmtRef stmt);
std::vector<ExprRef> expressions(const Intrinsic &node);
std::vector<StmtRef> children(StmtRef stmt);

// Calls `visit` on every statement, parents first.
void for_each_stmt(StmtRef root, const std::function<void(StmtRef)> &visit);
// Calls `visit` on every expression below a statement, parents first.
void for_each_expr(StmtRef root, const std::function<void(ExprRef)> &visit);
void for_each_expr(ExprRef root, const std::function<void(ExprRef)> &visit);

// Whether it says where earlier kernels are awaited, and so not where it begins.
bool awaits_earlier(const Kernel &kernel);

// The two compute the same: equal trees of equal types.
bool is_same(ExprRef a, ExprRef b);

// Copies a tree of one kernel into another through its builder, which folds constants on the way.
// Override expr() or stmt() to replace nodes; call the base to copy with rewritten children.
// Buffers, maps and variables keep their ids, where the target starts with the source's lists (see
// copy_shell); override buffer(), map() and variable() where they have others.
class Rewriter {
public:
  explicit Rewriter(Builder &to) : to_(to) {}
  virtual ~Rewriter() = default;
  virtual ExprRef expr(ExprRef from);
  virtual StmtRef stmt(StmtRef from); // of one that exists; null: drop it
  virtual BufferId buffer(BufferId from) { return from; }
  virtual MapId map(MapId from) { return from; }
  virtual VarId variable(VarId from) { return from; }

protected:
  Builder &to() { return to_; }

private:
  // What an operand holds, rewritten.
  void place(const ElementOperand &operand);
  void place(const RunOperand &operand);
  void place(const ExprOperand &operand) { *operand.at = expr(*operand.at); }
  void place(const ListOperand &operand);
  void place(const NumberOperand &) {}
  void place(MapId *id) { *id = map(*id); }
  void place(const bool *) {}
  // The node with all it holds rewritten.
  StmtRef rewritten(const Block &node);
  StmtRef rewritten(const Let &node);
  StmtRef rewritten(const For &node);
  StmtRef rewritten(const If &node);
  StmtRef rewritten(const Store &node);
  StmtRef rewritten(const Barrier &node);
  StmtRef rewritten(const Prefetch &node);
  StmtRef rewritten(Intrinsic node);

  Builder &to_;
};

// A kernel with the name, sizes, buffers and variables of `from` and no body.
Kernel copy_shell(const Kernel &from);

// The kernel with its body as a rewriter, made of a builder alone, leaves it.
template <class Rewriting> Kernel rewritten_by(const Kernel &from) {
  Kernel result = copy_shell(from);
  Builder builder(result);
  result.body = Rewriting(builder).stmt(from.body);
  return result;
}

} // namespace tilefuse::kernel
