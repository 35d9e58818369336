// SPDX-License-Identifier: Apache-2.0
// A planted fault of each kind is found and named; the same kernel without it runs.
#include <gtest/gtest.h>

#include "kernel/simulate_run.h"

namespace tilefuse::kernel {
namespace {

using testing::block_of_64;
using testing::fault_of;

void expect_fault(const std::string &text, const std::string &message,
                  const SimulationOptions &options = {}) {
  EXPECT_EQ(fault_of(text, options), message) << text;
}

void expect_clean(const std::string &text, const SimulationOptions &options = {}) {
  EXPECT_EQ(fault_of(text, options), "no error") << text;
}

SimulationOptions expecting(std::vector<bool> elements) {
  SimulationOptions options;
  options.writes.push_back({1, std::move(elements)});
  return options;
}

TEST(SimulateFaults, OutOfBoundsInEverySpace) {
  expect_fault(block_of_64("y[lane * 65] = x[lane]"),
               "no error"); // 63 * 65 = 4095
  expect_fault(block_of_64("y[lane * 66] = x[lane]"),
               "y[lane * 66] = x[lane]: error: kernel k, block 0, lane 63: y[4158] is out of "
               "bounds: y has 4096 elements");
  expect_fault(block_of_64("s[lane * 41] = x[lane]"),
               "s[lane * 41] = x[lane]: error: kernel k, block 0, lane 63: s[2583] is out of "
               "bounds: s has 2560 elements");
  expect_fault(block_of_64("r[lane] = x[lane]", "register r f32[63]\n"),
               "r[lane] = x[lane]: error: kernel k, block 0, lane 63: r[63] is out of bounds: r "
               "has 63 elements");
  expect_fault(block_of_64("y[lane] = x[lane - 1]"),
               "y[lane] = x[lane - 1]: error: kernel k, block 0, lane 0: x[-1] is out of bounds: x "
               "has 4096 elements");
}

// An access by any work-item that has not awaited them; fixed buffers are as they always were.
TEST(SimulateFaults, GlobalMemoryBeforeEarlierKernelsEnd) {
  const std::string fixed = "global fixed w f32[4096]\n";
  const auto text = [&](const std::string &stmts) {
    return "kernel k blocks 1 block_size 64 {\n" + fixed +
           "global const x f32[4096]\nglobal y f32[4096]\nlocal s f32[2560]\n" + stmts + "\n}";
  };
  const auto expect_early = [&](const std::string &stmts, const std::string &line,
                                const std::string &lane, const std::string &buffer) {
    expect_fault(text(stmts), line + ": error: kernel k, block 0, lane " + lane + ": " + buffer +
                                  " is touched before earlier kernels are awaited");
  };
  expect_clean(text("y[lane] = x[lane]"));
  expect_clean(text("s[lane] = w[lane] await_earlier y[lane] = s[lane] + x[lane]"));
  expect_clean(text("if lane < 32 { s[lane] = w[lane] } else { await_earlier y[lane] = x[lane] }"));
  expect_early("s[lane] = x[lane] await_earlier y[lane] = s[lane]", "s[lane] = x[lane]", "0", "x");
  expect_early("y[lane] = w[lane] await_earlier", "y[lane] = w[lane]", "0", "y");
  expect_early("if lane != 40 { await_earlier } y[lane] = x[lane]", "y[lane] = x[lane]", "40", "x");
  expect_early("async_copy s[lane * 4 .. 4] = x[lane * 4] await_earlier async_wait 0",
               "async_copy s[lane * 4 .. 4] = x[lane * 4]", "0", "x");
}

TEST(SimulateFaults, OutOfBoundsOfWarpOperations) {
  expect_fault(block_of_64("async_copy s[lane * 4 .. 4] = x[lane * 68]"),
               "async_copy s[lane * 4 .. 4] = x[lane * 68]: error: kernel k, block 0, lane 61: "
               "x[4148] is out of bounds: x has 4096 elements");
  expect_fault(block_of_64("async_copy s[lane * 44 .. 4] = x[lane * 4]"),
               "async_copy s[lane * 44 .. 4] = x[lane * 4]: error: kernel k, block 0, lane 59: "
               "s[2596] is out of bounds: s has 2560 elements");
  expect_fault(
      block_of_64("for i in 0..40 { s[i * 64 + lane] = x[lane] } barrier "
                  "ldmatrix.x1 r[0] = s[lane * 512]",
                  "register r f32[1]\n"),
      "ldmatrix.x1 r[0] = s[lane * 512]: error: kernel k, block 0, lane 20: s[2560] is out "
      "of bounds: s has 2560 elements");
  expect_fault(block_of_64("for i in 0..40 { s[i * 64 + lane] = x[lane] } barrier "
                           "ldmatrix.x2 r[1] = s[lane * 4]",
                           "register r f32[2]\n"),
               "ldmatrix.x2 r[1] = s[lane * 4]: error: kernel k, block 0, lane 0: r[1] is out of "
               "bounds: r has 2 elements");
}

TEST(SimulateFaults, UninitialisedMemory) {
  expect_fault(block_of_64("if lane > 0 { s[lane] = x[lane] } barrier y[lane] = s[lane]"),
               "y[lane] = s[lane]: error: kernel k, block 0, lane 0: s[0] is read before it is "
               "written");
  expect_fault(block_of_64("if lane < 40 { r[0] = x[lane] } y[lane] = r[0]", "register r f32[1]\n"),
               "y[lane] = r[0]: error: kernel k, block 0, lane 40: r[0] is read before it is "
               "written");
  const std::string adds = block_of_64("y[lane] = y[lane] + x[lane]");
  expect_fault(adds, "y[lane] = y[lane] + x[lane]: error: kernel k, block 0, lane 0: y[0] is read "
                     "before it is written");
  expect_clean(adds, {.updated = {1}});
  expect_fault(
      block_of_64("if lane != 3 { s[lane] = x[lane] } barrier ldmatrix.x1 r[0] = s[lane * 4]",
                  "register r f32[1]\n"),
      "ldmatrix.x1 r[0] = s[lane * 4]: error: kernel k, block 0, lane 3: s[3] is read "
      "before it is written");
  // Local memory does not keep what an earlier block wrote.
  expect_fault("kernel k blocks 2 block_size 1 { global const x f32[2] global y f32[2] local s "
               "f32[1] if block < 1 { s[0] = x[0] } y[block] = s[0] }",
               "y[block] = s[0]: error: kernel k, block 1, lane 0: s[0] is read before it is "
               "written");
}

TEST(SimulateFaults, RacesWithinAWarpAndBetweenWarps) {
  expect_fault(block_of_64("s[lane] = x[lane] y[lane] = s[lane / 2 * 2]"),
               "y[lane] = s[lane / 2 * 2]: error: kernel k, block 0, lane 1: s[0] is read with no "
               "barrier after the write of lane 0");
  // Lane 32 reads what lane 31, of another warp, writes next.
  expect_fault(block_of_64("s[lane] = x[lane] barrier y[lane] = s[63 - lane] s[lane] = x[lane]"),
               "y[lane] = s[63 - lane]: error: kernel k, block 0, lane 32: s[31] is read with no "
               "barrier after the write of lane 31");
  expect_clean(
      block_of_64("s[lane] = x[lane] barrier y[lane] = s[63 - lane] barrier s[lane] = x[lane]"));
  expect_fault(block_of_64("s[lane / 2] = x[lane]"),
               "s[lane / 2] = x[lane]: error: kernel k, block 0, lane 1: s[0] is written with no "
               "barrier after the write of lane 0");
  // Two warps.
  expect_fault(block_of_64("s[lane % 32] = x[lane]"),
               "s[lane % 32] = x[lane]: error: kernel k, block 0, lane 32: s[0] is written with no "
               "barrier after the write of lane 0");
  // A loop without the barrier at its end, the race of the published ILP-M kernel.
  expect_fault(block_of_64("for i in 0..2 { s[lane] = x[i * 64 + lane] barrier "
                           "y[i * 64 + lane] = s[lane / 8] }"),
               "s[lane] = x[i * 64 + lane]: error: kernel k, block 0, lane 0: s[0] is written with "
               "no barrier after the read of several lanes");
  expect_clean(block_of_64("for i in 0..2 { barrier s[lane] = x[i * 64 + lane] barrier "
                           "y[i * 64 + lane] = s[lane / 8] }"));
}

TEST(SimulateFaults, RacesInGlobalMemory) {
  const SimulationOptions updated = {.updated = {1}};
  expect_fault(block_of_64("y[lane] = x[lane] s[lane] = y[lane / 2 * 2]"),
               "s[lane] = y[lane / 2 * 2]: error: kernel k, block 0, lane 1: y[0] is read with no "
               "barrier after the write of block 0, lane 0");
  expect_clean(block_of_64("y[lane] = x[lane] barrier s[lane] = y[63 - lane]"));
  expect_fault("kernel k blocks 2 block_size 1 { global const x f32[2] global y f32[2] "
               "y[1 - block] = y[block] }",
               "y[1 - block] = y[block]: error: kernel k, block 1, lane 0: y[1] is read with no "
               "barrier after the write of block 0, lane 0",
               updated);
}

TEST(SimulateFaults, NamedBarriersOrderOnlyThoseWhoMeet) {
  const std::string text = "s[lane] = x[lane] if lane < 32 { barrier 1 64 } else { barrier 1 64 } "
                           "y[lane] = s[63 - lane]";
  expect_clean(block_of_64(text));
  // Each warp meets only itself.
  expect_fault(block_of_64("s[lane] = x[lane] if lane < 32 { barrier 1 32 } else { barrier 2 32 } "
                           "y[lane] = s[63 - lane]"),
               "y[lane] = s[63 - lane]: error: kernel k, block 0, lane 0: s[63] is read with no "
               "barrier after the write of lane 63");
  expect_clean(block_of_64("s[lane] = x[lane] if lane < 32 { barrier 1 32 } else { barrier 2 32 } "
                           "y[lane] = s[lane / 32 * 32 + 31 - lane % 32]"));
  // A warp by itself.
  expect_clean(block_of_64("s[lane] = x[lane] if lane < 32 { barrier warp } else { barrier warp } "
                           "y[lane] = s[lane / 32 * 32 + 31 - lane % 32]"));
  expect_fault(block_of_64("s[lane] = x[lane] barrier warp y[lane] = s[63 - lane]"),
               "y[lane] = s[63 - lane]: error: kernel k, block 0, lane 0: s[63] is read with no "
               "barrier after the write of lane 63");
  expect_fault(block_of_64("if lane < 32 { barrier 1 64 }"),
               "barrier 1 64: error: kernel k, block 0, lane 32: does not reach a barrier that "
               "others reach");
}

TEST(SimulateFaults, BarriersThatPartOfTheBlockReaches) {
  expect_fault(block_of_64("if lane < 40 { barrier }"),
               "barrier: error: kernel k, block 0, lane 40: does not reach a barrier that others "
               "reach");
  expect_fault(block_of_64("if lane < 32 { barrier }"),
               "barrier: error: kernel k, block 0, lane 32: does not reach a barrier that others "
               "reach");
  expect_fault(block_of_64("if lane < 32 { barrier } else { barrier }"),
               "barrier: error: kernel k, block 0, lane 0: waits at another barrier than others of "
               "its block");
  expect_clean(block_of_64("if block < 1 { barrier }"));
}

TEST(SimulateFaults, OutputsWrittenTwiceOrNever) {
  std::vector<bool> half(4096);
  for (std::size_t i = 0; i < 64; ++i)
    half[i] = true;
  expect_clean(block_of_64("y[lane] = x[lane]"), expecting(half));
  expect_fault(block_of_64("y[lane / 2] = x[lane]"),
               "y[lane / 2] = x[lane]: error: kernel k, block 0, lane 1: y[0] is written twice: "
               "before by block 0, lane 0");
  expect_fault(block_of_64("y[lane] = x[lane] y[lane] = x[lane]"),
               "y[lane] = x[lane]: error: kernel k, block 0, lane 0: y[0] is written twice: before "
               "by block 0, lane 0");
  expect_fault(block_of_64("if lane != 5 { y[lane] = x[lane] }"),
               "error: kernel k: no block writes y[5]", expecting(half));
  expect_fault("kernel k blocks 2 block_size 1 { global const x f32[2] global y f32[2] "
               "y[block / 2] = x[block] }",
               "y[block / 2] = x[block]: error: kernel k, block 1, lane 0: y[0] is written twice: "
               "before by block 0, lane 0");
  // A slice of a concatenation leaves the rest alone.
  expect_fault(block_of_64("y[lane + 1] = x[lane]"),
               "y[lane + 1] = x[lane]: error: kernel k, block 0, lane 63: y[64] is written, though "
               "this kernel must leave it alone",
               expecting(half));
}

TEST(SimulateFaults, OnlyChosenBlocksRun) {
  const std::string text = "kernel k blocks 3 block_size 1 { global const x f32[3] global y f32[3] "
                           "y[block] = x[block + block / 2] }";
  SimulationOptions options = expecting({true, true, true});
  EXPECT_NE(fault_of(text, options).find("block 2"), std::string::npos);
  options.blocks = {0, 1};
  expect_clean(text, options);
  options.blocks = {3};
  EXPECT_NE(fault_of(text, options).find("there is no block 3"), std::string::npos);
}

TEST(SimulateFaults, MisalignedVectors) {
  Target target;
  target.name = "t";
  target.lanes = LaneKind::WorkItem;
  target.warp = 32;
  target.local_banks = 32;
  target.max_group = 1024;
  target.local_bytes = 1 << 20;
  target.vector_registers = 64;
  SimulationOptions options{.target = target};
  const std::string text = block_of_64("y[lane * 4 .. 4] = x[lane * 4 + 1 .. 4]");
  expect_clean(text, options);
  options.target->vector_align = 16;
  expect_fault(text,
               "y[lane * 4 .. 4] = x[lane * 4 + 1 .. 4]: error: kernel k, block 0, lane 0: x[1] is "
               "misaligned: byte 4 is no multiple of 16",
               options);
  expect_clean(block_of_64("y[lane * 4 .. 4] = x[lane * 4 + 4 .. 4]"), options);
  expect_clean(block_of_64("y[lane * 2 .. 2] = x[lane * 2 + 2 .. 2]"), options);
  expect_fault(block_of_64("s[lane * 4 + 2 .. 4] = x[lane * 4 .. 4]"),
               "s[lane * 4 + 2 .. 4] = x[lane * 4 .. 4]: error: kernel k, block 0, lane 0: s[2] is "
               "misaligned: byte 8 is no multiple of 16",
               options);
  expect_fault(block_of_64("y[lane * 2 .. 2] = x[lane * 2 + 1 .. 2]"),
               "y[lane * 2 .. 2] = x[lane * 2 + 1 .. 2]: error: kernel k, block 0, lane 0: x[1] is "
               "misaligned: byte 4 is no multiple of 8",
               options);
}

TEST(SimulateFaults, BeyondTheTarget) {
  Target target;
  target.name = "t";
  target.lanes = LaneKind::WorkItem;
  target.warp = 32;
  target.max_group = 64;
  target.local_bytes = 10240;
  target.vector_registers = 2;
  SimulationOptions options{.target = target};
  const std::string text = block_of_64("s[lane] = x[lane]");
  expect_clean(text, options);
  options.target->local_bytes = 10239;
  expect_fault(text, "error: kernel k needs 10240 bytes of local memory; t has 10239", options);
  options.target = target;
  options.target->max_group = 63;
  expect_fault(text, "error: kernel k needs 64 work-items in a block; t has 63", options);
  options.target = target;
  const std::string many = block_of_64("let a = x[lane] let b = x[lane + 1] let c = x[lane + 2] "
                                       "y[lane] = a + b + c");
  expect_fault(many, "error: kernel k needs 4 registers of 32 bits per work-item; t has 2",
               options);
}

TEST(SimulateFaults, AsynchronousCopies) {
  const auto text = [](std::string_view after) {
    return block_of_64("async_copy s[lane * 4 .. 4] = x[lane * 4] async_commit " +
                       std::string(after));
  };
  expect_clean(text("async_wait 0 y[lane] = s[lane * 4 + 3]"));
  expect_clean(text("async_wait 0 barrier y[lane] = s[lane]"));
  expect_fault(
      text("y[lane] = s[lane * 4]"),
      "y[lane] = s[lane * 4]: error: kernel k, block 0, lane 0: s[0] is touched before the "
      "wait for the asynchronous copy of lane 0");
  expect_fault(text("barrier y[lane] = s[lane]"),
               "y[lane] = s[lane]: error: kernel k, block 0, lane 0: s[0] is touched before the "
               "wait for the asynchronous copy of lane 0");
  expect_fault(text("async_wait 1 barrier y[lane] = s[lane]"),
               "y[lane] = s[lane]: error: kernel k, block 0, lane 0: s[0] is touched before the "
               "wait for the asynchronous copy of lane 0");
  expect_fault(text("async_wait 0 y[lane] = s[lane]"),
               "y[lane] = s[lane]: error: kernel k, block 0, lane 1: s[1] is read with no barrier "
               "after the write of lane 0");
  // The second group may be under way while the first is read.
  expect_clean(text("async_copy s[lane * 4 + 256 .. 4] = x[lane * 4] async_commit async_wait 1 "
                    "barrier y[lane] = s[lane]"));
  expect_fault(
      text("async_copy s[lane * 4 + 256 .. 4] = x[lane * 4] async_commit async_wait 1 "
           "barrier y[lane] = s[lane + 256]"),
      "y[lane] = s[lane + 256]: error: kernel k, block 0, lane 0: s[256] is touched before "
      "the wait for the asynchronous copy of lane 0");
  // Two copies under way to one place, and a store to where one is under way.
  expect_fault(
      text("async_copy s[lane * 4 .. 4] = x[lane * 4]"),
      "async_copy s[lane * 4 .. 4] = x[lane * 4]: error: kernel k, block 0, lane 0: s[0] is "
      "touched before the wait for the asynchronous copy of lane 0");
  expect_fault(
      text("barrier s[lane] = x[lane]"),
      "s[lane] = x[lane]: error: kernel k, block 0, lane 0: s[0] is touched before the wait "
      "for the asynchronous copy of lane 0");
  // Refilled while another still reads.
  expect_fault(text("async_wait 0 barrier y[lane] = s[lane] async_copy s[lane * 4 .. 4] = x[0]"),
               "async_copy s[lane * 4 .. 4] = x[0]: error: kernel k, block 0, lane 0: s[1] is "
               "written with no barrier after the read of lane 1");
  expect_fault(block_of_64("async_copy s[lane * 4 + 1 .. 4] = x[lane * 4]"),
               "async_copy s[lane * 4 + 1 .. 4] = x[lane * 4]: error: kernel k, block 0, lane 0: "
               "s[1] is misaligned: byte 4 is no multiple of 16");
  expect_fault(block_of_64("async_copy s[lane * 2 .. 2] = x[lane * 2 + 1]"),
               "async_copy s[lane * 2 .. 2] = x[lane * 2 + 1]: error: kernel k, block 0, lane 0: "
               "x[1] is misaligned: byte 4 is no multiple of 8");
}

TEST(SimulateFaults, PartsOfWarps) {
  const std::string registers = "register a f32x4[1]\nregister b f32x2[1]\nregister c f32x4[1]\n";
  expect_fault(block_of_64("s[lane] = x[lane] barrier if lane != 3 { ldmatrix.x1 r[0] = s[0] }",
                           "register r f32[1]\n"),
               "ldmatrix.x1 r[0] = s[0]: error: kernel k, block 0, lane 3: does not reach ldmatrix "
               "that its warp reaches");
  expect_fault(
      block_of_64("if lane < 48 { mma.m16n8k8.tf32.f32 c[0] += a[0] * b[0] }", registers),
      "mma.m16n8k8.tf32.f32 c[0] += a[0] * b[0]: error: kernel k, block 0, lane 0: a[0] is "
      "read before it is written");
  expect_fault(
      block_of_64("s[lane] = x[lane] barrier ldmatrix.x1 r[0] = s[lane]", "register r f32[1]\n"),
      "ldmatrix.x1 r[0] = s[lane]: error: kernel k, block 0, lane 1: s[1] is misaligned: "
      "byte 4 is no multiple of 16");
}

} // namespace
} // namespace tilefuse::kernel
