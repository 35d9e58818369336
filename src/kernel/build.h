// SPDX-License-Identifier: Apache-2.0
// The only way to make kernel nodes. Checks types (our bugs: aborts) and folds constants, so that 0 * x, x + 0 and the
// arithmetic of known integers never reach a back end. Integer sums are kept as `terms + constant` (the constant last),
// which lets back ends use an address's displacement.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kernel/nodes.h"

namespace tilefuse::kernel {

class Builder {
 public:
  explicit Builder(Kernel& kernel) : kernel_(kernel) {}
  Kernel& kernel() { return kernel_; }

  BufferId buffer(Buffer buffer);
  VarId variable(std::string name, Type type);  // the name is made unique with a suffix

  ExprRef integer(std::int64_t value);
  ExprRef real(double value, Type type);
  ExprRef var(VarId id);
  ExprRef block();
  ExprRef lane();
  ExprRef scalar(ScalarOp op, std::vector<ExprRef> args);
  ExprRef add(ExprRef a, ExprRef b);
  ExprRef sub(ExprRef a, ExprRef b);
  ExprRef mul(ExprRef a, ExprRef b);
  ExprRef div(ExprRef a, ExprRef b);  // truncating; operands of index arithmetic are never negative here
  ExprRef mod(ExprRef a, ExprRef b);
  ExprRef min(ExprRef a, ExprRef b);
  ExprRef max(ExprRef a, ExprRef b);
  ExprRef select(ExprRef condition, ExprRef then_value, ExprRef else_value);
  ExprRef logical_and(ExprRef a, ExprRef b);  // null means true
  ExprRef fma(ExprRef a, ExprRef b, ExprRef c);
  ExprRef cast(ExprRef value, DType elem);
  ExprRef broadcast(ExprRef value, int lanes);
  ExprRef load(BufferId buffer, ExprRef index, int lanes = 1, std::int64_t lane_stride = 1, ExprRef valid = nullptr,
               double fill = 0);

  StmtRef block(std::vector<StmtRef> body);
  StmtRef let(VarId var, ExprRef value);
  StmtRef loop(VarId var, ForKind kind, ExprRef begin, ExprRef end, std::int64_t step, StmtRef body);
  StmtRef branch(ExprRef condition, StmtRef then_body, StmtRef else_body = nullptr);
  StmtRef store(BufferId buffer, ExprRef index, ExprRef value, std::int64_t lane_stride = 1, ExprRef valid = nullptr);
  StmtRef barrier();
  StmtRef prefetch(BufferId buffer, ExprRef index);

 private:
  ExprRef add_expr(Expr expr);
  StmtRef add_stmt(Stmt stmt);
  Kernel& kernel_;
};

// The value of an integer constant node, if it is one.
bool is_constant(ExprRef expr, std::int64_t* value = nullptr);

}  // namespace tilefuse::kernel
