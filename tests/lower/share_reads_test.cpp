// SPDX-License-Identifier: Apache-2.0
// Reads under conditions of their own that windows share: each element is read once, results do not
// change, and what is read under another condition stays.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "kernel/walk.h"
#include "lower/algorithm_cases.h"
#include "lower/pipeline.h"
#include "lower/share_reads.h"
#include "schedule/text.h"

namespace tilefuse {
namespace {

nest::Nest depthwise() {
  return nest::parse_nest(R"(nest depthwise {
    index y 6, x 8, c 8 | r 3, s 3
    slot 0 f32 384, 1 f32 72, 2 f32 384
    acc f32 = sum mul
    in 0 + 0 [y + r - 1:6?*64, x + s - 1:8?*8, c:8*1]
    in 1 + 0 const [c:8*9, r:3*3, s:3*1]
    out 2 + 0 [y:6*64, x:8*8, c:8*1]
    post acc
  })");
}

kernel::Kernel lowered(const std::string &registers) {
  const nest::Nest nest = depthwise();
  const schedule::Schedule schedule =
      schedule::parse_schedule(nest, "schedule t workitem\n  tile y:1 x:4 c:8\n  lane c:8\n  reg " +
                                         registers + "\n  loop y x c r s\n");
  testing::expect_exact(nest, schedule, testing::group_test_target());
  return lower::lower({nest, {}}, schedule, testing::group_test_target());
}

// Reads of the images that stand in the text of the kernel.
std::int64_t image_reads(const kernel::Kernel &kernel) {
  std::int64_t count = 0;
  kernel::for_each_expr(kernel.body, [&](kernel::ExprRef expr) {
    const auto *load = std::get_if<kernel::Load>(&expr->node);
    count += load != nullptr && kernel.buffers[at(load->buffer)].name == "b0" ? 1 : 0;
  });
  return count;
}

TEST(ShareReads, NeighbouringWindowsReadAnElementOnce) {
  EXPECT_EQ(image_reads(lowered("x:4 r:3 s:3")), 3 * 6);
  EXPECT_EQ(image_reads(lowered("x:4 s:3")), 6);
}

TEST(ShareReads, WhatALoopReadsAnewStays) { EXPECT_EQ(image_reads(lowered("x:4")), 4); }

// One value is kept for the whole of its block, none beyond it.
TEST(ShareReads, ValuesOfABranchStayInIt) {
  using namespace kernel;
  Kernel kernel{.name = "k", .blocks = 1, .block_size = 8};
  Builder b(kernel);
  const BufferId from = b.buffer({.name = "b0", .type = {DType::F32, 1}, .elems = 8});
  const BufferId to =
      b.buffer({.name = "b1", .type = {DType::F32, 1}, .elems = 8, .written = true});
  const ExprRef valid = b.select(b.less(b.lane(), b.integer(4)), b.integer(1), b.integer(0));
  const auto copy = [&](const char *name) {
    const VarId value = b.variable(name, {DType::F32, 1});
    const StmtRef read = b.let(value, b.load(from, b.lane(), 1, 1, valid));
    return b.block({read, b.store(to, b.lane(), b.var(value))});
  };
  const StmtRef inner = b.branch(b.less(b.lane(), b.integer(2)), copy("v"));
  kernel.body = b.block({inner, copy("w"), copy("x")});
  EXPECT_EQ(image_reads(kernel), 3);
  EXPECT_EQ(image_reads(lower::share_reads(kernel)), 2);
}

} // namespace
} // namespace tilefuse
