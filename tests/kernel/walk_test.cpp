// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "kernel/text/text.h"
#include "kernel/verify.h"
#include "kernel/walk.h"

namespace tilefuse::kernel {
namespace {

const std::string kText = R"(kernel k blocks 2 block_size 4 flops 8 bytes 16 {
  global const x f32[64]
  global y f32[64]
  local s f32[8]
  register r f32x4[2]
  let p = block * 4 + lane
  for i in 0..2 {
    s[lane valid 3 - i] = x[p valid i fill 2]
    barrier
    r[i] = fma(broadcast(s[i], 4), x[p .. 4 : 2], f32x4(1))
    if i < 1 {
      y[p .. 4] = f32x4(f64x4(r[i])) + r[i]
    } else {
      prefetch x[p]
    }
  }
}
)";

TEST(Walk, RewriterCopiesEveryNode) {
  const Kernel kernel = parse_kernel(kText);
  Kernel copy = copy_shell(kernel);
  Builder to(copy);
  copy.body = Rewriter(to).stmt(kernel.body);
  EXPECT_EQ(to_text(copy), kText);
  EXPECT_EQ(check(copy, false), "");
}

// Puts a constant in place of a variable.
class Substitute : public Rewriter {
public:
  Substitute(Builder &to, std::int64_t value) : Rewriter(to), value_(value) {}
  ExprRef expr(ExprRef from) override {
    return from != nullptr && std::holds_alternative<VarRef>(from->node) ? to().integer(value_)
                                                                         : Rewriter::expr(from);
  }

private:
  std::int64_t value_;
};

TEST(Walk, RewritingFoldsOnTheWay) {
  const Kernel kernel = parse_kernel("kernel k blocks 1 block_size 1 {\nglobal y i32[64]\nfor i in "
                                     "0..4 { y[i * 8 + 3] = (i + 5) / 4 }\n}");
  Kernel copy = copy_shell(kernel);
  Builder builder(copy);
  const For &loop = std::get<For>(children(kernel.body)[0]->node);
  EXPECT_EQ(to_text(copy, Substitute(builder, 3).stmt(loop.body)), "y[27] = 2\n");
}

class DropBarriers : public Rewriter {
public:
  using Rewriter::Rewriter;
  StmtRef stmt(StmtRef from) override {
    return from != nullptr && std::holds_alternative<Barrier>(from->node) ? nullptr
                                                                          : Rewriter::stmt(from);
  }
};

TEST(Walk, NullDropsAStatement) {
  const Kernel kernel = parse_kernel(kText);
  Kernel copy = copy_shell(kernel);
  Builder to(copy);
  copy.body = DropBarriers(to).stmt(kernel.body);
  std::string expected = kText;
  expected.erase(expected.find("    barrier\n"), 12);
  EXPECT_EQ(to_text(copy), expected);
}

TEST(Walk, VisitsEveryNodeOnceParentsFirst) {
  const Kernel kernel = parse_kernel(kText);
  int stmts = 0;
  for_each_stmt(kernel.body, [&](StmtRef) { ++stmts; });
  EXPECT_EQ(stmts, 12);
  std::vector<std::string> loads;
  for_each_expr(kernel.body, [&](ExprRef e) {
    if (std::holds_alternative<Load>(e->node))
      loads.push_back(to_text(kernel, e));
  });
  EXPECT_EQ(loads, (std::vector<std::string>{"x[p valid i fill 2]", "s[i]", "x[p .. 4 : 2]", "r[i]",
                                             "r[i]"}));
}

TEST(Walk, SameTrees) {
  Kernel kernel;
  Builder b(kernel);
  const BufferId x = b.buffer({.name = "x", .type = {DType::F32, 1}, .elems = 4});
  const auto sum = [&](std::int64_t c) {
    return b.add(b.mul(b.block(), b.integer(3)), b.integer(c));
  };
  EXPECT_TRUE(is_same(sum(1), sum(1)));
  EXPECT_FALSE(is_same(sum(1), sum(2)));
  EXPECT_FALSE(is_same(b.real(0, {DType::F32, 1}), b.real(-0.0, {DType::F32, 1})));
  EXPECT_FALSE(is_same(b.real(0, {DType::F32, 1}), b.real(0, {DType::F32, 2})));
  EXPECT_FALSE(is_same(b.load(x, b.integer(0)), b.load(x, b.integer(0))));
}

} // namespace
} // namespace tilefuse::kernel
