// SPDX-License-Identifier: Apache-2.0
// Counts of kernels small enough to be counted by hand, on warps of 32, 32 banks of 4 bytes and
// sectors of 32 bytes. The block has two warps.
#include <gtest/gtest.h>

#include <algorithm>

#include "kernel/live_registers.h"
#include "kernel/simulate_run.h"

namespace tilefuse::kernel {
namespace {

using testing::block_of_64;
using testing::counts_of;

// The first access of a buffer by a kind.
const AccessCounts &access(const Counts &counts, std::string_view buffer, AccessKind kind) {
  for (const AccessCounts &candidate : counts.accesses)
    if (candidate.kind == kind && candidate.buffer == counts.buffer(buffer).id)
      return candidate;
  ADD_FAILURE() << "no such access of " << buffer;
  return counts.accesses.front();
}

std::int64_t store_conflicts(const std::string &index, const std::string &value = "x[lane]") {
  const Counts counts = counts_of(block_of_64("s[" + index + "] = " + value));
  return access(counts, "s", AccessKind::Store).all_phases().conflicts();
}

TEST(SimulateCounts, ConflictsOfStrides) {
  EXPECT_EQ(store_conflicts("lane"), 0);
  EXPECT_EQ(store_conflicts("lane * 2"), 2);       // 2 words a bank, both warps
  EXPECT_EQ(store_conflicts("lane * 3"), 0);       // odd
  EXPECT_EQ(store_conflicts("lane * 4"), 2 * 3);   // 4 words a bank
  EXPECT_EQ(store_conflicts("lane * 32"), 2 * 31); // all in one bank
  EXPECT_EQ(store_conflicts("lane * 33"), 0);      // padded
  EXPECT_EQ(store_conflicts("lane * 40"), 2 * 7);  // 4 banks of 8 words
}

// The kernel's counts, and what its only access of s asks of banks.
std::pair<Counts, std::vector<BankPhase>> traced(const std::string &body) {
  const Kernel kernel = parse_kernel(block_of_64(body));
  testing::Arguments args(kernel);
  BankTrace trace;
  Counts counts = simulate(kernel, args.spans, {.banks = &trace});
  std::vector<BankPhase> of_s;
  for (std::size_t a = 0; a < trace.size(); ++a)
    if (counts.accesses[a].buffer == counts.buffer("s").id)
      of_s = trace[a];
    else
      EXPECT_TRUE(trace[a].empty()) << "of global memory";
  return {std::move(counts), std::move(of_s)};
}

TEST(SimulateCounts, BanksOfTheFirstExecutionByEachWarp) {
  const auto [counts, banks] = traced("for i in 0..3 { s[lane * 2] = x[lane] barrier }");
  ASSERT_EQ(banks.size(), 2U) << "one phase of two warps, three executions of each";
  std::vector<std::uint16_t> every_second(32, 0);
  for (std::size_t b = 0; b < 32; b += 2)
    every_second[b] = 2;
  EXPECT_EQ(banks[0], (BankPhase{0, 0, every_second}));
  EXPECT_EQ(banks[1], (BankPhase{1, 0, every_second}));
}

TEST(SimulateCounts, PhasesAskBanksForTheirWavefronts) {
  for (const std::string index : {"lane * 3", "lane * 40", "lane * lane / 7 + lane"}) {
    const auto [counts, banks] = traced("s[" + index + "] = x[lane]");
    std::int64_t most = 0;
    for (const BankPhase &phase : banks)
      most += *std::max_element(phase.words.begin(), phase.words.end());
    EXPECT_EQ(most, access(counts, "s", AccessKind::Store).all_phases().wavefronts) << index;
  }
}

TEST(SimulateCounts, EqualWordsAreBroadcast) {
  const Counts counts = counts_of(block_of_64("s[lane] = x[lane] barrier y[lane] = s[lane / 32]"));
  const AccessCounts &load = access(counts, "s", AccessKind::Load);
  EXPECT_EQ(load.all_phases(), (PhaseCounts{2, 2}));
  EXPECT_EQ(load.elements, 64);
  EXPECT_EQ(load.requests, 2);
}

TEST(SimulateCounts, WiderAccessesTakeMorePhases) {
  // 8 bytes: half-warps; 16 bytes: quarter-warps; 32 bytes: two requests of 16.
  const auto store = [](const std::string &index, const std::string &value) {
    const Counts counts = counts_of(block_of_64("s[" + index + "] = " + value));
    return access(counts, "s", AccessKind::Store);
  };
  const AccessCounts two = store("lane * 2 .. 2", "x[lane * 2 .. 2]");
  EXPECT_EQ(two.phases.size(), 2U);
  EXPECT_EQ(two.all_phases(), (PhaseCounts{4, 4}));
  const AccessCounts four = store("lane * 4 .. 4", "x[lane * 4 .. 4]");
  EXPECT_EQ(four.phases.size(), 4U);
  EXPECT_EQ(four.all_phases(), (PhaseCounts{8, 8}));
  // 8 rows of 128 bytes: a quarter-warp's 16-byte pieces all begin in bank 0.
  const AccessCounts rows = store("lane * 32 .. 4", "x[lane * 4 .. 4]");
  EXPECT_EQ(rows.all_phases(), (PhaseCounts{8, 64}));
  // 8 words apart: pairs of 4 lanes share banks.
  const AccessCounts gaps = store("lane * 8 .. 4", "x[lane * 4 .. 4]");
  EXPECT_EQ(gaps.all_phases(), (PhaseCounts{8, 16}));
  for (const PhaseCounts &phase : gaps.phases)
    EXPECT_EQ(phase.conflicts(), 2); // one in each warp
  const AccessCounts eight = store("lane * 8 .. 8", "x[lane * 8 .. 8]");
  EXPECT_EQ(eight.requests, 4);
  EXPECT_EQ(eight.phases.size(), 8U);
  EXPECT_EQ(eight.all_phases(), (PhaseCounts{16, 32}));
  // Unaligned or strided vectors go element by element.
  const AccessCounts odd = store("lane * 5 .. 4", "x[lane * 4 .. 4]");
  EXPECT_EQ(odd.requests, 8);
  EXPECT_EQ(odd.all_phases(), (PhaseCounts{8, 8}));
}

TEST(SimulateCounts, Sectors) {
  const auto load = [](const std::string &x, const std::string &y = "lane") {
    const Counts counts = counts_of(block_of_64("y[" + y + "] = x[" + x + "]"));
    return access(counts, "x", AccessKind::Load);
  };
  EXPECT_EQ(load("lane").sectors, 8);
  EXPECT_EQ(load("lane").sectors_needed, 8);
  EXPECT_EQ(load("lane + 1").sectors, 10); // each warp straddles one more
  EXPECT_EQ(load("lane + 1").sectors_needed, 8);
  EXPECT_EQ(load("lane * 2").sectors, 16);
  EXPECT_EQ(load("lane * 2").sectors_needed, 8);
  EXPECT_EQ(load("lane * 8").sectors, 64);
  EXPECT_EQ(load("63 - lane").sectors, 8);
  EXPECT_EQ(load("0").sectors, 2);
  EXPECT_EQ(load("0").sectors_needed, 2);
  EXPECT_EQ(load("lane * 4 .. 4", "lane * 4 .. 4").sectors, 32);
  EXPECT_EQ(load("lane * 4 .. 4", "lane * 4 .. 4").requests, 2);
  const Counts counts = counts_of(block_of_64("y[lane] = x[lane / 2] + x[lane]"));
  const BufferCounts &x = counts.buffer("x");
  EXPECT_EQ(x.loads, 128);
  EXPECT_EQ(x.loaded_bytes, 512);
  EXPECT_EQ(x.sectors, 4 + 8);
  EXPECT_EQ(x.block_sector_bytes, 8 * 32);
  EXPECT_EQ(counts.buffer("y").stored_bytes, 256);
}

TEST(SimulateCounts, SectorsOfBlocksAndGrid) {
  const Counts counts = counts_of("kernel k blocks 4 block_size 32 { global const x f32[64] global "
                                  "y f32[128] y[block * 32 + lane] = x[block / 2 * 32 + lane] }");
  EXPECT_EQ(counts.buffer("x").block_sector_bytes, 4 * 128);
  EXPECT_EQ(counts.buffer("x").grid_sector_bytes, 256);
  EXPECT_EQ(counts.blocks, 4);
  EXPECT_EQ(counts.warps, 4);
}

TEST(SimulateCounts, InstructionsAndBarriers) {
  const Counts counts = counts_of(block_of_64(
      "r[0] = f32(0) for i in 0..3 { s[lane] = x[i * 64 + lane] barrier "
      "if lane < 8 { r[0] = fma(s[lane], s[lane + 1], r[0]) } barrier } y[lane] = exp(r[0]) / r[0]",
      "register r f32[1]\n"));
  EXPECT_EQ(counts.barriers, 6);
  EXPECT_EQ(counts.of(InstructionKind::Barrier).executed, 12);
  EXPECT_EQ(counts.of(InstructionKind::Fma).executed, 3); // one warp has work
  EXPECT_EQ(counts.of(InstructionKind::Fma).lanes, 24);
  EXPECT_EQ(counts.of(InstructionKind::LoadLocal).executed, 6);
  EXPECT_EQ(counts.of(InstructionKind::StoreLocal).executed, 6);
  EXPECT_EQ(counts.of(InstructionKind::LoadGlobal).executed, 6);
  EXPECT_EQ(counts.of(InstructionKind::StoreGlobal).executed, 2);
  EXPECT_EQ(counts.of(InstructionKind::SpecialFunction).executed, 2);
  EXPECT_EQ(counts.of(InstructionKind::FloatArithmetic).executed, 2);
  EXPECT_EQ(counts.of(InstructionKind::Branch).executed, 2 * 4 + 2 * 3);
}

TEST(SimulateCounts, CopiesOfSwizzledRows) {
  // 64 rows of 64 bytes: chunk c of row r lies at c ^ ((r >> 1) & 3).
  const Counts counts = counts_of(
      block_of_64("for i in 0..4 { let row = i * 16 + lane / 4 let chunk = lane % 4 "
                  "let to = (chunk + row / 2) % 4 "
                  "async_copy s[row * 16 + to * 4 .. 4] = x[row * 16 + chunk * 4] } async_commit "
                  "async_wait 0 barrier"));
  const AccessCounts &write = access(counts, "s", AccessKind::AsyncWrite);
  EXPECT_EQ(write.requests, 8);
  EXPECT_EQ(write.all_phases(), (PhaseCounts{32, 32}));
  EXPECT_EQ(access(counts, "x", AccessKind::AsyncRead).sectors, 8 * 16);
}

TEST(SimulateCounts, TextIsWhatWasCounted) {
  const std::string text = to_text(counts_of(block_of_64("s[lane * 2] = x[lane]")));
  EXPECT_EQ(text,
            "blocks 1 warps 2 barriers 0 local_bytes 10240 live_registers 2\n"
            "instructions integer: executed 2 lanes 64\n"
            "instructions load_global: executed 2 lanes 64\n"
            "instructions store_local: executed 2 lanes 64\n"
            "global x: loads 64 stores 0 loaded_bytes 256 stored_bytes 0 sectors 8 needed 8 "
            "block_bytes 256 grid_bytes 256\n"
            "global y: loads 0 stores 0 loaded_bytes 0 stored_bytes 0 sectors 0 needed 0 "
            "block_bytes 0 grid_bytes 0\n"
            "local s: loads 0 stores 64 loaded_bytes 0 stored_bytes 256 wavefronts 4 conflicts 2\n"
            "load x[lane]: executed 2 requests 2 bytes 256 sectors 8 needed 8\n"
            "store s[lane * 2]: executed 2 requests 2 bytes 256 wavefronts 4 conflicts 2\n");
}

TEST(LiveRegisters, ByLiveRange) {
  const auto live = [](const std::string &stmts, const std::string &buffers = "") {
    return live_registers(parse_kernel(block_of_64(stmts, buffers)));
  };
  EXPECT_EQ(live("y[lane] = x[lane]"), 1);
  EXPECT_EQ(live("let a = x[lane] let b = x[lane + 1] y[lane] = a + b"), 3);
  EXPECT_EQ(live("let a = x[lane] y[lane] = a let b = x[lane + 1] y[lane + 64] = b"), 2);
  // An accumulator is alive throughout the loop; the loop's variable too.
  EXPECT_EQ(live("r[0] = f32(0) for i in 0..4 { r[0] = r[0] + x[i] } y[lane] = r[0]",
                 "register r f32[1]\n"),
            3);
  EXPECT_EQ(live("r[0] = x[lane .. 8] y[lane * 8 .. 8] = r[0]", "register r f32x8[1]\n"),
            9); // and an index
  // Two halves share a register.
  EXPECT_EQ(live_registers(parse_kernel("kernel k blocks 1 block_size 32 { local s f16[256] "
                                        "register a f16x8[2] ldmatrix.x4 a[0] = s[0] "
                                        "ldmatrix.x4 a[1] = s[0] }")),
            4);
}

} // namespace
} // namespace tilefuse::kernel
