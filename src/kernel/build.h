// SPDX-License-Identifier: Apache-2.0
// The only way to make kernel nodes. Checks types (our bugs: aborts) and folds constants, so that 0
// * x, x + 0 and the arithmetic of known integers never reach a back end. Integer sums are kept as
// `terms + constant` (the constant last), which lets back ends use an address's displacement.
// Floating-point operations fold only when every argument is constant: nothing is reassociated.
//
//   b.add(b.add(x, 3), b.add(y, 4))   ->   (x + y) + 7
//   b.mul(b.add(x, 3), 4)             ->   x * 4 + 12
#pragma once

#include <concepts>
#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "kernel/nodes.h"

namespace tilefuse::kernel {

// A term of index arithmetic: an expression, or a number in the place of one.
class Term {
public:
  Term(ExprRef expr) : expr_(expr) {}
  template <std::integral Number> Term(Number number) : number_(number) {}
  ExprRef in(class Builder &build) const;

private:
  ExprRef expr_ = nullptr;
  std::int64_t number_ = 0;
};

class Builder {
public:
  // Adds to what the kernel holds already.
  explicit Builder(Kernel &kernel);
  Kernel &kernel() { return kernel_; }

  // Names are made identifiers, and unique with a suffix. Global buffers come before all others.
  BufferId buffer(Buffer buffer);
  MapId tensor_map(TensorMap map);
  VarId variable(std::string name, Type type);

  ExprRef integer(std::int64_t value);   // of index arithmetic: {I32, 1}
  ExprRef real(double value, Type type); // a constant of any type, rounded to it, in every lane
  ExprRef var(VarId id);
  ExprRef block();
  ExprRef lane();
  // Any operation; Div and Mod truncate for integers, and operands of index arithmetic (no loaded
  // data) are never negative. The named forms below are the same.
  ExprRef scalar(ScalarOp op, std::vector<ExprRef> args);
  ExprRef scalar(ScalarOp op, Term a, Term b);
  ExprRef add(Term a, Term b) { return scalar(ScalarOp::Add, a, b); }
  ExprRef sub(Term a, Term b) { return scalar(ScalarOp::Sub, a, b); }
  ExprRef mul(Term a, Term b) { return scalar(ScalarOp::Mul, a, b); }
  ExprRef div(Term a, Term b) { return scalar(ScalarOp::Div, a, b); }
  ExprRef mod(Term a, Term b) { return scalar(ScalarOp::Mod, a, b); }
  ExprRef min(Term a, Term b) { return scalar(ScalarOp::Min, a, b); }
  ExprRef max(Term a, Term b) { return scalar(ScalarOp::Max, a, b); }
  ExprRef less(Term a, Term b) { return scalar(ScalarOp::Lt, a, b); }
  ExprRef equal(Term a, Term b) { return scalar(ScalarOp::Eq, a, b); }
  // A scalar condition is broadcast.
  ExprRef select(ExprRef condition, Term then_value, Term else_value);
  ExprRef logical_and(ExprRef a, ExprRef b); // null means true
  ExprRef fma(ExprRef a, ExprRef b, ExprRef c);
  ExprRef dot(const DotOp &op, ExprRef a, ExprRef b, ExprRef c);
  ExprRef cast(ExprRef value, DType elem);
  ExprRef broadcast(ExprRef value, int lanes);
  // Of a Register buffer: the value at `index`; lanes may be left out.
  ExprRef load(BufferId buffer, Term index, int lanes = 1, std::int64_t lane_stride = 1,
               ExprRef valid = nullptr, double fill = 0);
  // Of a Local buffer of the cluster's block of a rank.
  ExprRef remote_load(BufferId buffer, ExprRef index, int lanes, ExprRef rank);

  StmtRef block(std::vector<StmtRef> body); // nested blocks are spliced in, null statements dropped
  StmtRef let(VarId var, ExprRef value);
  StmtRef loop(VarId var, ForKind kind, Term begin, Term end, std::int64_t step,
               StmtRef body); // no trips: empty Block
  StmtRef branch(ExprRef condition, StmtRef then_body,
                 StmtRef else_body = nullptr); // null: true; constant: that body or none
  StmtRef store(BufferId buffer, Term index, Term value, std::int64_t lane_stride = 1,
                ExprRef valid = nullptr);
  StmtRef barrier(Barrier barrier = {});
  StmtRef prefetch(BufferId buffer, ExprRef index);
  // Any intrinsic, checked by its row. The named forms below are the same.
  StmtRef intrinsic(Intrinsic node);
  StmtRef transpose(Transpose node) { return intrinsic(node); }
  StmtRef shuffle(Shuffle node) { return intrinsic(node); }
  StmtRef load_matrix(LoadMatrix load) { return intrinsic(load); }
  StmtRef mma(Mma mma) { return intrinsic(mma); }
  StmtRef async_copy(AsyncCopy copy) { return intrinsic(copy); }
  StmtRef async_commit() { return intrinsic(AsyncCommit{}); }
  StmtRef async_wait(int pending) { return intrinsic(AsyncWait{pending}); }
  StmtRef ticket(Ticket ticket) { return intrinsic(ticket); }
  StmtRef mbarrier(Mbarrier mbarrier) { return intrinsic(mbarrier); }
  StmtRef tensor_copy(TensorCopy copy) { return intrinsic(std::move(copy)); }
  StmtRef tensor_store(TensorStore store) { return intrinsic(std::move(store)); }
  StmtRef store_sync(StoreSync sync) { return intrinsic(sync); }
  StmtRef wgmma(Wgmma wgmma) { return intrinsic(wgmma); }
  StmtRef wgmma_sync(WgmmaSync sync) { return intrinsic(sync); }
  StmtRef register_limit(RegisterLimit limit) { return intrinsic(limit); }
  StmtRef await_earlier() { return intrinsic(AwaitEarlier{}); }
  StmtRef rows_zero(RowsZero node) { return intrinsic(node); }
  StmtRef rows_load(RowsLoad node) { return intrinsic(node); }
  StmtRef rows_store(RowsStore node) { return intrinsic(node); }
  StmtRef rows_dot(RowsDot node) { return intrinsic(node); }

private:
  ExprRef add_expr(Expr expr);
  StmtRef add_stmt(Stmt stmt);
  std::string unique_name(std::string name);
  // The node as it is, unfolded.
  ExprRef operation(ScalarOp op, std::vector<ExprRef> args);
  // Each gives null where there is nothing to fold.
  ExprRef fold_constants(ScalarOp op, const std::vector<ExprRef> &args);
  ExprRef fold_logic(ScalarOp op, ExprRef a, ExprRef b);
  ExprRef fold_integer(ScalarOp op, ExprRef a, ExprRef b);
  ExprRef fold_sum(ScalarOp op, ExprRef a, ExprRef b);
  ExprRef fold_product(ExprRef a, ExprRef b);
  ExprRef fold_quotient(ExprRef a, std::int64_t by);
  ExprRef fold_remainder(ExprRef a, std::int64_t by);
  ExprRef fold_order(ScalarOp op, ExprRef a, ExprRef b);
  // terms + constant; terms may be null. Null when the constant is too large to be exact.
  ExprRef sum(ExprRef terms, std::int64_t constant, Type type);
  ExprRef divided(ExprRef expr, std::int64_t by); // of an expression that is divisible
  bool is_index_arithmetic(ExprRef expr) const;

  Kernel &kernel_;
  std::unordered_set<std::string> names_;
  std::unordered_map<std::string, int> suffixes_;
  std::set<VarId> data_variables_; // integers that hold loaded values, which may be negative
};

// The value of an integer constant node, if it is one.
bool is_constant(ExprRef expr, std::int64_t *value = nullptr);

} // namespace tilefuse::kernel
