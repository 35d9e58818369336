// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "kernel/build.h"
#include "kernel/text/text.h"
#include "kernel/verify.h"

namespace tilefuse::kernel {
namespace {

std::string broken(std::string_view stmts, bool unrolled = false, int block_size = 4) {
  const std::string head =
      "kernel k blocks 2 block_size " + std::to_string(block_size) +
      " {\nglobal const x f32[8]\nglobal y f32[8]\nlocal s f32[8]\nregister r f32x4[2]\n";
  return check(parse_kernel(head + std::string(stmts) + "\n}"), unrolled);
}

TEST(Verify, GoodKernels) {
  EXPECT_EQ(broken("for i in 0..2 { s[lane] = x[lane] barrier y[lane] = s[3 - lane] barrier }"),
            "");
  EXPECT_EQ(broken("unroll i in 0..2 { r[i] = x[i .. 4] }"), "");
  EXPECT_EQ(broken("r[1] = x[4 .. 4] y[0 .. 4] = r[1]", true), "");
  EXPECT_EQ(broken("for i in 0..block { barrier }"), "");
  EXPECT_EQ(broken("y[6 .. 4 valid 2] = x[4 .. 4]"), "");
}

TEST(Verify, VariablesHaveScopes) {
  EXPECT_EQ(broken("if block < 1 { let a = block } y[a] = x[0]"),
            "variable a is used outside its scope");
  EXPECT_EQ(broken("for i in 0..2 { } y[i] = x[0]"), "variable i is used outside its scope");
}

TEST(Verify, VariablesAreDefinedOnce) {
  Kernel kernel;
  Builder b(kernel);
  const VarId v = b.variable("v", {DType::I32, 1});
  kernel.body = b.block({b.let(v, b.block()), b.let(v, b.block())});
  EXPECT_EQ(check(kernel, false), "variable v is defined twice");
  kernel.body = b.block({b.let(v, b.block())});
  EXPECT_EQ(check(kernel, false), "");
}

TEST(Verify, ConstantIndicesAreInRange) {
  EXPECT_EQ(broken("y[8] = x[0]"), "index 8 of y is out of its 8 elements");
  EXPECT_EQ(broken("y[0] = x[-1]"), "index -1 of x is out of its 8 elements");
  EXPECT_EQ(broken("y[0 .. 4] = x[5 .. 4]"), "index 5 of x is out of its 8 elements");
  EXPECT_EQ(broken("y[0 .. 4] = x[0 .. 4 : 3]"), "index 0 of x is out of its 8 elements");
  EXPECT_EQ(broken("y[0 .. 4] = x[2 .. 4 : -1]"), "index 2 of x is out of its 8 elements");
  EXPECT_EQ(broken("r[2] = f32x4(0)"), "index 2 of r is out of its 2 elements");
}

TEST(Verify, BarriersReachEverybody) {
  EXPECT_EQ(broken("if block < 1 { barrier } else { barrier }"), "");
  EXPECT_EQ(broken("if lane < 1 { barrier }"), "a barrier that not every work-item reaches");
  EXPECT_EQ(broken("if x[0] < f32(1) { barrier }"), "a barrier that not every work-item reaches");
  EXPECT_EQ(broken("for i in 0..lane { barrier }"), "a barrier that not every work-item reaches");
  EXPECT_EQ(broken("let a = lane * 2 for i in a..9 { for j in 0..2 { barrier } }"),
            "a barrier that not every work-item reaches");
}

TEST(Verify, UnrolledKernels) {
  EXPECT_EQ(broken("unroll i in 0..2 { y[i] = x[i] }", true), "an `unroll` loop is left");
  EXPECT_EQ(broken("for i in 0..2 { r[i] = f32x4(0) }", true),
            "register r has an index that is not constant");
  EXPECT_EQ(broken("for i in 0..2 { r[i] = f32x4(0) }", false), "");
}

TEST(Verify, ShellAndBody) {
  Kernel kernel;
  EXPECT_EQ(check(kernel, false), "the kernel has no body");
  Builder b(kernel);
  kernel.body = b.block(std::vector<StmtRef>{});
  EXPECT_EQ(check(kernel, false), "");
  kernel.blocks = 0;
  EXPECT_EQ(check(kernel, false), "a kernel needs at least one block and one work-item");
  kernel.blocks = 1;
  kernel.buffers = {{.name = "a", .elems = 1, .written = true, .fixed = true}};
  EXPECT_EQ(check(kernel, false), "the fixed a needs to be in global memory and not written");
  kernel.buffers = {{.name = "a", .elems = 1}, {.name = "a", .elems = 1}};
  EXPECT_EQ(check(kernel, false), "'a' is defined twice");
  EXPECT_DEATH(verify(kernel, false), "'a' is defined twice, in\nkernel");
}

} // namespace
} // namespace tilefuse::kernel
