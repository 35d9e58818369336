// SPDX-License-Identifier: Apache-2.0
#include "kernel/intrinsics.h"

#include <set>

#include <gtest/gtest.h>

#include "kernel/rules.h"
#include "kernel/text/text.h"
#include "kernel/walk.h"

namespace tilefuse::kernel {
namespace {

constexpr const char *kText =
    "kernel all blocks 2 cluster 2 block_size 128 {\n"
    "  global b0 f16[65536]\n"
    "  global counts b1 i32[8]\n"
    "  local data f16[8192]\n"
    "  local filter f16[8192]\n"
    "  local bars i64[2]\n"
    "  local found i32[1]\n"
    "  register acc f32x64[1]\n"
    "  register frag f16x8[1]\n"
    "  register square f32x4[4]\n"
    "  register sums f32[2]\n"
    "  tensor_map t0 = b0 + 0 dims [64, 128] strides [1, 64] box [64, 64] swizzle 128\n"
    "  transpose.x4 square[0]\n"
    "  shuffle sums[1] xor 16\n"
    "  ldmatrix.x4.trans frag[0] = data[lane * 8]\n"
    "  async_copy data[lane * 8 .. 8 valid lane] = b0[lane * 8]\n"
    "  async_commit\n"
    "  async_wait 3\n"
    "  ticket found[0] = b1[block]\n"
    "  mbarrier_init bars[0] 1\n"
    "  mbarrier_expect bars[0] 8192\n"
    "  mbarrier_arrive bars[1] rank 1 cluster\n"
    "  mbarrier_wait bars[0] 0 cluster\n"
    "  tensor_copy data[0] = t0[0, block] signals bars[0] ranks 3\n"
    "  tensor_store t0[0, block] = data[0]\n"
    "  store_fence\n"
    "  store_wait 1\n"
    "  wgmma_fence\n"
    "  wgmma.m64n128k16.f16.f32 acc[0] += data[0] * filter[0] rows 128 64 b_lines 512 "
    "when block < 1\n"
    "  wgmma.m64n128k16.f16.f32 acc[0] += frag[0] * filter[0] rows 128\n"
    "  wgmma_commit\n"
    "  wgmma_wait 0\n"
    "  registers_less 24\n"
    "  await_earlier\n"
    "}\n";

TEST(Intrinsics, TextsReadBack) { EXPECT_EQ(to_text(parse_kernel(kText)), kText); }

TEST(Intrinsics, WordsLeadToTheirRow) {
  std::set<std::string> words;
  const Kernel kernel = parse_kernel(kText);
  for_each_stmt(kernel.body, [&](StmtRef stmt) {
    const auto *node = std::get_if<Intrinsic>(&stmt->node);
    if (node == nullptr)
      return;
    for (const Intrinsic &form : row_of(*node).forms) {
      const std::string word = row_of(form).word(form);
      words.insert(word);
      ASSERT_NE(find_intrinsic(word), nullptr) << word;
      EXPECT_EQ(find_intrinsic(word)->index(), node->index()) << word;
      EXPECT_FALSE(is_identifier(word)) << word;
    }
  });
  EXPECT_TRUE(words.contains("store_commit"));
  EXPECT_TRUE(words.contains("registers_more"));
  EXPECT_EQ(find_intrinsic("tensor"), nullptr);
}

TEST(Intrinsics, WordsThatAreNoneSayWhatIs) {
  EXPECT_EQ(unknown_intrinsic("mma.m1n1k1"), "there is no core instruction 'm1n1k1'");
  EXPECT_EQ(unknown_intrinsic("ldmatrix.x3"),
            "there is no 'ldmatrix.x3': needs x1, x2 or x4, then .trans or nothing");
  EXPECT_EQ(unknown_intrinsic("store_other"), "");
}

TEST(Intrinsics, WarpsOfAMachineInstructionAreWhole) {
  const Intrinsic wgmma = *find_intrinsic("wgmma.m64n128k16.f16.f32");
  EXPECT_EQ(row_of(wgmma).scope, Scope::Warpgroup);
  EXPECT_EQ(row_of(Intrinsic{TensorCopy{}}).scope, Scope::WorkItem);
}

} // namespace
} // namespace tilefuse::kernel
