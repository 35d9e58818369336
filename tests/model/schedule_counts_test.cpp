// SPDX-License-Identifier: Apache-2.0
// What the sources say of their kernels, counted exactly on one layer: a 3x3 convolution of 7x14
// pixels and 16 channels (innermost) into 64, on warps of 32, 32 banks and sectors of 32 bytes.
#include <gtest/gtest.h>

#include <ctime>

#include "base/error.h"
#include "model/oracle/simulate_group.h"
#include "schedule/text.h"
#include "search/forms/algorithms.h"
#include "search/forms/named_schedule.h"
#include "search/groups.h"
#include "target/rows.h"

namespace tilefuse::model {
namespace {

using kernel::AccessCounts;
using kernel::AccessKind;
using kernel::Counts;

Target gpu() {
  return testing::with_row({.name = "gpu",
                            .backend = "opencl",
                            .isa = "CL1.2 sm_89",
                            .lanes = LaneKind::WorkItem,
                            .vector_f32 = 128,
                            .vector_registers = 128,
                            .max_group = 1024,
                            .compute_units = 24,
                            .local_bytes = 48 << 10,
                            .local_is_hw = true,
                            .local_banks = 32,
                            .warp = 32,
                            .sector_bytes = 32},
                           "opencl_nvidia");
}

nest::Nest conv() {
  return nest::parse_nest(R"(nest conv {
    index n 1, y 7, x 14, m 64 | c 16, r 3, s 3
    slot 0 f32 3136, 1 f32 9216, 2 f32 6272
    acc f32 = sum mul
    in 0 + 0 [n:1*3136, y + r - 1:14?*224, x + s - 1:14?*16, c:16*1]
    in 1 + 0 const [m:64*144, c:16*9, r:3*3, s:3*1]
    out 2 + 0 [n:1*6272, y:7*896, x:14*64, m:64*1]
    post acc
  })");
}

Counts counts_of(const nest::Nest &nest, const schedule::Schedule &schedule) {
  const SimulatedGroup run = simulate_group({.anchor = nest}, schedule, gpu(), {});
  EXPECT_EQ(run.fault, "");
  EXPECT_EQ(run.different, 0) << run.first_difference;
  EXPECT_GT(run.compared, 0);
  return run.counts;
}

Counts counts_of(const nest::Nest &nest, std::string_view schedule) {
  return counts_of(nest, schedule::parse_schedule(nest, schedule));
}

Counts counts_of_named(std::string_view name) {
  const nest::Nest nest = conv();
  const search::NamedSchedule named = search::named_schedule(name, nest, gpu());
  EXPECT_TRUE(named.schedule) << named.refusal;
  return counts_of(nest, named.schedule.value_or(schedule::scalar_schedule(nest)));
}

// Instructions of warps that read a buffer, or conflicts of one kind of access to it.
std::int64_t reads(const Counts &counts, std::string_view buffer) {
  std::int64_t sum = 0;
  for (const AccessCounts &access : counts.accesses)
    if (access.buffer == counts.buffer(buffer).id && access.kind == AccessKind::Load)
      sum += access.executed;
  return sum;
}

std::int64_t conflicts(const Counts &counts, std::string_view buffer, AccessKind kind) {
  std::int64_t sum = 0;
  for (const AccessCounts &access : counts.accesses)
    if (access.buffer == counts.buffer(buffer).id && access.kind == kind)
      sum += access.all_phases().conflicts();
  return sum;
}

// b0 the image, b1 the result, b2 the packed filter.
TEST(ScheduleCounts, IlpmReadsEachFilterElementOncePerBlock) {
  const Counts counts = counts_of_named("ilpm");
  const std::int64_t blocks = 14; // 7 rows of two tiles
  const std::int64_t filter = 64 * 16 * 9;
  EXPECT_EQ(counts.blocks, blocks);
  EXPECT_EQ(counts.warps, blocks * 2); // work-items are output channels
  EXPECT_EQ(counts.buffer("b2").loads, blocks * filter);
  EXPECT_EQ(counts.buffer("b2").block_sector_bytes, blocks * filter * 4);
  EXPECT_EQ(counts.buffer("b2").sectors, counts.buffer("b2").sectors_needed); // coalesced
  EXPECT_EQ(reads(counts, "b2"), blocks * 2 * 16 * 9); // one for 7 pixels: R * S a channel
  // Before and after each of two chunks of 8 channels, none for a tap or an output channel.
  EXPECT_EQ(counts.barriers, blocks * 2 * 2);
  // Every pixel is a broadcast.
  EXPECT_EQ(conflicts(counts, "s0", AccessKind::Load), 0);
  EXPECT_EQ(counts.phases("s0").conflicts(), 0);
}

// Streamed through registers each is still read once, and no barrier is added.
TEST(ScheduleCounts, IlpmStreamsItsFilterThroughRegisters) {
  for (const int registers : {2, 4}) {
    const search::NamedSchedule named = search::form(
        "ilpm", conv(), gpu(),
        {.channel_lanes = 64, .pixel_keep = 7, .row_keep = 1, .depth = 8, .stream = registers});
    ASSERT_TRUE(named.schedule);
    const Counts counts = counts_of(conv(), *named.schedule);
    EXPECT_EQ(counts.buffer("b2").loads, 14 * 64 * 16 * 9);
    EXPECT_EQ(counts.barriers, 14 * 2 * 2);
  }
}

TEST(ScheduleCounts, CachedDirectWaitsForEachRefillOfTheFilter) {
  // The named form stages one tap of 8 input and 8 output channels at a time.
  const Counts named = counts_of_named("direct_cached");
  EXPECT_EQ(named.blocks, 8); // of 8 output channels; work-items are the 98 pixels
  EXPECT_EQ(named.barriers, 8 * 2 * 9 * 2);
  EXPECT_EQ(reads(named, "s1"), 8 * 4 * 2 * 9 * 64); // 64 filter elements between two barriers
  // As published: the R * S elements of one input and one output channel.
  const Counts published = counts_of(conv(), R"(schedule direct_cached workitem
    tile   n:1 y:7 x:14 m:8 c:1
    lane   y:7 x:14
    reg    r:3 s:3
    loop   n y x m c r s
    stage  0 at c
    stage  1 at c)");
  const std::int64_t refills = 8 * 8 * 16; // blocks, output and input channels
  EXPECT_EQ(published.barriers, refills * 2);
  EXPECT_EQ(reads(published, "s1"), refills * 9 * 4); // of 4 warps
  EXPECT_EQ(published.of(kernel::InstructionKind::Fma).executed, refills * 9 * 4);
  EXPECT_EQ(published.buffer("b1").loads, 64 * 16 * 9);
}

// The filter's tile is 64 channels m of 8 channels c of 9 taps, read by 16 lanes along m.
//   plain: m 72 words apart, so 16 lanes meet by 4 in 4 banks: 3 conflicts in each of 4 kept m *
//   144 points * 8 warps * 4 blocks = 18432 reads. odd: taps 1 and 3 apart, m 9, c 577, so no read
//   conflicts. But 32 neighbours of the tensor are the 9 taps of 4 or 5 channels c whose places
//   begin in neighbouring banks: 3 conflicts in each of 18 rounds * 8 warps * 2 chunks * 4 blocks =
//   1152 writes. The image is written by vectors of 4 channels, 19 words apart, and the second one
//   of a pixel begins in the bank of the pixel 12 further on: 1 conflict in each of 4 parts of 32
//   writes.
TEST(ScheduleCounts, OddStridesSpreadReadsOverBanks) {
  const Counts odd = counts_of_named("plaidml");
  EXPECT_EQ(conflicts(odd, "s0", AccessKind::Load), 0);
  EXPECT_EQ(conflicts(odd, "s1", AccessKind::Load), 0);
  EXPECT_EQ(conflicts(odd, "s0", AccessKind::Store), 128);
  EXPECT_EQ(conflicts(odd, "s1", AccessKind::Store), 3 * 18 * 8 * 2 * 4);
  EXPECT_EQ(odd.phases("s0").conflicts() + odd.phases("s1").conflicts(), 3584);
  const Counts plain = counts_of(conv(), R"(schedule plain workitem
    tile   n:1 y:2 x:16 m:64 c:8
    lane   y:2 x:8 m:16
    reg    x:2 m:4 c:8 r:3 s:3
    loop   n y x m c r s
    stage  0 at c
    stage  1 at c)");
  EXPECT_EQ(conflicts(plain, "s1", AccessKind::Load), 3 * 4 * 144 * 8 * 4);
  EXPECT_EQ(plain.phases("s0").conflicts() + plain.phases("s1").conflicts(), 55296);
}

TEST(ScheduleCounts, ImplicitGemmHasNoConflicts) {
  const Counts counts = counts_of_named("igemm");
  EXPECT_GT(counts.phases("s0").phases, 0);
  EXPECT_GT(counts.phases("s1").phases, 0);
  EXPECT_EQ(counts.phases("s0").conflicts(), 0);
  EXPECT_EQ(counts.phases("s1").conflicts(), 0);
  EXPECT_EQ(counts.barriers, 2); // one a chunk: the next is fetched meanwhile
}

TEST(ScheduleCounts, AsynchronousCopiesHoldNothingInRegisters) {
  const Counts twice = counts_of_named("igemm");
  const Counts ring = counts_of_named("igemm_async");
  EXPECT_EQ(ring.barriers, 4); // one a chunk: with three buffers one of 4 channels fits
  EXPECT_EQ(conflicts(ring, "s0", AccessKind::Load) + conflicts(ring, "s1", AccessKind::Load), 0);
  EXPECT_LT(ring.live_registers, twice.live_registers);
}

// The input gradient of a 3x3 layer with weights [in][out][3][3], as the article stores them.
nest::Nest gradient() {
  return nest::parse_nest(R"(nest dgrad {
    index n 1, c 32, y 8, x 32 | k 16, r 3, s 3
    slot 0 f32 4096, 1 f32 4608, 2 f32 8192
    acc f32 = sum mul
    in 0 + 0 [n:1*4096, k:16*256, y - r + 1:8?*32, x - s + 1:32?*1]
    in 1 + 0 [c:32*144, k:16*9, r:3*3, s:3*1]
    out 2 + 0 [n:1*8192, c:32*256, y:8*32, x:32*1]
    post acc
  })");
}

// The rungs of the article that are points of the schedule space: what one work-item combines. The
// vector fetches along taps are kernels in kernel/backward_ladder_test.cpp.
TEST(ScheduleCounts, CombinedDepthsAndWidthsOfTheBackwardLadder) {
  const Counts terse = counts_of(gradient(), R"(schedule terse workitem
    tile   n:1 c:1 y:1 x:32
    lane   x:32
    loop   n c y x k r s)");
  const std::int64_t warps = 32 * 8; // channels and rows: a warp is a row
  EXPECT_EQ(reads(terse, "b0"), warps * 16 * 9);
  EXPECT_EQ(reads(terse, "b1"), warps * 16 * 9);
  const Counts depths = counts_of(gradient(), R"(schedule combined_depth workitem
    tile   n:1 c:16 y:1 x:32
    lane   x:32
    reg    c:16
    loop   n c y x k r s)");
  EXPECT_EQ(reads(depths, "b0") * 16, reads(terse, "b0"));
  EXPECT_EQ(depths.buffer("b0").sectors * 16, terse.buffer("b0").sectors);
  EXPECT_EQ(reads(depths, "b1"), reads(terse, "b1"));
  const Counts widths = counts_of(gradient(), R"(schedule combined_width workitem
    tile   n:1 c:16 y:4 x:32
    lane   y:4 x:8
    reg    c:16 x:4
    loop   n c y x k r s)");
  EXPECT_EQ(reads(widths, "b1") * 4, reads(terse, "b1"));
  EXPECT_EQ(reads(widths, "b0") * 16, reads(terse, "b0"));
}

#if defined(NDEBUG) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
constexpr double kSlower = 1;
#else
constexpr double kSlower = 30; // without optimisation, or with sanitizers
#endif

// Fast enough to be used: 1x64x56x56 -> 64 by ILP-M, all 224 blocks in a minute, one in a second.
TEST(ScheduleCounts, ALayerIsSimulatedInTime) {
  const nest::Nest nest = nest::parse_nest(R"(nest conv {
    index n 1, m 64, y 56, x 56 | c 64, r 3, s 3
    slot 0 f32 200704, 1 f32 36864, 2 f32 200704
    acc f32 = sum mul
    in 0 + 0 [n:1*200704, c:64*3136, y + r - 1:56?*56, x + s - 1:56?*1]
    in 1 + 0 const [m:64*576, c:64*9, r:3*3, s:3*1]
    out 2 + 0 [n:1*200704, m:64*3136, y:56*56, x:56*1]
    post acc
  })");
  const search::NamedSchedule named = search::named_schedule("ilpm", nest, gpu());
  ASSERT_TRUE(named.schedule) << named.refusal;
  const auto seconds = [&](const std::vector<std::int64_t> &blocks, std::int64_t expected) {
    const std::clock_t start = std::clock(); // processor time: other work does not count
    const SimulatedGroup run = simulate_group({.anchor = nest}, *named.schedule, gpu(), blocks);
    EXPECT_EQ(run.fault, "");
    EXPECT_EQ(run.different, 0) << run.first_difference;
    EXPECT_EQ(run.counts.blocks, expected);
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  };
  EXPECT_LT(seconds({0}, 1), 0.25 * kSlower);
  EXPECT_LT(seconds({}, 224), 60 * kSlower);
}

// A block alone is judged like all of them, and by the same number of elements in sum.
TEST(SimulateGroup, BlocksOneByOne) {
  const nest::Nest nest = nest::parse_nest(R"(nest conv {
    index n 2, m 5, y 9, x 20 | c 3, r 3, s 3
    slot 0 f32 1080, 1 f32 135, 2 f32 1810
    acc f32 = sum mul
    in 0 + 0 [n:2*540, c:3*180, y + r - 1:9?*20, x + s - 1:20?*1]
    in 1 + 0 const [m:5*27, c:3*9, r:3*3, s:3*1]
    out 2 + 10 [n:2*900, y:9*100, x:20*5, m:5*1]
    post max(acc, 0)
  })");
  const poly::Group group{.anchor = nest};
  const schedule::Schedule schedule = search::pick(group, gpu());
  const SimulatedGroup whole = simulate_group(group, schedule, gpu(), {});
  EXPECT_EQ(whole.fault, "");
  EXPECT_EQ(whole.different, 0) << whole.first_difference;
  EXPECT_EQ(whole.compared, 1810);
  std::int64_t compared = 0;
  for (std::int64_t block = 0; block < whole.kernel.blocks; ++block) {
    const SimulatedGroup one = simulate_group(group, schedule, gpu(), {block});
    EXPECT_EQ(one.fault, "");
    EXPECT_EQ(one.different, 0) << one.first_difference;
    compared += one.compared;
  }
  EXPECT_EQ(compared, 1800);
}

TEST(SimulateGroup, BuffersTooLargeAreALimit) {
  const nest::Nest nest = nest::parse_nest("nest map {\n  index i 80000000000\n"
                                           "  slot 0 f32 80000000000, 1 f32 80000000000\n"
                                           "  acc f32 = assign\n  out 1 + 0 [i:80000000000*1]\n"
                                           "  extra 0 + 0 [i:80000000000*1]\n  post $0\n}\n");
  try {
    simulate_group({.anchor = nest}, {}, gpu(), {0});
    ADD_FAILURE();
  } catch (const Error &error) {
    EXPECT_EQ(error.code(), ErrorCode::Limit);
    EXPECT_NE(error.message().find("1831055 MiB for 3 copies of its buffers, at most 4096"),
              std::string::npos)
        << error.message();
  }
}

} // namespace
} // namespace tilefuse::model
