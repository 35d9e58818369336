// SPDX-License-Identifier: Apache-2.0
// Sums of what a convolution stores become its kernel's: which kernels there are then, and that they
// compute what those before did.
#include <gtest/gtest.h>

#include <span>
#include <string>

#include "base/index.h"
#include "poly/fuse.h"
#include "poly/group_buffers.h"
#include "program/program.h"
#include "program/storage/storage.h"
#include "search/network/tile_sums.h"
#include "target/rows.h"

namespace tilefuse::search {
namespace {

// A convolution of 8 pictures, the statistics of its result by channel, and who reads them.
constexpr const char *kNormalised = R"(program "p" {
  input %0 "p" : f16[8, 64, 32, 16]
  input %1 "w" : f16[64, 64, 1, 1]
  input %2 "m" : f32[64]
  input %3 "k" : f32[2]
  %4 "x" : f16[8, 64, 32, 16] = map[%0](f16(max(f32($0), 0)))
  %5 "o" : f16[8, 64, 32, 16] = sum[n, m, y, x, c, r, s](%4[n, c, y + r, x + s] * %1[m, c, r, s]) -> [n, m, y, x]
  %6 "i" : f32[2, 8, 64] = sum[k, n, c, y, x](select($0 == 0, $1 - $2, ($1 - $2) * ($1 - $2)) of %3[k], %5[n, c, y, x], %2[c]) -> [k, n, c]
  %7 "s" : f32[2, 64] = sum[k, c, n](%6[k, n, c]) -> [k, c]
  %8 "y" : f16[8, 64, 32, 16] = map[%5](f16(max(f32($0), 0)))
  output %7
  output %8
})";

struct Placed {
  program::StoredProgram stored;
  std::vector<poly::PlacedGroup> groups;
};

Target sm90() { return testing::target_row("cuda_sm90"); }

Placed placed(const char *text) {
  Placed all{program::assign_storage(program::parse_program(text), program::Layout::Nhwc), {}};
  all.groups = poly::make_groups(all.stored, {.level = poly::FuseLevel::None});
  return all;
}

Placed with_sums(Placed all) {
  const Target target = sm90();
  KeptChoices kept(nullptr, target);
  all.groups = sum_tiles(std::move(all.groups), all.stored, target, {}, kept);
  return all;
}

// Buffers when all groups have run, from small numbers.
std::vector<program::Bytes> run(const Placed &all) {
  std::vector<program::Bytes> memory;
  for (const program::Buffer &buffer : all.stored.buffers) {
    program::Bytes &bytes =
        memory.emplace_back(static_cast<std::size_t>(buffer.elems * size_bytes(buffer.type)));
    for (std::int64_t i = 0; i < buffer.elems; ++i)
      store_element(bytes.data(), buffer.type, i, static_cast<double>(i * 7 % 5 - 2) / 4);
  }
  for (const poly::PlacedGroup &placed : all.groups) {
    std::vector<std::span<std::byte>> slots;
    for (const program::BufferId buffer : placed.buffers)
      slots.emplace_back(memory[at(buffer)]);
    poly::evaluate(placed.group, slots);
  }
  return memory;
}

TEST(SumTiles, OfAConvolutionAreItsKernels) {
  const Placed before = placed(kNormalised);
  const Placed after = with_sums(before);
  ASSERT_EQ(before.groups.size(), 5U);
  ASSERT_EQ(after.groups.size(), 4U);
  EXPECT_EQ(after.groups[1].group.sums.size(), 1U);
  EXPECT_TRUE(is_alone(after.groups[2].group));
  const std::vector<program::Bytes> expected = run(before), got = run(after);
  const program::BufferId sums = poly::written_buffer(before.groups[3]);
  ASSERT_EQ(poly::written_buffer(after.groups[2]), sums);
  for (std::int64_t i = 0; i < before.stored.buffers[at(sums)].elems; ++i)
    EXPECT_NEAR(load_element(got[at(sums)].data(), DType::F32, i),
                load_element(expected[at(sums)].data(), DType::F32, i), 1e-2);
}

// The gradient of two branches that meet in a ReLU, and the sums that the gradients of their
// normalisations need: of it, and of its products with what was normalised.
constexpr const char *kGradient = R"(program "p" {
  input %0 "p" : f16[16, 32, 16, 64]
  input %1 "w" : f16[64, 64]
  input %2 "k" : f32[2]
  %3 "d" : f16[16, 32, 16, 64] = map[%0](f16(max(f32($0), 0)))
  %4 "y" : f16[16, 32, 16, 64] = map[%0](f16(neg(f32($0))))
  %5 "a" : f16[16, 32, 16, 64] = map[%0](f16(f32($0) + 1.0))
  %6 "b" : f16[16, 32, 16, 64] = map[%0](f16(f32($0) - 1.0))
  %7 "e" : f16[16, 32, 16, 64] = sum[n, y, x, c, m](%3[n, y, x, m] * %1[m, c]) -> [n, y, x, c]
  %8 "g" : f16[16, 32, 16, 64] = map[%7, %4](f16(select(f32($1) > 0, f32($0), 0)))
  %9 "s" : f32[2, 64] = sum[k, n, y, x, c](select($0 == 0, $1 * $2, $1) of %2[k], %8[n, y, x, c], %5[n, y, x, c]) -> [k, c]
  %10 "t" : f32[64] = sum[n, y, x, c](%8[n, y, x, c] * %6[n, y, x, c]) -> [c]
  %11 "h" : f16[16, 32, 16, 64] = map[%8](f16(max(f32($0), 0)))
  output %9
  output %10
  output %11
})";

TEST(SumTiles, OfAGradientReadWhatWasNormalised) {
  Placed before = placed(kGradient);
  before.groups = poly::make_groups(before.stored, {.level = poly::FuseLevel::Pointwise});
  const Placed after = with_sums(before);
  ASSERT_EQ(before.groups.size(), 8U);
  ASSERT_EQ(after.groups.size(), 8U);
  const poly::Group &gradient = after.groups[4].group;
  ASSERT_EQ(gradient.sums.size(), 2U);
  EXPECT_EQ(gradient.anchor.extras.size(), 3U);
  const std::vector<program::Bytes> expected = run(before), got = run(after);
  for (const std::size_t g : {5, 6}) {
    const program::BufferId sums = poly::written_buffer(before.groups[g]);
    for (std::int64_t i = 0; i < before.stored.buffers[at(sums)].elems; ++i)
      EXPECT_NEAR(load_element(got[at(sums)].data(), DType::F32, i),
                  load_element(expected[at(sums)].data(), DType::F32, i), 1e-2);
  }
}

// What follows the sum alone reads its result, so that nothing may stand between.
TEST(SumTiles, AreOfWhatIsThere) {
  std::string text = kNormalised;
  const std::string_view mean = "input %2 \"m\" : f32[64]";
  text.replace(text.find(mean), mean.size(), "input %9 \"mean\" : f32[64]");
  text.insert(text.find("  %6"), "  %2 \"m\" : f32[64] = map[%9]($0 + 1.0)\n");
  EXPECT_EQ(with_sums(placed(text.c_str())).groups.size(), 6U);
}

} // namespace
} // namespace tilefuse::search
