// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "base/index.h"
#include "kernel/build.h"
#include "kernel/simulate.h"
#include "kernel/text/text.h"
#include "kernel/walk.h"

namespace tilefuse::kernel {
namespace {

constexpr Type kInt{DType::I32, 1};
constexpr Type kFloat{DType::F32, 1};

class Build : public ::testing::Test {
protected:
  std::string text(ExprRef expr) { return to_text(kernel, expr); }
  ExprRef i(std::int64_t value) { return b.integer(value); }

  Kernel kernel;
  Builder b{kernel};
  ExprRef x = b.var(b.variable("x", kInt));
  ExprRef y = b.var(b.variable("y", kInt));
  ExprRef f = b.var(b.variable("f", kFloat));
};

TEST_F(Build, SumsKeepTheConstantLast) {
  EXPECT_EQ(text(b.add(b.add(x, i(3)), b.add(y, i(4)))), "x + y + 7");
  EXPECT_EQ(text(b.add(i(3), x)), "x + 3");
  EXPECT_EQ(text(b.sub(b.add(x, i(3)), b.add(y, i(4)))), "x - y - 1");
  EXPECT_EQ(text(b.sub(b.add(x, i(3)), i(3))), "x");
  EXPECT_EQ(text(b.sub(b.add(x, i(9)), b.add(x, i(2)))), "7");
  EXPECT_EQ(text(b.sub(i(3), x)), "3 - x");
  EXPECT_EQ(text(b.add(x, i(0))), "x");
}

// Where memory does; a register may hold more digits than its type.
TEST_F(Build, AStoreToMemoryRoundsByItself) {
  const BufferId memory = b.buffer({"out", Space::Global, {DType::F16, 1}, 4, true});
  const BufferId held = b.buffer({"r", Space::Register, {DType::F16, 1}, 4});
  const ExprRef half = b.cast(b.scalar(ScalarOp::RoundF16, {f}), DType::F16);
  EXPECT_EQ(text(half), "f16(round_f16(f))");
  EXPECT_EQ(text(std::get<Store>(b.store(memory, i(0), half)->node).value), "f16(f)");
  EXPECT_EQ(text(std::get<Store>(b.store(held, i(0), half)->node).value), "f16(round_f16(f))");
}

TEST_F(Build, ProductsDistributeOverConstants) {
  EXPECT_EQ(text(b.mul(b.add(x, i(3)), i(4))), "x * 4 + 12");
  EXPECT_EQ(text(b.mul(i(4), b.mul(x, i(3)))), "x * 12");
  EXPECT_EQ(text(b.mul(x, i(0))), "0");
  EXPECT_EQ(text(b.mul(i(1), x)), "x");
  EXPECT_EQ(text(b.mul(b.mul(x, i(-1)), i(-1))), "x");
  EXPECT_EQ(text(b.mul(b.add(x, y), i(2))), "(x + y) * 2");
}

TEST_F(Build, QuotientsAndRemainders) {
  const ExprRef x8 = b.mul(x, i(8));
  EXPECT_EQ(text(b.div(x8, i(8))), "x");
  EXPECT_EQ(text(b.mod(x8, i(8))), "0");
  EXPECT_EQ(text(b.div(x8, i(4))), "x * 2");
  EXPECT_EQ(text(b.div(b.add(x8, i(11)), i(8))), "x + 1");
  EXPECT_EQ(text(b.mod(b.add(x8, i(11)), i(8))), "3");
  EXPECT_EQ(text(b.div(b.add(x8, i(-3)), i(8))), "x - 1");
  EXPECT_EQ(text(b.mod(b.add(x8, i(-3)), i(8))), "5");
  EXPECT_EQ(text(b.div(x, i(1))), "x");
  EXPECT_EQ(text(b.mod(x, i(1))), "0");
  EXPECT_EQ(text(b.div(b.div(x, i(3)), i(5))), "x / 15");
  EXPECT_EQ(text(b.mod(b.mod(x, i(4)), i(8))), "x % 4");
  EXPECT_EQ(text(b.mod(b.mod(x, i(8)), i(4))), "x % 4");
  EXPECT_EQ(text(b.div(b.mod(x, i(4)), i(4))), "0");
  EXPECT_EQ(text(b.div(x, i(3))), "x / 3");
  EXPECT_EQ(text(b.div(i(7), i(2))), "3");
}

TEST_F(Build, DividingLoadedIntegersAssumesNoSign) {
  const BufferId data = b.buffer({.name = "d", .type = kInt, .elems = 4});
  const ExprRef loaded = b.load(data, i(0));
  EXPECT_EQ(text(b.div(b.add(b.mul(loaded, i(2)), i(1)), i(2))), "(d[0] * 2 + 1) / 2");
  const VarId var = b.variable("v", kInt);
  b.let(var, loaded);
  EXPECT_EQ(text(b.mod(b.add(b.mul(b.var(var), i(2)), i(1)), i(2))), "(v * 2 + 1) % 2");
  EXPECT_EQ(text(b.div(b.mul(b.var(var), i(2)), i(2))), "v");
}

TEST_F(Build, DivisionByZeroAndHugeConstantsStay) {
  EXPECT_EQ(text(b.div(i(7), i(0))), "7 / 0");
  EXPECT_EQ(text(b.mod(x, i(0))), "x % 0");
  const ExprRef huge = i(std::int64_t{1} << 52);
  EXPECT_EQ(text(b.mul(huge, i(1024))), "4503599627370496 * 1024");
  EXPECT_EQ(text(b.mul(b.add(x, huge), i(1024))), "(x + 4503599627370496) * 1024");
}

TEST_F(Build, OrderOfSums) {
  EXPECT_EQ(text(b.min(b.add(x, i(3)), b.add(x, i(5)))), "x + 3");
  EXPECT_EQ(text(b.max(b.add(x, i(3)), b.add(x, i(5)))), "x + 5");
  EXPECT_EQ(text(b.max(i(3), i(5))), "5");
  EXPECT_EQ(text(b.scalar(ScalarOp::Lt, {b.add(x, i(3)), b.add(x, i(5))})), "bool(1)");
  EXPECT_EQ(text(b.scalar(ScalarOp::Ge, {i(3), i(5)})), "bool(0)");
  EXPECT_EQ(text(b.scalar(ScalarOp::Lt, {x, y})), "x < y");
}

TEST_F(Build, Logic) {
  const ExprRef less = b.scalar(ScalarOp::Lt, {x, y});
  const ExprRef yes = b.real(1, {DType::Bool, 1});
  const ExprRef no = b.real(0, {DType::Bool, 1});
  EXPECT_EQ(b.logical_and(nullptr, less), less);
  EXPECT_EQ(b.logical_and(less, nullptr), less);
  EXPECT_EQ(b.logical_and(less, yes), less);
  EXPECT_EQ(b.logical_and(no, less), no);
  EXPECT_EQ(b.scalar(ScalarOp::Or, {less, yes}), yes);
  EXPECT_EQ(b.select(yes, x, y), x);
  EXPECT_EQ(b.select(no, x, y), y);
  EXPECT_EQ(text(b.select(less, b.real(1, {DType::F32, 4}), b.real(2, {DType::F32, 4}))),
            "select(broadcast(x < y, 4), f32x4(1), f32x4(2))");
}

TEST_F(Build, FloatsAreNotReassociatedOrDropped) {
  const ExprRef zero = b.real(0, kFloat);
  const ExprRef one = b.real(1, kFloat);
  EXPECT_EQ(text(b.add(b.add(f, one), one)), "f + f32(1) + f32(1)");
  EXPECT_EQ(text(b.mul(f, zero)), "f * f32(0)");
  EXPECT_EQ(text(b.add(f, zero)), "f + f32(0)");
  EXPECT_EQ(text(b.fma(f, zero, one)), "fma(f, f32(0), f32(1))");
}

TEST_F(Build, FloatConstantsFoldInTheirOwnPrecision) {
  const ExprRef tenth = b.real(0.1, kFloat);
  EXPECT_EQ(text(b.add(tenth, tenth)), text(b.real(static_cast<double>(0.1F + 0.1F), kFloat)));
  const ExprRef tiny = b.real(std::ldexp(1.0, -30), kFloat);
  const ExprRef one = b.real(1, kFloat);
  const ExprRef near = b.add(one, b.real(std::ldexp(1.0, -23), kFloat));
  EXPECT_EQ(text(b.fma(near, near, b.real(-1, kFloat))),
            text(b.real(static_cast<double>(std::fma(1 + 0x1p-23F, 1 + 0x1p-23F, -1.0F)), kFloat)));
  EXPECT_EQ(text(b.add(one, tiny)), "f32(1)");
  EXPECT_EQ(text(b.real(0.1, {DType::F16, 1})), "f16(0.099975586)");
}

TEST_F(Build, CastsAndBroadcasts) {
  EXPECT_EQ(b.cast(f, DType::F32), f);
  EXPECT_EQ(text(b.cast(b.real(-2.7, kFloat), DType::I32)), "-2");
  EXPECT_EQ(text(b.cast(b.real(1e9, kFloat), DType::I8)), "i8(127)");
  EXPECT_EQ(text(b.cast(f, DType::F16)), "f16(f)");
  EXPECT_EQ(b.broadcast(f, 1), f);
  EXPECT_EQ(text(b.broadcast(b.real(2, kFloat), 8)), "f32x8(2)");
}

TEST_F(Build, AccessesWithConstantValid) {
  const BufferId data = b.buffer({.name = "d", .type = kFloat, .elems = 64, .written = true});
  EXPECT_EQ(text(b.load(data, x, 8, 1, i(8))), "d[x .. 8]");
  EXPECT_EQ(text(b.load(data, x, 8, 1, i(0), 5)), "f32x8(5)");
  EXPECT_EQ(text(b.load(data, x, 8, 2, i(3), 5)), "d[x .. 8 : 2 valid 3 fill 5]");
  EXPECT_EQ(to_text(kernel, b.store(data, x, b.real(1, {DType::F32, 8}), 1, i(-1))), "");
}

TEST_F(Build, ControlFlowWithConstants) {
  const BufferId data = b.buffer({.name = "d", .type = kInt, .elems = 64, .written = true});
  const StmtRef one = b.store(data, x, i(1));
  const StmtRef two = b.store(data, x, i(2));
  const VarId k = b.variable("k", kInt);
  EXPECT_EQ(to_text(kernel, b.loop(k, ForKind::Serial, i(4), i(4), 1, one)), "");
  EXPECT_EQ(to_text(kernel, b.loop(k, ForKind::Serial, i(0), i(4), 2, one)),
            "for k in 0..4 step 2 {\n  d[x] = 1\n}\n");
  EXPECT_EQ(to_text(kernel, b.branch(b.real(1, {DType::Bool, 1}), one, two)), "d[x] = 1\n");
  EXPECT_EQ(to_text(kernel, b.branch(b.real(0, {DType::Bool, 1}), one, two)), "d[x] = 2\n");
  EXPECT_EQ(to_text(kernel, b.branch(b.real(0, {DType::Bool, 1}), one)), "");
  EXPECT_EQ(to_text(kernel, b.branch(nullptr, one, two)), "d[x] = 1\n");
  EXPECT_EQ(to_text(kernel, b.block({one, nullptr, b.block({two, b.block({one})})})),
            "d[x] = 1\nd[x] = 2\nd[x] = 1\n");
}

TEST_F(Build, NamesAreIdentifiersAndUnique) {
  const auto name = [&](std::string wanted) {
    return kernel[b.variable(std::move(wanted), kInt)].name;
  };
  EXPECT_EQ(name("p"), "p");
  EXPECT_EQ(name("p"), "p_1");
  EXPECT_EQ(name("p_2"), "p_2");
  EXPECT_EQ(name("p"), "p_3");
  EXPECT_EQ(name("block"), "v_block");
  EXPECT_EQ(name("a\"; b"), "a___b");
  EXPECT_EQ(name(""), "v_");
  EXPECT_EQ(name("9"), "v_9");
}

TEST_F(Build, TypeMistakesAbort) {
  EXPECT_DEATH(b.add(x, f), "add needs equal types; got i32, f32");
  EXPECT_DEATH(b.fma(x, x, x), "fma needs one floating-point type");
  EXPECT_DEATH(b.scalar(ScalarOp::Select, {x, x, x}), "select needs a bool condition");
}

// Random index arithmetic: what folding gives equals plain evaluation, for values where nothing is
// divided below zero.
class Random {
public:
  Random(Builder &builder, std::vector<VarId> vars, unsigned seed)
      : b_(builder), vars_(std::move(vars)), engine_(seed) {}

  struct Pair {
    ExprRef folded;
    std::int64_t value;
  };

  Pair make(int depth, const std::vector<std::int64_t> &values) {
    if (depth == 0)
      return leaf(values);
    const Pair a = make(depth - 1, values);
    const Pair c = make(static_cast<int>(engine_() % static_cast<unsigned>(depth)), values);
    const auto by = static_cast<std::int64_t>(1 + engine_() % 12);
    switch (engine_() % 8) {
    case 0:
    case 1:
      return {b_.add(a.folded, c.folded), a.value + c.value};
    case 2:
      return {b_.sub(a.folded, c.folded), a.value - c.value};
    case 3:
      return {b_.mul(a.folded, b_.integer(by)), a.value * by};
    case 4:
      return a.value < 0 ? a : Pair{b_.div(a.folded, b_.integer(by)), a.value / by};
    case 5:
      return a.value < 0 ? a : Pair{b_.mod(a.folded, b_.integer(by)), a.value % by};
    case 6:
      return {b_.min(a.folded, c.folded), std::min(a.value, c.value)};
    default:
      return {b_.max(a.folded, c.folded), std::max(a.value, c.value)};
    }
  }

private:
  Pair leaf(const std::vector<std::int64_t> &values) {
    const std::size_t pick = engine_() % (values.size() + 1);
    if (pick < values.size())
      return {b_.var(vars_[pick]), values[pick]};
    const auto value = static_cast<std::int64_t>(engine_() % 9);
    return {b_.integer(value), value};
  }

  Builder &b_;
  std::vector<VarId> vars_;
  std::mt19937 engine_;
};

TEST(BuildRandom, FoldingKeepsTheValueAndTheTextComesBack) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    Kernel kernel;
    Builder b(kernel);
    const BufferId in = b.buffer({.name = "in", .type = kInt, .elems = 3});
    const BufferId out =
        b.buffer({.name = "out", .type = {DType::I64, 1}, .elems = 1, .written = true});
    std::vector<StmtRef> body;
    std::vector<VarId> vars;
    std::vector<std::int64_t> values;
    for (int k = 0; k < 3; ++k) {
      const auto value =
          static_cast<std::int64_t>((seed * 7U + static_cast<unsigned>(k) * 5U) % 23U);
      vars.push_back(b.variable("v", kInt));
      values.push_back(value);
    }
    // Loops of one trip define the variables: their values are not constants to the folding.
    const Random::Pair pair = Random(b, vars, seed).make(4, values);
    StmtRef inner = b.store(out, b.integer(0), b.cast(pair.folded, DType::I64));
    for (int k = 2; k >= 0; --k) {
      const ExprRef begin = b.load(in, b.integer(k));
      inner = b.loop(vars[at(k)], ForKind::Serial, begin, b.add(begin, b.integer(1)), 1, inner);
    }
    kernel.body = b.block({inner});

    std::vector<std::int32_t> input;
    for (const std::int64_t value : values)
      input.push_back(static_cast<std::int32_t>(value));
    std::int64_t result = -1;
    const std::vector<std::span<std::byte>> args = {std::as_writable_bytes(std::span(input)),
                                                    std::as_writable_bytes(std::span(&result, 1))};
    simulate(kernel, args);
    ASSERT_EQ(result, pair.value) << "seed " << seed << "\n" << to_text(kernel);
    ASSERT_EQ(to_text(parse_kernel(to_text(kernel))), to_text(kernel)) << seed;
  }
}

} // namespace
} // namespace tilefuse::kernel
