// SPDX-License-Identifier: Apache-2.0
// Whole kernels as machine code: loops, registers, scratch, branches, masked and strided access
// beside pages that may not be touched, and what an emitter must refuse.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <thread>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/index.h"
#include "emit/llvm/llvm_module.h"
#include "emit/llvm/llvm_spills.h"
#include "emit/llvm_harness.h"

namespace tilefuse::emit {
namespace {

using kernel::BufferId;
using kernel::Builder;
using kernel::ExprRef;
using kernel::ForKind;
using kernel::Kernel;
using kernel::Space;
using kernel::StmtRef;
using kernel::Type;

constexpr Type kInt{DType::I32, 1};
constexpr std::int64_t kAnySize = 1 << 20; // the runtime's business, not the code's

Kernel named(const char *name) {
  Kernel k;
  k.name = name;
  return k;
}

BufferId input(Builder &b, DType type, std::int64_t elems = kAnySize) {
  return b.buffer({"in", Space::Global, {type, 1}, elems});
}

BufferId output(Builder &b, DType type, std::int64_t elems = kAnySize) {
  return b.buffer({"out", Space::Global, {type, 1}, elems, true});
}

// ---- masked and strided access at the edge of memory

struct AccessCase {
  DType type;
  int lanes;
  std::int64_t stride;
};

std::int64_t span_elems(const AccessCase &c, std::int64_t lanes) {
  return lanes <= 0 ? 0 : (lanes - 1) * std::abs(c.stride) + 1;
}

// Element of the lowest address that `lanes` lanes touch, relative to lane 0.
std::int64_t lowest(const AccessCase &c, std::int64_t lanes) {
  return c.stride < 0 && lanes > 0 ? (lanes - 1) * c.stride : 0;
}

const std::vector<DType> kMemoryTypes = {
    DType::Bool, DType::I8,  DType::U8,  DType::I16, DType::I32, DType::I64, DType::F16,
    DType::BF16, DType::F32, DType::F64, DType::U16, DType::U32, DType::U64};

// out[0 .. lanes] = in[0 …] under a count read from memory, with fill 3.
Kernel masked_load(const AccessCase &c) {
  Kernel k = named("masked_load");
  Builder b(k);
  const BufferId in = input(b, c.type);
  const BufferId count = b.buffer({"count", Space::Global, kInt, 1});
  const BufferId out = output(b, c.type);
  const ExprRef valid = b.load(count, b.integer(0));
  const ExprRef value =
      b.load(in, b.integer(0), c.lanes, c.stride, valid, c.type == DType::Bool ? 1 : 3);
  k.body = b.store(out, b.integer(0), value);
  return k;
}

Kernel masked_store(const AccessCase &c) {
  Kernel k = named("masked_store");
  Builder b(k);
  const BufferId in = input(b, c.type);
  const BufferId count = b.buffer({"count", Space::Global, kInt, 1});
  const BufferId out = output(b, c.type);
  const ExprRef valid = b.load(count, b.integer(0));
  k.body = b.store(out, b.integer(0), b.load(in, b.integer(0), c.lanes), c.stride, valid);
  return k;
}

// Where lane 0 lies so that the `valid` lanes end at the guard page behind (or begin at the one
// before).
std::byte *edge(const GuardedMemory &memory, const AccessCase &c, std::int64_t valid, bool behind) {
  const std::int64_t size = size_bytes(c.type);
  const auto bytes = static_cast<std::size_t>(span_elems(c, valid) * size);
  std::byte *low = behind ? memory.at_end(bytes) : memory.begin();
  return low - lowest(c, valid) * size;
}

void check_masked_load(const AccessCase &c) {
  Compiled compiled(masked_load(c));
  const GuardedMemory memory(4096);
  for (int valid = -1; valid <= c.lanes + 1; ++valid)
    for (bool behind : {true, false}) {
      const std::int64_t lanes = std::clamp(valid, 0, c.lanes);
      std::byte *at = edge(memory, c, lanes, behind);
      for (std::int64_t i = 0; i < lanes; ++i)
        store_element(at, c.type, i * c.stride,
                      c.type == DType::Bool ? 0 : static_cast<double>(i + 5));
      std::vector<double> out(static_cast<std::size_t>(c.lanes));
      std::int32_t count = valid;
      compiled.run({at, &count, out.data()});
      for (int i = 0; i < c.lanes; ++i) {
        const double loaded = c.stride == 0 ? static_cast<double>(lanes + 4) : i + 5;
        const double want = c.type == DType::Bool ? (i < lanes ? 0 : 1) : (i < lanes ? loaded : 3);
        ASSERT_EQ(load_element(out.data(), c.type, i), want)
            << to_string(c.type) << 'x' << c.lanes << " stride " << c.stride << " valid " << valid
            << " lane " << i;
      }
    }
}

void check_masked_store(const AccessCase &c) {
  Compiled compiled(masked_store(c));
  const GuardedMemory memory(4096);
  std::vector<double> in(static_cast<std::size_t>(c.lanes));
  for (int i = 0; i < c.lanes; ++i)
    store_element(in.data(), c.type, i, i + 1);
  for (int valid = -1; valid <= c.lanes + 1; ++valid)
    for (bool behind : {true, false}) {
      const std::int64_t lanes = std::clamp(valid, 0, c.lanes);
      std::memset(memory.begin(), 0, 4096);
      std::byte *at = edge(memory, c, lanes, behind);
      std::int32_t count = valid;
      compiled.run({in.data(), &count, at});
      std::int64_t stored = 0;
      for (std::int64_t i = 0; i < 4096 / size_bytes(c.type); ++i)
        stored += load_element(memory.begin(), c.type, i) != 0;
      ASSERT_EQ(stored, lanes) << to_string(c.type) << 'x' << c.lanes << " stride " << c.stride;
      for (std::int64_t i = 0; i < lanes; ++i)
        ASSERT_EQ(load_element(at, c.type, i * c.stride), load_element(in.data(), c.type, i));
    }
}

TEST(LlvmAccess, MaskedLoadsTouchValidLanesOnly) {
  for (DType type : kMemoryTypes)
    for (int lanes : {1, 3, 8, 16})
      for (std::int64_t stride : {1, 2, 5, -1})
        check_masked_load({type, lanes, stride});
}

TEST(LlvmAccess, MaskedStoresTouchValidLanesOnly) {
  for (DType type : kMemoryTypes)
    for (int lanes : {1, 3, 8, 16})
      for (std::int64_t stride : {1, 2, -1})
        check_masked_store({type, lanes, stride});
}

TEST(LlvmAccess, StridedLoadsStayBetweenFirstAndLastElement) {
  for (DType type : {DType::I8, DType::F16, DType::F32, DType::F64})
    for (int lanes : {2, 3, 8, 16})
      for (std::int64_t stride : {0, 1, 2, 3, -1, -2}) {
        const AccessCase c{type, lanes, stride};
        Kernel k = named("strided");
        Builder b(k);
        const BufferId in = input(b, type);
        const BufferId out = output(b, type);
        k.body = b.store(out, b.integer(0), b.load(in, b.integer(0), lanes, stride));
        Compiled compiled(k);
        const GuardedMemory memory(4096);
        for (bool behind : {true, false}) {
          std::byte *at = edge(memory, c, lanes, behind);
          for (int i = 0; i < lanes; ++i)
            store_element(at, type, i * stride, i + 1);
          std::vector<double> result(16);
          compiled.run({at, result.data()});
          for (int i = 0; i < lanes; ++i)
            ASSERT_EQ(load_element(result.data(), type, i), stride == 0 ? lanes : i + 1)
                << to_string(type) << 'x' << lanes << " stride " << stride;
        }
      }
}

TEST(LlvmAccess, CountsBeyondThirtyTwoBitsOfLanesAreClipped) {
  Kernel k = named("clipped");
  Builder b(k);
  const BufferId in = input(b, DType::F32);
  const BufferId out = output(b, DType::F32);
  // block * 2^31 - 4: far below zero in 32 bits, large in 64.
  const ExprRef valid = b.sub(b.mul(b.block(), b.integer(std::int64_t{1} << 31)), b.integer(4));
  k.blocks = 3;
  k.body = b.store(out, b.mul(b.block(), b.integer(8)), b.load(in, b.integer(0), 8, 1, valid, -1));
  std::vector<float> from(8, 2.0F);
  std::vector<float> to(24);
  Compiled(k).run({from.data(), to.data()});
  EXPECT_EQ(to[0], -1);
  EXPECT_EQ(to[8], 2);
  EXPECT_EQ(to[23], 2);
}

// ---- statements

// Sums of a matrix's rows through registers: out[block * 8 ..] = sum over k of in[(block * depth +
// k) * 8 ..].
TEST(LlvmKernel, RegistersLoopsAndBlocks) {
  constexpr int kBlocks = 5;
  constexpr int kDepth = 37;
  constexpr int kRegs = 3;
  Kernel k = named("rows");
  k.blocks = kBlocks;
  Builder b(k);
  const BufferId in = input(b, DType::F32);
  const BufferId out = output(b, DType::F32);
  const BufferId acc = b.buffer({"acc", Space::Register, {DType::F32, 8}, kRegs});
  const auto r = b.variable("r", kInt);
  const auto s = b.variable("s", kInt);
  const auto t = b.variable("t", kInt);
  const auto d = b.variable("d", kInt);
  const auto p = b.variable("p", kInt);
  const auto all = [&](kernel::VarId var, StmtRef body) {
    return b.loop(var, ForKind::Unroll, b.integer(0), b.integer(kRegs), 1, body);
  };
  const StmtRef clear = all(r, b.store(acc, b.var(r), b.real(0, {DType::F32, 8})));
  const ExprRef at = b.add(b.mul(b.add(b.var(p), b.mul(b.var(d), b.integer(kRegs))), b.integer(8)),
                           b.mul(b.var(s), b.integer(8)));
  const StmtRef sum =
      all(s, b.store(acc, b.var(s), b.add(b.load(acc, b.var(s), 8), b.load(in, at, 8))));
  const StmtRef walk = b.loop(d, ForKind::Serial, b.integer(0), b.integer(kDepth), 1, sum);
  const ExprRef place =
      b.add(b.mul(b.block(), b.integer(8 * kRegs)), b.mul(b.var(t), b.integer(8)));
  const StmtRef flush = all(t, b.store(out, place, b.load(acc, b.var(t), 8)));
  k.body = b.block({b.let(p, b.mul(b.block(), b.integer(kDepth * kRegs))), clear, walk, flush});
  std::vector<float> from(kBlocks * kDepth * kRegs * 8);
  for (std::size_t i = 0; i < from.size(); ++i)
    from[i] = static_cast<float>(i % 23) - 7;
  std::vector<float> to(kBlocks * kRegs * 8, -1);
  Compiled(k).run({from.data(), to.data()});
  for (std::size_t i = 0; i < to.size(); ++i) {
    float want = 0;
    const std::size_t block = i / (8 * kRegs);
    for (std::size_t j = 0; j < kDepth; ++j)
      want += from[(block * kDepth + j) * kRegs * 8 + i % (8 * kRegs)];
    ASSERT_EQ(to[i], want) << i;
  }
}

TEST(LlvmKernel, LoopBoundsFromDataMayBeEmpty) {
  Kernel k = named("bounds");
  Builder b(k);
  const BufferId bounds = input(b, DType::I32);
  const BufferId out = output(b, DType::I32);
  const auto i = b.variable("i", kInt);
  const ExprRef old = b.load(out, b.integer(0));
  const StmtRef count = b.store(out, b.integer(0), b.add(old, b.var(i)));
  k.body = b.loop(i, ForKind::Serial, b.load(bounds, b.integer(0)), b.load(bounds, b.integer(1)), 3,
                  count);
  Compiled compiled(k);
  for (std::int32_t begin : {-4, 0, 5})
    for (std::int32_t end : {-9, -4, 0, 5, 6, 8, 9, 20}) {
      std::int32_t range[2] = {begin, end};
      std::int32_t sum = 0;
      std::int32_t want = 0;
      for (std::int32_t at = begin; at < end; at += 3)
        want += at;
      compiled.run({range, &sum});
      EXPECT_EQ(sum, want) << begin << ".." << end;
    }
}

TEST(LlvmKernel, RegistersAreGatheredIntoAVector) {
  Kernel k = named("gathered");
  Builder b(k);
  const BufferId in = input(b, DType::F32);
  const BufferId out = output(b, DType::F32);
  const BufferId acc = b.buffer({"acc", Space::Register, {DType::F32, 1}, 8});
  std::vector<StmtRef> body;
  for (int i = 0; i < 8; ++i)
    body.push_back(b.store(acc, b.integer(i), b.load(in, b.integer(i))));
  body.push_back(b.store(out, b.integer(0), b.load(acc, b.integer(1), 4)));
  k.body = b.block(std::move(body));
  std::vector<float> from = {3, 1, 4, 1, 5, 9, 2, 6};
  std::vector<float> to(4, -1);
  Compiled(k).run({from.data(), to.data()});
  EXPECT_EQ(to, (std::vector<float>{1, 4, 1, 5}));
}

TEST(LlvmKernel, BranchesLetsAndRegistersMeet) {
  Kernel k = named("branch");
  k.blocks = 10;
  Builder b(k);
  const BufferId out = output(b, DType::F64);
  const BufferId acc = b.buffer({"acc", Space::Register, {DType::F64, 1}, 1});
  const auto x = b.variable("x", kInt);
  const StmtRef low =
      b.store(acc, b.integer(0), b.cast(b.mul(b.var(x), b.integer(10)), DType::F64));
  const StmtRef high = b.store(acc, b.integer(0), b.cast(b.var(x), DType::F64));
  const ExprRef even = b.scalar(ScalarOp::Eq, {b.mod(b.block(), b.integer(2)), b.integer(0)});
  const ExprRef small = b.scalar(ScalarOp::Lt, {b.block(), b.integer(5)});
  const StmtRef bump =
      b.branch(even, b.store(acc, b.integer(0),
                             b.add(b.load(acc, b.integer(0)), b.real(0.5, {DType::F64, 1}))));
  k.body = b.block({b.let(x, b.add(b.mul(b.block(), b.integer(3)), b.integer(1))),
                    b.branch(small, low, high), bump,
                    b.store(out, b.block(), b.load(acc, b.integer(0)))});
  std::vector<double> to(10);
  Compiled(k).run({to.data()});
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(to[at(i)], (3 * i + 1) * (i < 5 ? 10 : 1) + (i % 2 == 0 ? 0.5 : 0));
}

TEST(LlvmKernel, LocalBuffersAreApartAndAligned) {
  Kernel k = named("scratch");
  Builder b(k);
  const BufferId in = input(b, DType::F32);
  const BufferId out = output(b, DType::F32);
  const BufferId halves = b.buffer({"h", Space::Local, {DType::F16, 1}, 5});
  const BufferId wide = b.buffer({"w", Space::Local, {DType::F64, 1}, 9});
  const auto i = b.variable("i", kInt);
  const auto j = b.variable("j", kInt);
  const ExprRef value = b.load(in, b.var(i));
  const StmtRef fill =
      b.loop(i, ForKind::Serial, b.integer(0), b.integer(5), 1,
             b.block({b.store(halves, b.var(i), b.cast(value, DType::F16)),
                      b.store(wide, b.add(b.var(i), b.integer(4)), b.cast(value, DType::F64))}));
  const ExprRef both = b.add(b.cast(b.load(halves, b.var(j)), DType::F32),
                             b.cast(b.load(wide, b.add(b.var(j), b.integer(4))), DType::F32));
  k.body = b.block(
      {fill, b.barrier(), b.prefetch(out, b.integer(kAnySize)),
       b.loop(j, ForKind::Serial, b.integer(0), b.integer(5), 1, b.store(out, b.var(j), both))});
  Compiled compiled(k);
  EXPECT_EQ(compiled.package().scratch_bytes, 64 + 128);
  std::vector<float> from = {1, -2, 3.5, 1000, 0.25};
  std::vector<float> to(5);
  compiled.run({from.data(), to.data()});
  for (std::size_t at = 0; at < 5; ++at)
    EXPECT_EQ(to[at], 2 * from[at]);
}

TEST(LlvmKernel, FmaRoundsOnce) {
  Kernel k = named("fma");
  Builder b(k);
  const BufferId in = input(b, DType::F32);
  const BufferId out = output(b, DType::F32);
  const ExprRef x = b.load(in, b.integer(0));
  const ExprRef wide = b.broadcast(x, 8);
  const ExprRef minus = b.real(-1, {DType::F32, 8});
  const Type vector{DType::F32, 8};
  k.body = b.block({b.store(out, b.integer(0), b.fma(wide, wide, minus)),
                    b.store(out, b.integer(8), b.add(b.mul(wide, wide), b.real(-1, vector)))});
  std::vector<float> from = {1.0F + 0x1p-12F};
  std::vector<float> to(16);
  Compiled(k).run({from.data(), to.data()});
  EXPECT_EQ(to[0], std::fma(from[0], from[0], -1.0F));
  const volatile float square = from[0] * from[0];
  EXPECT_EQ(to[8], square - 1.0F); // and the plain form twice
  EXPECT_NE(to[0], to[8]);
}

TEST(LlvmKernel, ArgumentsArePassedInOrder) {
  Kernel k = named("many");
  Builder b(k);
  std::vector<BufferId> in;
  for (int i = 0; i < 12; ++i)
    in.push_back(b.buffer({"in", Space::Global, {DType::F32, 1}, 1}));
  const BufferId out = output(b, DType::F32, 12);
  std::vector<StmtRef> body;
  for (int i = 0; i < 12; ++i)
    body.push_back(b.store(out, b.integer(i), b.load(in[at(i)], b.integer(0))));
  k.body = b.block(body);
  std::vector<float> from(12);
  std::iota(from.begin(), from.end(), 1.0F);
  std::vector<float> to(12);
  std::vector<void *> args;
  for (float &value : from)
    args.push_back(&value);
  args.push_back(to.data());
  Compiled compiled(k);
  compiled.run(args);
  EXPECT_EQ(to, from);
  ASSERT_EQ(compiled.package().args.size(), 13U);
  EXPECT_EQ(compiled.package().args[12], (Argument{48, true}));
  EXPECT_EQ(compiled.package().args[0], (Argument{4, false}));
}

// ---- refusals

std::string refusal(const Kernel &k, const Target &target) {
  try {
    llvm_emitter().emit(k, target);
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

Kernel copy_one() {
  Kernel k = named("copy");
  Builder b(k);
  const BufferId in = input(b, DType::F32);
  const BufferId out = output(b, DType::F32);
  k.body = b.store(out, b.block(), b.load(in, b.block()));
  return k;
}

TEST(LlvmRefusal, WorkItems) {
  Kernel k = copy_one();
  k.block_size = 4;
  EXPECT_NE(refusal(k, host_target()).find("4 work-items"), std::string::npos);
}

TEST(LlvmRefusal, UnknownProcessor) {
  Target target = host_target();
  target.isa = "pdp11";
  EXPECT_NE(refusal(copy_one(), target).find("'pdp11'"), std::string::npos);
}

TEST(LlvmRefusal, RegisterIndexThatVaries) {
  Kernel k = named("varying");
  Builder b(k);
  const BufferId out = output(b, DType::F32);
  const BufferId acc = b.buffer({"acc", Space::Register, {DType::F32, 1}, 4});
  const auto i = b.variable("i", kInt);
  k.body = b.loop(i, ForKind::Serial, b.integer(0), b.integer(4), 1,
                  b.store(out, b.var(i), b.load(acc, b.var(i))));
  EXPECT_NE(refusal(k, host_target()).find("'acc'"), std::string::npos);
}

// ---- everything else

TEST(LlvmEmitter, SameKernelGivesSameBytesOnAnyThread) {
  const std::string expected = llvm_emitter().emit(copy_one(), host_target()).code;
  std::vector<std::string> codes(16);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < 4; ++i)
        codes[static_cast<std::size_t>(t) * 4 + i] =
            llvm_emitter().emit(copy_one(), host_target()).code;
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::string &code : codes)
    EXPECT_EQ(code, expected);
}

TEST(LlvmEmitter, WideVectorsUseWideRegisters) {
  Kernel k = named("wide");
  Builder b(k);
  const BufferId in = input(b, DType::F32);
  const BufferId out = output(b, DType::F32);
  k.body = b.store(out, b.integer(0), b.load(in, b.integer(0), 16));
  Target target = host_target();
  target.isa = "x86-64-v4";
  target.vector_f32 = 16;
  EXPECT_NE(llvm_assembly(k, target).find("zmm"), std::string::npos);
  target.isa = "x86-64-v3";
  target.vector_f32 = 8;
  EXPECT_EQ(llvm_assembly(k, target).find("zmm"), std::string::npos);
}

TEST(LlvmSpills, CountsVectorStackAccessOfInnermostLoops) {
  const std::string text = "k:\n"
                           "\tvmovaps\t%ymm1, 32(%rsp)\n"
                           ".LBB0_1:                                # outer\n"
                           "\tvmovaps\t%ymm1, 64(%rsp)\n"
                           ".LBB0_2:                                # inner\n"
                           "\tvmovaps\t96(%rsp), %ymm2              # 32-byte Reload\n"
                           "\tmovq\t8(%rsp), %rax\n"
                           "\tvfmadd231ps\t128(%rsp), %ymm2, %ymm3\n"
                           "\tjne\t.LBB0_2\n"
                           "\tjb\t.LBB0_1\n"
                           "\tretq\n";
  EXPECT_EQ(count_loop_spills(text), 2);
  EXPECT_EQ(count_loop_spills(""), 0);
}

// ---- squares of vectors, turned in registers

Kernel turned_square(DType type, int rows) {
  Kernel k = named("turned_square");
  Builder b(k);
  const BufferId in = input(b, type);
  const BufferId out = output(b, type);
  const BufferId square = b.buffer({"square", Space::Register, {type, rows}, rows});
  std::vector<StmtRef> body;
  for (int row = 0; row < rows; ++row)
    body.push_back(b.store(square, b.integer(row), b.load(in, b.integer(row * rows), rows)));
  body.push_back(b.transpose({{square, b.integer(0)}, rows}));
  for (int row = 0; row < rows; ++row)
    body.push_back(b.store(out, b.integer(row * rows), b.load(square, b.integer(row), rows)));
  k.body = b.block(std::move(body));
  return k;
}

TEST(LlvmKernel, SquaresAreTurned) {
  for (const DType type : {DType::F32, DType::I32, DType::I8, DType::F64})
    for (const int rows : {2, 4, 8, 16}) {
      Compiled compiled(turned_square(type, rows));
      const auto size = static_cast<std::size_t>(rows * rows * size_bytes(type));
      std::vector<std::byte> in(size), out(size);
      for (std::int64_t i = 0; i < rows * rows; ++i)
        store_element(in.data(), type, i, static_cast<double>(i % 127));
      compiled.run({in.data(), out.data()});
      for (std::int64_t i = 0; i < rows * rows; ++i)
        ASSERT_EQ(load_element(out.data(), type, i),
                  load_element(in.data(), type, i % rows * rows + i / rows))
            << to_string(type) << " " << rows << " " << i;
    }
}

} // namespace
} // namespace tilefuse::emit
