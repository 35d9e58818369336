// SPDX-License-Identifier: Apache-2.0
// Matrix instructions: for every row of the table, fragments brought in by ldmatrix give the matrix
// product; layouts of local memory have the conflicts that their arithmetic says.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "base/index.h"
#include "kernel/simulate_run.h"

namespace tilefuse::kernel {
namespace {

using testing::Arguments;
using testing::counts_of;

std::string type_of(const Fragment &fragment) {
  const std::string elem(to_string(fragment.type));
  return fragment.values() == 1 ? elem : fmt::format("{}x{}", elem, fragment.values());
}

// An operand of rows of k elements, copied to local memory and read by ldmatrix: tiles of 8 rows
// first, then 16 bytes along k.
std::string fill(const std::string &to, const std::string &from, int elems) {
  return fmt::format("for i{0} in 0..{2} {{ let e{0} = i{0} * 32 + lane {0}[e{0}] = {1}[e{0}] }}\n",
                     to, from, elems / 32);
}

std::string fetch(const std::string &to, const std::string &from, const Fragment &fragment,
                  int rows, int k) {
  const int size = static_cast<int>(size_bytes(fragment.type));
  const int tiles = fragment.values() * size / 4;
  return fmt::format(
      "ldmatrix.x{} {}[0] = {}[(lane % 8 + lane / 8 % {} * 8) % {} * {} + lane / 8 / "
      "{} * {} % {}]\n",
      tiles, to, from, rows / 8, rows, k, rows / 8, 16 / size, k);
}

std::string product_text(const CoreOp &op) {
  const std::string a(to_string(op.a.type));
  const std::string b(to_string(op.b.type));
  const std::string out(to_string(op.d.type));
  std::string text = fmt::format(
      "kernel mma blocks 1 block_size 32 {{\nglobal const x {0}[{3}]\nglobal const w {1}[{4}]\n"
      "global y {2}[{5}]\nlocal sa {0}[{3}]\nlocal sb {1}[{4}]\n",
      a, b, out, op.m * op.k, op.n * op.k, op.m * op.n);
  text += fmt::format("register a {}[1]\nregister b {}[1]\nregister d {}[1]\n", type_of(op.a),
                      type_of(op.b), type_of(op.d));
  text += fill("sa", "x", op.m * op.k) + fill("sb", "w", op.n * op.k) + "barrier\n";
  text += fmt::format("d[0] = {}(1)\n", type_of(op.d));
  text += fetch("a", "sa", op.a, op.m, op.k) + fetch("b", "sb", op.b, op.n, op.k);
  text += fmt::format("mma.{} d[0] += a[0] * b[0]\ny[lane * {} .. {}] = d[0] }}", op.name,
                      op.d.values(), op.d.values());
  return text;
}

double element(const std::vector<std::byte> &data, DType type, int i) {
  return load_element(data.data(), type, i);
}

TEST(SimulateMatrix, EveryRowIsAMatrixProduct) {
  for (const CoreOp &op : core_ops()) {
    if (is_wgmma(op))
      continue; // tests/model/wgmma_test.cpp
    const Kernel kernel = parse_kernel(product_text(op));
    EXPECT_EQ(check(kernel, false), "") << op.name;
    EXPECT_EQ(to_text(parse_kernel(to_text(kernel))), to_text(kernel));
    Arguments args(kernel);
    simulate(kernel, args.spans);
    for (int lane = 0; lane < kCoreLanes; ++lane) {
      for (int value = 0; value < op.d.values(); ++value) {
        const Place at = place(op.d, lane, value);
        double sum = 1;
        for (int k = 0; k < op.k; ++k)
          sum += element(args.data[0], op.a.type, at.row * op.k + k) *
                 element(args.data[1], op.b.type, at.column * op.k + k);
        ASSERT_EQ(element(args.data[2], op.d.type, lane * op.d.values() + value), sum)
            << op.name << " lane " << lane << " value " << value;
      }
    }
  }
}

TEST(SimulateMatrix, TransposedTilesGiveColumns) {
  // b of m16n8k16 stored [k][n]: row of the tile is k, received transposed.
  const Kernel kernel = parse_kernel(R"(kernel t blocks 1 block_size 32 {
    global const x f16[128]
    global y f16[128]
    local s f16[128]
    register b f16x4[1]
    for i in 0..4 { s[i * 32 + lane] = x[i * 32 + lane] }
    barrier
    ldmatrix.x2.trans b[0] = s[lane % 16 * 8]
    y[lane * 4 .. 4] = b[0]
  })");
  Arguments args(kernel);
  simulate(kernel, args.spans);
  const Fragment &b = find_core_op("m16n8k16.f16.f32")->b;
  for (int lane = 0; lane < kCoreLanes; ++lane)
    for (int value = 0; value < 4; ++value) {
      const Place at = place(b, lane, value);
      EXPECT_EQ(element(args.data[1], DType::F16, lane * 4 + value),
                element(args.data[0], DType::F16, at.row * 8 + at.column));
    }
}

TEST(SimulateMatrix, ShuffledValuesAreThoseOfOtherWorkItems) {
  const Kernel kernel = parse_kernel(R"(kernel t blocks 1 block_size 64 {
    global const x f32[64]
    global y f32[64]
    register v f32[2]
    v[1] = x[lane]
    shuffle v[1] xor 20
    y[lane] = v[1]
  })");
  Arguments args(kernel);
  simulate(kernel, args.spans);
  for (int lane = 0; lane < 2 * kCoreLanes; ++lane)
    EXPECT_EQ(element(args.data[1], DType::F32, lane),
              element(args.data[0], DType::F32, lane ^ 20));
}

TEST(SimulateMatrix, Tf32OperandsAreTruncated) {
  const Kernel kernel = parse_kernel(R"(kernel t blocks 1 block_size 32 {
    global const x f32[1]
    global y f32[128]
    register a f32x4[1]
    register b f32x2[1]
    register d f32x4[1]
    a[0] = f32x4(1.0009765625) + f32x4(0.00012207031)
    b[0] = f32x2(1)
    d[0] = f32x4(0)
    mma.m16n8k8.tf32.f32 d[0] += a[0] * b[0]
    y[lane * 4 .. 4] = d[0]
  })");
  Arguments args(kernel);
  simulate(kernel, args.spans);
  EXPECT_EQ(element(args.data[1], DType::F32, 5), 8 * 1.0009765625);
}

// 16 rows of 64 halves brought in by 16-byte asynchronous copies, read by ldmatrix.x4 for 4 steps
// along k and by 16-byte loads; `place` gives the chunk of 8 halves in which chunk c of row r lies.
std::string layout_text(const std::string &place, int pitch) {
  const auto chunk = [&](const std::string &row, const std::string &number) {
    std::string text = place;
    for (const auto &[from, to] :
         {std::pair<std::string, std::string>{"ROW", row}, {"CHUNK", number}})
      for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from))
        text.replace(at, from.size(), "(" + to + ")");
    return fmt::format("({}) * {} + ({}) * 8", row, pitch, text);
  };
  return fmt::format(
      "kernel l blocks 1 block_size 32 {{ global const x f16[1024] global y f16[1024]\n"
      "local s f16[{0}]\nregister a f16x8[4]\n"
      "for i in 0..4 {{ async_copy s[{1} .. 8] = x[i * 256 + lane * 8] }}\n"
      "async_commit async_wait 0 barrier\n"
      "for f in 0..4 {{ ldmatrix.x4 a[f] = s[{2}] }}\n"
      "for j in 0..4 {{ y[j * 256 + lane * 8 .. 8] = s[{3} .. 8] }} }}",
      16 * pitch, chunk("i * 4 + lane / 8", "lane % 8"), chunk("lane % 16", "f * 2 + lane / 16"),
      chunk("j * 4 + lane / 8", "lane % 8"));
}

// By AccessKind.
std::vector<PhaseCounts> phases_by_kind(const std::string &text) {
  const Kernel kernel = parse_kernel(text);
  Arguments args(kernel);
  const Counts counts = simulate(kernel, args.spans);
  EXPECT_EQ(args.data[0], args.data[1]) << "what is read back is what was copied";
  std::vector<PhaseCounts> phases(5);
  for (const AccessCounts &access : counts.accesses) {
    const PhaseCounts of = access.all_phases();
    phases[at(access.kind)].phases += of.phases;
    phases[at(access.kind)].wavefronts += of.wavefronts;
  }
  return phases;
}

// The kernel copies, reads tiles and reads back 4 times, each in 4 phases of 8 pieces of 16 bytes.
constexpr PhaseCounts kNoConflicts = {16, 16};
void expect_no_conflicts(const std::string &text) {
  const std::vector<PhaseCounts> phases = phases_by_kind(text);
  EXPECT_EQ(phases[at(AccessKind::AsyncWrite)], kNoConflicts);
  EXPECT_EQ(phases[at(AccessKind::LoadMatrix)], kNoConflicts);
  EXPECT_EQ(phases[at(AccessKind::Load)], kNoConflicts);
}

// Bitwise exclusive or of two numbers below 8.
const std::string kXor =
    "(CHUNK + ROW) % 2 + (CHUNK / 2 + ROW / 2) % 2 * 2 + (CHUNK / 4 + ROW / 4) "
    "% 2 * 4";

TEST(SimulateMatrix, SwizzledRowsHaveNoConflicts) { expect_no_conflicts(layout_text(kXor, 64)); }

// 64 x 16 by 16 x 16, whose operands lie in rows of so many bytes; b turned where `panel` says so.
std::string wgmma_text(int row_bytes, const std::string &panel) {
  const int across = row_bytes / 2;
  return fmt::format("kernel t blocks 1 block_size 128 {{\n  global y f32[1024]\n"
                     "  local a f16[{0}]\n  local b f16[{1}]\n  register acc f32x8[1]\n"
                     "  for i in 0..{2} {{ a[i * 128 + lane] = f16(1) }}\n"
                     "  for j in 0..{3} {{ b[j * 128 + lane] = f16(1) }}\n"
                     "  store_fence\n  barrier\n  acc[0] = f32x8(0)\n  wgmma_fence\n"
                     "  wgmma.m64n16k16.f16.f32 acc[0] += a[0] * b[0] rows {4}{5}\n"
                     "  wgmma_commit\n  wgmma_wait 0\n  y[lane * 8 .. 8] = acc[0]\n}}\n",
                     64 * across, 16 * across, across / 2, across / 8, row_bytes, panel);
}

// Each of four warps reads 4 matrices of 8 rows of 16 bytes of a, and one of them 4 of b.
TEST(SimulateMatrix, SwizzledOperandsOfWgmmaHaveNoConflicts) {
  for (const auto &[row_bytes, panel] :
       {std::pair{32, ""}, {64, ""}, {128, ""}, {128, " b_panel 1024"}}) {
    const Kernel kernel = parse_kernel(wgmma_text(row_bytes, panel));
    Arguments args(kernel);
    BankTrace trace;
    const Counts counts = simulate(kernel, args.spans, {.banks = &trace});
    EXPECT_EQ(element(args.data[0], DType::F32, 1023), 16);
    std::vector<std::pair<PhaseCounts, std::size_t>> seen; // and how many were traced
    for (std::size_t i = 0; i < counts.accesses.size(); ++i)
      if (counts.accesses[i].kind == AccessKind::LoadMatrix)
        seen.emplace_back(counts.accesses[i].all_phases(), trace[i].size());
    const std::vector<std::pair<PhaseCounts, std::size_t>> expected = {{{16, 16}, 16}, {{4, 4}, 4}};
    EXPECT_EQ(seen, expected) << row_bytes << panel;
  }
}

// 64 x 8 by 8 x 16 in tf32, a in registers: lane t + 4 g of a warp holds element (g + 8 i, t + 4 j) of its
// 16 rows, a's rows are 1, 2, 3 …, b is 1.
std::string fragment_text(const std::string &behind) {
  return fmt::format(
      "kernel t blocks 1 block_size 128 {{\n  global y f32[1024]\n  local b f32[128]\n"
      "  register a f32[4]\n  register acc f32x8[1]\n  b[lane] = f32(1)\n"
      "  unroll v in 0..4 {{ a[v] = f32(lane / 32 * 16 + lane % 32 / 4 + v % 2 * 8 + 1) }}\n"
      "  store_fence\n  barrier\n  acc[0] = f32x8(0)\n  wgmma_fence\n"
      "  wgmma.m64n16k8.tf32.f32 acc[0] += a[0] * b[0] rows 32\n"
      "  wgmma_commit\n  {}wgmma_wait 0\n  y[lane * 8 .. 8] = acc[0]\n}}\n",
      behind);
}

TEST(SimulateMatrix, RegistersHoldOperandOfWgmma) {
  const Kernel kernel = parse_kernel(fragment_text(""));
  Arguments args(kernel);
  simulate(kernel, args.spans);
  for (int lane = 0; lane < 128; ++lane)
    for (int value = 0; value < 8; ++value) {
      const int row = place(find_core_op("m64n16k8.tf32.f32")->d, lane, value).row;
      EXPECT_EQ(element(args.data[0], DType::F32, lane * 8 + value), 8 * (row + 1));
    }
}

TEST(SimulateMatrix, FragmentsStayUntilTheyAreMultiplied) {
  const Kernel kernel = parse_kernel(fragment_text("a[3] = f32(0)\n  "));
  Arguments args(kernel);
  try {
    simulate(kernel, args.spans);
    FAIL();
  } catch (const Error &error) {
    EXPECT_NE(std::string(error.what()).find("a[3] is written while a wgmma may read it"),
              std::string::npos)
        << error.what();
  }
}

TEST(SimulateMatrix, PaddedRowsHaveNoConflicts) { expect_no_conflicts(layout_text("CHUNK", 72)); }

TEST(SimulateMatrix, PlainRowsConflictInLdmatrix) {
  const std::vector<PhaseCounts> phases = phases_by_kind(layout_text("CHUNK", 64));
  // 8 rows of a tile begin in one bank: 8 wavefronts in each phase.
  EXPECT_EQ(phases[at(AccessKind::LoadMatrix)], (PhaseCounts{16, 8 * 16}));
  EXPECT_EQ(phases[at(AccessKind::AsyncWrite)], kNoConflicts);
  EXPECT_EQ(phases[at(AccessKind::Load)], kNoConflicts);
  // Rows of 192 bytes: every second row begins in the same bank, so 4 of 8 meet.
  const std::vector<PhaseCounts> narrow = phases_by_kind(layout_text("CHUNK", 96));
  EXPECT_EQ(narrow[at(AccessKind::LoadMatrix)], (PhaseCounts{16, 4 * 16}));
}

TEST(SimulateMatrix, CopiesBeyondTheEndAreZero) {
  const Kernel kernel = parse_kernel(R"(kernel t blocks 1 block_size 32 {
    global const x f32[2]
    global y f32[4]
    local s f32[128]
    async_copy s[lane * 4 .. 4 valid 2 - lane * 2] = x[0]
    async_commit
    async_wait 0
    if lane == 0 { y[0 .. 4] = s[0 .. 4] }
  })");
  Arguments args(kernel);
  simulate(kernel, args.spans);
  EXPECT_EQ(element(args.data[1], DType::F32, 0), -3);
  EXPECT_EQ(element(args.data[1], DType::F32, 1), -2);
  EXPECT_EQ(element(args.data[1], DType::F32, 3), 0);
}

TEST(SimulateMatrix, TextOfMistakes) {
  const auto mistake = [](const std::string &stmt) {
    try {
      parse_kernel("kernel k blocks 1 block_size 64 { local s f16[64] register a f16x8[1] register "
                   "b f16x4[1] register d f32x4[1] " +
                   stmt + " }");
    } catch (const Error &error) {
      return error.message();
    }
    return std::string("no error");
  };
  EXPECT_EQ(mistake("ldmatrix.x3 a[0] = s[0]"),
            "there is no 'ldmatrix.x3': needs x1, x2 or x4, then .trans or nothing");
  EXPECT_EQ(mistake("ldmatrix.x2 a[0] = s[0]"),
            "ldmatrix of 4 elements needs to fill whole values of a; got f16x8");
  EXPECT_EQ(mistake("mma.m1n1k1.f16 d[0] += a[0] * b[0]"),
            "there is no core instruction 'm1n1k1.f16'");
  EXPECT_EQ(mistake("mma.m16n8k16.f16.f32 d[0] += d[0] * b[0]"),
            "mma.m16n8k16.f16.f32: d needs to be a register of f16x8; got f32x4");
  EXPECT_EQ(mistake("barrier 1 33"),
            "barrier 1 needs a multiple of 32 work-items up to the block's 64; got 33");
  EXPECT_EQ(mistake("barrier 16 32"), "a barrier's number needs to be 1 to 15; got 16");
  EXPECT_EQ(mistake("async_wait 65"), "groups under way needs to be from 0 to 64; got 65");
  EXPECT_EQ(mistake("mma.m16n8k16.f16.f32 d[0] += a[0] * b[0] barrier 1 64 async_wait 3"),
            "no error");
}

} // namespace
} // namespace tilefuse::kernel
