// SPDX-License-Identifier: Apache-2.0
// Kernels that read where tensors of positions say, inside and outside of what they read: exact, by
// the chosen schedule and by random ones.
#include <gtest/gtest.h>

#include <random>

#include "base/index.h"
#include "base/random.h"
#include "kernel/simulate.h"
#include "lower/pipeline.h"
#include "nest/flatten/flatten.h"
#include "nest/flatten/merge.h"
#include "nest/stored.h"
#include "schedule/staging.h"
#include "schedule/text.h"
#include "search/pick.h"
#include "search/sample.h"
#include "target/rows.h"

namespace tilefuse {
namespace {

using Slots = std::vector<std::vector<std::byte>>;

constexpr const char *kPrograms[] = {
    // rows; an element each; taps of pictures with weights; positions of eight bytes and of one
    R"(program "rows" { input %0 "X" : f32[2, 5, 19] input %1 "J" : i32[7]
    %2 "Y" : f32[2, 7, 19] = sum[o, a, i, e](%0[o, a, i] at a == %1[e]) -> [o, e, i] output %2 })",
    R"(program "each" { input %0 "X" : i32[3, 4, 9] input %1 "J" : i64[3, 6, 9]
    %2 "Y" : i32[3, 6, 9] = sum[o, a, i, e](%0[o, a, i] at a == %1[o, e, i]) -> [o, e, i] output %2 })",
    R"(program "taps" { input %0 "X" : f32[2, 8, 3, 4] input %1 "W" : f32[2, 11, 2, 2]
    input %2 "I" : i32[2, 11, 2] input %3 "J" : i32[2, 11, 2]
    %4 "Y" : f32[2, 8, 11] = sum[n, c, y, x, p, s, t](%0[n, c, y, x] * %1[n, p, s, t] at y == %2[n, p, s], x == %3[n, p, t]) -> [n, c, p] output %4 })",
    R"(program "constants" { input %0 "X" : f32[2, 4, 3, 4] const %1 "W" : f32[24, 2]
    const %2 "I" : i32[24, 2]
    %3 "Y" : f32[2, 4, 3, 24] = sum[n, c, y, x, p, t](%0[n, c, y, x] * %1[p, t] at x == %2[p, t]) -> [n, c, y, p] output %3 })",
    R"(program "bytes" { input %0 "X" : f16[6, 8] input %1 "J" : i8[5]
    %2 "Y" : f16[5, 8] = sum[a, i, e](%0[a, i] at a == %1[e]) -> [e, i] output %2 })",
};

Target vector_target() {
  return {.name = "test_vector",
          .backend = "llvm",
          .lanes = LaneKind::Vector,
          .vector_f32 = 8,
          .local_bytes = 1 << 20};
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

std::vector<std::span<std::byte>> spans(Slots &slots) { return {slots.begin(), slots.end()}; }

Slots small_integers(const nest::Nest &nest, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> any(-2, 6);
  Slots slots;
  for (const nest::Slot &slot : nest.slots) {
    slots.emplace_back(static_cast<std::size_t>(slot.elems * size_bytes(slot.type)));
    for (std::int64_t i = 0; i < slot.elems; ++i)
      store_element(slots.back().data(), slot.type, i, any(random));
  }
  return slots;
}

void check(const nest::Nest &nest, const schedule::Schedule &schedule, const Target &target) {
  SCOPED_TRACE(nest::to_text(nest) + schedule::to_text(nest, schedule));
  const kernel::Kernel kernel = lower::lower({nest}, schedule, target);
  Slots expected = small_integers(nest, 1);
  Slots actual = expected;
  nest::evaluate(nest, spans(expected));
  std::vector<std::span<std::byte>> args;
  for (const schedule::KernelArg &arg : kernel_args(nest, schedule))
    args.emplace_back(actual[at(arg.slot.value())]);
  kernel::simulate(kernel, args);
  EXPECT_EQ(actual, expected);
}

class Picks : public ::testing::TestWithParam<const char *> {};

TEST_P(Picks, print_parse_and_are_exact_by_any_schedule) {
  const program::Program program = program::parse_program(GetParam());
  EXPECT_EQ(program::to_text(program::parse_program(program::to_text(program))),
            program::to_text(program));
  const program::StoredProgram stored = test::row_major_storage(program);
  Random random(1);
  for (const nest::FlatStatement &flat : nest::flatten(stored, program.statements[0])) {
    const nest::Nest nest = nest::merge_indices(flat.nest);
    EXPECT_EQ(nest::parse_nest(nest::to_text(nest)), nest);
    for (const Target &target : {vector_target(), work_item_target()}) {
      check(nest, search::pick(nest, target), target);
      for (int i = 0; i < 20; ++i)
        if (const auto schedule = search::sample(nest, target, random))
          check(nest, *schedule, target);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, Picks, ::testing::ValuesIn(kPrograms));

} // namespace
} // namespace tilefuse
