// SPDX-License-Identifier: Apache-2.0
// Kernels of contractions with rational and compound subscripts: exact, and without a division or
// modulo where time is spent.
#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "base/index.h"
#include "kernel/simulate.h"
#include "kernel/text/text.h"
#include "kernel/walk.h"
#include "lower/pipeline.h"
#include "lower/random_nests.h"
#include "nest/flatten/flatten.h"
#include "nest/flatten/merge.h"
#include "nest/random_contraction.h"
#include "schedule/staging.h"
#include "schedule/text.h"
#include "search/pick.h"
#include "target/rows.h"

namespace tilefuse {
namespace {

using Slots = std::vector<std::vector<std::byte>>;

Target vector_target() {
  return {.name = "test_vector",
          .backend = "llvm",
          .lanes = LaneKind::Vector,
          .vector_f32 = 8,
          .local_bytes = 1 << 20,
          .features = {Feature::PrefetchHints}};
}

Target work_item_target() {
  return testing::with_row({.name = "test_groups",
                            .backend = "opencl",
                            .lanes = LaneKind::WorkItem,
                            .vector_f32 = 32,
                            .vector_registers = 255,
                            .max_group = 256,
                            .local_bytes = 48 << 10},
                           "opencl_gpu");
}

std::vector<std::span<std::byte>> spans(Slots &slots) {
  std::vector<std::span<std::byte>> all;
  for (std::vector<std::byte> &slot : slots)
    all.emplace_back(slot);
  return all;
}

// Small integers; of a product ones and minus ones, which stay exact in f32.
Slots values(const nest::Nest &nest, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> any(-3, 3);
  Slots slots;
  for (const nest::Slot &slot : nest.slots) {
    slots.emplace_back(static_cast<std::size_t>(slot.elems * size_bytes(slot.type)));
    for (std::int64_t i = 0; i < slot.elems; ++i) {
      const int value = any(random);
      store_element(slots.back().data(), slot.type, i,
                    nest.agg == program::Agg::Product ? (value < 0 ? -1 : 1) : value);
    }
  }
  return slots;
}

void check(const nest::Nest &nest, const schedule::Schedule &schedule, const Target &target,
           unsigned seed) {
  SCOPED_TRACE(nest::to_text(nest) + schedule::to_text(nest, schedule));
  const kernel::Kernel kernel = lower::lower({nest}, schedule, target);
  Slots expected = values(nest, seed);
  Slots actual = expected;
  nest::evaluate(nest, spans(expected));
  std::vector<std::span<std::byte>> args;
  for (const schedule::KernelArg &arg : kernel_args(nest, schedule))
    args.emplace_back(actual[at(arg.slot.value())]);
  kernel::simulate(kernel, args);
  EXPECT_EQ(actual, expected);
}

TEST(Contractions, KernelsOfRandomOnesAreExact) {
  int nests = 0;
  for (unsigned seed = 1; seed <= 200 && !HasFailure(); ++seed) {
    const test::RandomContraction contraction = test::random_contraction(seed);
    std::vector<nest::FlatStatement> flats;
    try {
      flats = nest::flatten(contraction.stored, contraction.stored.program.statements[0]);
    } catch (const Error &) {
      continue;
    }
    if (contraction.body().agg == program::Agg::Product &&
        contraction.body().comb == program::Comb::Add)
      continue; // sums of two are no units, and their products leave the type
    if (flats.size() > 8)
      flats.resize(8);
    for (const nest::FlatStatement &flat : flats) {
      const nest::Nest merged = nest::merge_indices(flat.nest);
      SCOPED_TRACE("seed " + std::to_string(seed));
      for (const Target &target : {vector_target(), work_item_target()})
        check(merged, search::pick(merged, target), target, seed);
      check(merged, schedule::scalar_schedule(merged), vector_target(), seed);
      ++nests;
    }
  }
  EXPECT_GT(nests, 200);
}

// Integer divisions and remainders inside a loop.
int divisions_in_loops(const kernel::Kernel &kernel) {
  int count = 0;
  kernel::for_each_stmt(kernel.body, [&](kernel::StmtRef stmt) {
    const auto *loop = std::get_if<kernel::For>(&stmt->node);
    if (!loop)
      return;
    kernel::for_each_expr(loop->body, [&](kernel::ExprRef expr) {
      const auto *scalar = std::get_if<kernel::Scalar>(&expr->node);
      count += scalar && !is_float(expr->type.elem) &&
                       (scalar->op == ScalarOp::Div || scalar->op == ScalarOp::Mod)
                   ? 1
                   : 0;
    });
  });
  return count;
}

// The input gradient of a convolution is the transposed one, its result in channels-last or
// row-major order.
program::StoredProgram transposed(int taps, int stride, int dilation, bool channels_last) {
  const int size = 6;
  const int result = (size - 1) * stride + (taps - 1) * dilation + 1 - 2;
  const program::Program program = program::parse_program(fmt::format(
      R"(program "t" {{
    input %0 "I" : f32[2, 8, {0}, {0}]
    input %1 "K" : f32[8, 20, {1}, {1}]
    %2 "O" : f32[2, 20, {2}, {2}] = sum[n, c, y, x, m, r, s](%0[n, c, y, x] * %1[c, m, r, s]) -> [n, m, {3}*y + {4}*r - 1, {3}*x + {4}*s - 1]
    output %2 }})",
      size, taps, result, stride, dilation));
  program::StoredProgram stored = test::row_major_storage(program);
  if (channels_last)
    for (const int tensor : {0, 2}) {
      const program::Shape &shape = program.tensors[at(tensor)].shape;
      stored.windows[at(tensor)].strides = {shape[1] * shape[2] * shape[3], 1, shape[1] * shape[3],
                                            shape[1]};
    }
  return stored;
}

TEST(Contractions, TransposedConvolutionsDivideInNoLoop) {
  for (const int taps : {1, 3, 4, 5})
    for (const int stride : {2, 3})
      for (const int dilation : {1, 2})
        for (const bool channels_last : {false, true}) {
          const program::StoredProgram stored = transposed(taps, stride, dilation, channels_last);
          for (const nest::FlatStatement &flat :
               nest::flatten(stored, stored.program.statements[0])) {
            const nest::Nest nest = nest::merge_indices(flat.nest);
            for (const Target &target : {vector_target(), work_item_target()}) {
              const schedule::Schedule schedule = search::pick(nest, target);
              const kernel::Kernel kernel = lower::lower({nest}, schedule, target);
              EXPECT_EQ(divisions_in_loops(kernel), 0) << kernel::to_text(kernel);
              check(nest, schedule, target, 1);
            }
          }
        }
}

TEST(Contractions, DivisionsInLoopsAreSeen) {
  kernel::Kernel kernel;
  kernel::Builder b(kernel);
  const kernel::BufferId out =
      b.buffer({.name = "b0", .space = kernel::Space::Global, .elems = 8, .written = true});
  const kernel::VarId i = b.variable("i", {});
  const kernel::ExprRef half = b.div(b.var(i), b.integer(3));
  kernel.body = b.loop(i, kernel::ForKind::Serial, b.integer(0), b.integer(8), 1,
                       b.store(out, half, b.real(1, {})));
  EXPECT_EQ(divisions_in_loops(kernel), 1);
}

} // namespace
} // namespace tilefuse
