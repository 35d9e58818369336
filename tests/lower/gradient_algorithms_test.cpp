// SPDX-License-Identifier: Apache-2.0
// Every named algorithm on the gradients of awkward convolutions, strided ones by residue classes:
// the simulator against the nest evaluator, small integers, exact.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "lower/algorithm_cases.h"
#include "model/compile.h"
#include "model/passes.h"
#include "poly/group.h"
#include "poly/post_ops.h"
#include "program/gradient/gradient.h"
#include "program/storage/storage.h"
#include "schedule/legal.h"
#include "schedule/text.h"
#include "search/forms/algorithms.h"
#include "search/forms/fma_forms.h"
#include "search/forms/named_schedule.h"

namespace tilefuse {
namespace {

using testing::ConvShape;

std::string along(const ConvShape &s, char point, char tap) {
  return fmt::format("{}*{} + {}*{} - {}", s.stride, point, s.dilation, tap, s.before);
}

std::string program_text(const ConvShape &s) {
  const auto points = [&](std::int64_t size) {
    return (size + s.before + s.after - s.dilation * (s.kernel - 1) - 1) / s.stride + 1;
  };
  return fmt::format(
      "program \"conv\" {{\n  input %0 \"I\" : f32[{0}, {1}, {2}, {3}]\n"
      "  input %1 \"K\" : f32[{4}, {5}, {5}, {3}]\n"
      "  %2 \"O\" : f32[{0}, {6}, {7}, {4}] = sum[n, y, x, m, r, s, c](%0[n, {8}, {9}, c] * "
      "%1[m, r, s, c]) -> [n, y, x, m] from \"test\"\n  output %2\n}}\n",
      s.images, s.height, s.width, s.inputs, s.outputs, s.kernel, points(s.height), points(s.width),
      along(s, 'y', 'r'), along(s, 'x', 's'));
}

// The products among the kernels of the gradient by operand `by`.
std::vector<nest::Nest> gradient_nests(const ConvShape &shape, std::size_t by) {
  program::Program program = program::parse_program(program_text(shape));
  program = program::gradient(program, {.by = {program.inputs[by]}});
  const program::StoredProgram stored = program::assign_storage(model::simplify(program));
  std::vector<nest::Nest> nests;
  for (const poly::PlacedGroup &placed : poly::make_groups(stored))
    if (placed.group.anchor.inputs.size() == 2)
      nests.push_back(placed.group.anchor);
  return nests;
}

struct Case {
  nest::Nest nest;
  Target target;
  std::vector<std::vector<std::byte>> slots;
  std::vector<std::byte> expected;
};

Case case_of(const nest::Nest &nest) {
  testing::Random random(7);
  Case result{nest, testing::group_test_target(), testing::integer_slots(random, nest), {}};
  result.expected = testing::evaluated(nest, result.slots);
  return result;
}

void expect_exact(const Case &of, const schedule::Schedule &schedule, const Target &target) {
  SCOPED_TRACE(nest::to_text(of.nest) + schedule::to_text(of.nest, schedule));
  ASSERT_EQ(schedule::parse_schedule(of.nest, schedule::to_text(of.nest, schedule)), schedule);
  ASSERT_EQ(testing::simulated(of.nest, schedule, target, of.slots), of.expected);
}

TEST(GradientAlgorithms, AreExactOnAwkwardShapes) {
  std::map<std::string, int> fitted;
  for (const ConvShape &shape : testing::awkward_shapes())
    for (const std::size_t by : {0, 1})
      for (const nest::Nest &nest :
           shape.groups > 1 ? std::vector<nest::Nest>{} : gradient_nests(shape, by)) {
        const Case of = case_of(nest);
        for (const std::string &name : search::algorithm_names()) {
          if (name.starts_with("mma") || name.starts_with("wgmma"))
            continue; // core_gradient_test.cpp, wgmma_test.cpp
          const Target target = name == "cpu" ? testing::vector_test_target() : of.target;
          const search::NamedSchedule named = search::named_schedule(name, nest, target);
          if (!named.schedule)
            continue;
          ++fitted[name + (by == 0 ? " by data" : " by filter")];
          expect_exact(of, *named.schedule, target);
        }
      }
  for (const char *name : {"direct", "direct_cached", "ilpm", "plaidml", "igemm", "cpu"})
    for (const char *by : {" by data", " by filter"})
      EXPECT_GE(fitted[std::string(name) + by], 8) << name << by;
}

// Two and more taps of a filter as copies of one work-item, lanes over what is left of them.
TEST(GradientAlgorithms, TapsSideBySideAreExact) {
  int checked = 0;
  for (const ConvShape &shape : testing::awkward_shapes()) {
    if (shape.groups > 1 || shape.kernel == 1)
      continue;
    const Case of = case_of(gradient_nests(shape, 1).front());
    for (const std::int64_t next : {2, 3, 7})
      for (const std::int64_t lanes : {4, 32}) {
        const search::FormSizes sizes = {.channel_lanes = lanes,
                                         .channel_keep = 1,
                                         .next_keep = next,
                                         .pixel_lanes = 4,
                                         .pixel_keep = 4,
                                         .depth = 4,
                                         .near = lanes == 4};
        const search::NamedSchedule named = search::form("igemm", of.nest, of.target, sizes);
        if (!named.schedule || schedule::illegal(of.nest, *named.schedule, of.target))
          continue;
        ++checked;
        expect_exact(of, *named.schedule, of.target);
      }
  }
  EXPECT_GE(checked, 40);
}

} // namespace
} // namespace tilefuse
