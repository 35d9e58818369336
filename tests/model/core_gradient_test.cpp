// SPDX-License-Identifier: Apache-2.0
// Gradients of convolutions on matrix instructions, simulated: the input's, whose filter lies
// turned, with a stride by residue classes; the filter's, whose reduction runs over pixels of
// images and errors that both lie turned. And matrix products with operands in either order.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "model/conv_gradient.h"
#include "model/core_cases.h"
#include "model/oracle/check.h"
#include "schedule/text.h"
#include "search/pick.h"

namespace tilefuse::model {
namespace {

std::vector<GradientConv> problems() {
  std::vector<GradientConv> list(12);
  list[1].stride = 2;
  list[2] = {.h = 8, .w = 8, .c = 64, .k = 72, .r = 1, .s = 1, .pad = 0};
  list[3] = {.n = 3, .h = 7, .w = 7, .c = 48, .k = 40, .dilation = 2, .pad = 2};
  list[4] = {.h = 8, .w = 11, .c = 20, .k = 18, .r = 5, .s = 2, .stride = 3};
  list[5] = {.c = 6, .k = 10}; // copies of 4 bytes
  list[6].type = "bf16";
  list[7] = {.n = 2, .h = 14, .w = 14, .c = 136, .k = 200};
  list[8] = {.n = 5, .h = 1, .w = 13, .c = 24, .k = 64, .r = 1, .s = 5, .pad = 2};
  list[9] = {.n = 40, .h = 3, .w = 3, .c = 32, .k = 32};
  list[10] = {.h = 12, .w = 12, .c = 16, .k = 32, .r = 1, .s = 1, .stride = 2, .pad = 0};
  list[11] = {.n = 2, .h = 11, .w = 6, .c = 40, .k = 24, .r = 7, .s = 3, .stride = 2, .pad = 3};
  return list;
}

// f32 operands are rounded to tf32, which small integers survive.
std::vector<schedule::Schedule> core_schedules_of(const nest::Nest &nest, const Target &target) {
  return search::core_schedules(nest, target, nest.slots[0].type == DType::F32);
}

// Every `each`-th tile of each nest that a matrix instruction computes.
int check_tiles(const std::vector<poly::Group> &groups, std::size_t each) {
  const Target target = sm80();
  int checked = 0;
  for (const poly::Group &group : groups) {
    if (group.anchor.inputs.empty()) // elements that nothing contributes to
      continue;
    checked += check_schedules(group, target, core_schedules_of(group.anchor, target), each);
  }
  return checked;
}

TEST(CoreGradient, InputGradientsAreExact) {
  for (const GradientConv &problem : problems()) {
    const std::vector<poly::Group> groups = gradients(problem, By::Input);
    EXPECT_GT(check_tiles(groups, 17), 0) << to_text(groups.front().anchor);
  }
}

TEST(CoreGradient, FilterGradientsAreExact) {
  for (const GradientConv &problem : problems()) {
    const std::vector<poly::Group> groups = gradients(problem, By::Filter);
    EXPECT_GT(check_tiles(groups, 17), 0) << to_text(groups.front().anchor);
  }
}

TEST(CoreGradient, NothingMeetsInABank) {
  const Target target = sm80();
  for (const char *type : {"f16", "f32"})
    for (const By by : {By::Input, By::Filter})
      for (const poly::Group &group : gradients({.h = 5, .c = 64, .k = 64, .type = type}, by))
        for (const auto &schedule : testing::sampled(core_schedules_of(group.anchor, target)))
          EXPECT_EQ(bank_conflicts(counts_of(group, schedule, target)), "")
              << to_text(group.anchor, schedule);
}

TEST(CoreGradient, NothingIsDividedInTheMainLoop) {
  const Target target = sm80();
  for (const By by : {By::Input, By::Filter})
    for (const poly::Group &group : gradients({.c = 64, .k = 64, .stride = 2}, by)) {
      const auto all = search::core_schedules(group.anchor, target, false);
      ASSERT_FALSE(all.empty());
      const LoopCounts counts = loop_counts(lower::lower(group, all.front(), target));
      EXPECT_EQ(counts.loops, 1);
      EXPECT_EQ(counts.divisions, 0);
    }
}

// Operands by rows or by columns: [m][k] or [k][m] times [k][n] or [n][k].
TEST(CoreGradient, MatrixProductsOfAnyOrder) {
  for (const char *type : {"f16", "f32"})
    for (const char *a : {"m:72*40, k:40*1", "k:40*72, m:72*1"})
      for (const char *b : {"n:48*40, k:40*1", "k:40*48, n:48*1"}) {
        const poly::Group group{nest::parse_nest(
            fmt::format("nest gemm {{\n  index m 72, n 48 | k 40\n"
                        "  slot 0 {0} 2880, 1 {0} 1920, 2 f32 3456\n  acc f32 = sum mul\n"
                        "  in 0 + 0 [{1}]\n  in 1 + 0 [{2}]\n  out 2 + 0 [m:72*48, n:48*1]\n"
                        "  post acc\n}}\n",
                        type, a, b))};
        EXPECT_GT(check_tiles({group}, 9), 0) << to_text(group.anchor);
      }
}

// Words of 4 bytes are turned by loads; a vector of a work-item's results never waits in local
// memory.
TEST(CoreGradient, WordsAreTurnedByLoads) {
  const Target target = sm80();
  for (GradientConv problem : problems()) {
    problem.type = "f32";
    for (const By by : {By::Input, By::Filter}) {
      const std::vector<poly::Group> groups = gradients(problem, by);
      EXPECT_GT(check_tiles(groups, 17), 0) << to_text(groups.front().anchor);
    }
  }
}

// Where the nest says that its products may be rounded, and nowhere else.
TEST(CoreGradient, SearchRoundsWhatMayBe) {
  const Target target = h200();
  for (const By by : {By::Input, By::Filter}) {
    poly::Group group =
        gradients({.n = 8, .h = 14, .w = 14, .c = 64, .k = 64, .type = "f32"}, by).front();
    EXPECT_FALSE(has_core(search::pick(group.anchor, target)));
    group.anchor.tf32 = true;
    EXPECT_TRUE(has_core(search::pick(group.anchor, target))) << to_text(group.anchor);
  }
}

} // namespace
} // namespace tilefuse::model
