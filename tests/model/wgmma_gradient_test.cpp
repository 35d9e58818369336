// SPDX-License-Identifier: Apache-2.0
// Gradients of convolutions with wgmma, simulated: the input's, whose filter lies turned, with a
// stride by residue classes; the filter's, whose inputs both do, whole and in parts.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "model/conv_gradient.h"
#include "model/core_cases.h"
#include "model/oracle/check.h"
#include "nest/flatten/split.h"
#include "nest/index.h"
#include "schedule/legal.h"
#include "search/forms/core_forms.h"

namespace tilefuse::model {
namespace {

std::vector<GradientConv> problems() {
  std::vector<GradientConv> list(8);
  list[0] = {.n = 2, .c = 64, .k = 64};
  list[1] = {.n = 2, .h = 8, .w = 8, .c = 64, .k = 72, .r = 1, .s = 1, .pad = 0};
  list[2] = {.n = 3, .h = 7, .w = 7, .c = 48, .k = 40, .dilation = 2, .pad = 2};
  list[3] = {.n = 4, .h = 8, .w = 11, .c = 128, .k = 64, .stride = 2};
  list[4] = {.n = 3, .h = 9, .w = 11, .c = 80, .k = 56, .r = 5, .s = 2, .stride = 3};
  list[5] = {.n = 2, .c = 64, .k = 136, .type = "bf16"};
  list[6] = {.n = 12, .h = 1, .w = 16, .c = 64, .k = 64, .r = 1, .s = 5, .pad = 2};
  list[7] = {.n = 2, .h = 11, .w = 6, .c = 72, .k = 64, .r = 7, .s = 3, .stride = 2, .pad = 3};
  return list;
}

// Every third tile of each nest that wgmma computes.
int check_tiles(const nest::Nest &nest) {
  const Target target = sm90();
  const bool tf32 = nest.slots[0].type == DType::F32;
  return check_schedules({nest}, target, search::wgmma_schedules(nest, target, tf32), 3);
}

TEST(WgmmaGradient, InputGradientsAreExact) {
  for (const GradientConv &problem : problems()) {
    int checked = 0;
    for (const poly::Group &group : gradients(problem, By::Input))
      if (!group.anchor.inputs.empty()) // not of elements that nothing contributes to
        checked += check_tiles(group.anchor);
    EXPECT_GT(checked, 0) << to_text(gradients(problem, By::Input).front().anchor);
  }
}

TEST(WgmmaGradient, FilterGradientsAreExact) {
  for (const GradientConv &problem : problems()) {
    const nest::Nest nest = gradients(problem, By::Filter).front().anchor;
    EXPECT_GT(check_tiles(nest), 0) << to_text(nest);
  }
}

// Words of 4 bytes that b reads are turned in the ring, by one group of warps or two in turn, and those of
// a loaded into registers;
// f32 operands are rounded to tf32, which small integers survive. Panels are of 32 channels.
TEST(WgmmaGradient, WordsAreTurnedInTheRing) {
  for (GradientConv problem : problems()) {
    problem.type = "f32";
    for (const By by : {By::Input, By::Filter}) {
      int checked = 0;
      for (const poly::Group &group : gradients(problem, by))
        if (!group.anchor.inputs.empty())
          checked += check_tiles(group.anchor);
      EXPECT_GT(checked, 0) << to_text(gradients(problem, by).front().anchor);
    }
  }
}

// A block turns its own copy of what others of its cluster brought, or its part of a tile's steps.
TEST(WgmmaGradient, WordsAreTurnedInClusters) {
  int of_clusters = 0, of_parts = 0;
  for (const By by : {By::Input, By::Filter}) {
    const nest::Nest nest =
        gradients({.n = 3, .c = 128, .k = 128, .type = "f32"}, by).front().anchor;
    std::vector<schedule::Schedule> clusters, parts;
    for (const schedule::Schedule &each : search::wgmma_schedules(nest, sm90(), true)) {
      for (const auto &[rows, columns] : {std::pair{2, 1}, {1, 2}, {2, 2}})
        if (auto one = search::with_cluster(nest, each, sm90(), rows, columns))
          clusters.push_back(*std::move(one));
      schedule::Schedule split = each;
      split.tiles.split_k = 2;
      split.tiles.persistent = 0;
      if (!illegal(nest, split, sm90()))
        parts.push_back(std::move(split));
    }
    of_clusters += check_schedules({nest}, sm90(), clusters, 5);
    of_parts += check_schedules({nest}, sm90(), parts, 5);
  }
  EXPECT_GT(of_clusters, 0);
  EXPECT_GT(of_parts, 0);
}

TEST(WgmmaGradient, NothingThatIsTurnedMeetsInABank) {
  for (const By by : {By::Input, By::Filter})
    for (const poly::Group &group : gradients({.h = 5, .c = 64, .k = 64, .type = "f32"}, by)) {
      const auto all = search::wgmma_schedules(group.anchor, sm90(), true);
      ASSERT_FALSE(all.empty());
      for (const schedule::Schedule &schedule : testing::sampled(all)) {
        const schedule::Gemm gemm = gemm_of(group.anchor, schedule);
        EXPECT_TRUE(turns_in_ring(gemm) || a_in_registers(gemm));
        if (a_in_registers(gemm) && !deals_points(gemm)) // beside a straight b: two meet
          continue;
        EXPECT_EQ(bank_conflicts(counts_of(group, schedule, sm90())), "") << to_text(group.anchor);
      }
    }
}

// Neighbouring taps read one window (`step_halo`), of lines as long as any of them reads: padded and
// not, dilated, of one line and of many, of as many taps as an instruction has columns for, of parts
// that end with a step.
TEST(WgmmaGradient, TapsThatShareAWindowAreExact) {
  std::vector<GradientConv> list(7);
  list[0] = {.n = 2, .c = 64, .k = 64};
  list[1] = {.n = 3, .h = 7, .w = 7, .c = 48, .k = 40, .dilation = 2, .pad = 2};
  list[2] = {.n = 4, .h = 7, .w = 9, .c = 72, .k = 136, .s = 2, .pad = 0, .type = "bf16"};
  list[3] = {.n = 12, .h = 1, .w = 16, .c = 64, .k = 64, .r = 1, .s = 4, .pad = 2};
  list[4] = {.n = 5, .h = 11, .w = 6, .c = 16, .k = 16, .r = 5, .s = 3, .pad = 1};
  list[5] = {.n = 1, .h = 3, .w = 70, .c = 136, .k = 64};
  list[6] = {.n = 2, .h = 8, .w = 16, .c = 32, .k = 32, .type = "bf16"};
  for (const GradientConv &problem : list) {
    const nest::Nest nest = gradients(problem, By::Filter).front().anchor;
    const Target target = sm90();
    int checked = 0;
    std::vector<nest::Nest> nests = {nest};
    for (const nest::IndexId i : nest::reduced_indices(nest))
      if (nest::extent(nest, i) == problem.n && problem.n % 2 == 0)
        nests.push_back(nest::split_reduction(nest, {{i, 2}}).partial);
    for (const nest::Nest &each : nests) {
      std::vector<schedule::Schedule> all = search::wgmma_schedules(each, target, false);
      std::erase_if(all, [&](const schedule::Schedule &schedule) {
        return gemm_of(each, schedule).halo.taps == 1;
      });
      EXPECT_FALSE(all.empty())
          << to_text(each) << search::named_core_schedule("wgmma_step_halo", each, target).refusal;
      checked += check_schedules({each}, target, all, 1);
    }
    EXPECT_GT(checked, 0);
  }
}

// Of an input gradient in f32 with a post-op: what warps exchange is no result yet, of any type.
TEST(WgmmaGradient, ExchangedResultsOfFourBytesAreMapped) {
  const nest::Nest nest = nest::parse_nest(R"(nest conv {
  index n 2, y 8, x 8, c 64 | m 64
  slot 0 f16 8192, 1 f16 4096, 2 f32 8192
  acc f32 = sum mul
  in 0 + 0 [n:2*4096, y:8*512, x:8*64, m:64*1]
  in 1 + 0 [m:64*64, c:64*1]
  out 2 + 0 [n:2*4096, y:8*512, x:8*64, c:64*1]
  post max(acc, 0)
})");
  std::vector<schedule::Schedule> all = search::wgmma_schedules(nest, sm90(), false);
  for (schedule::Schedule &each : all)
    each.splits[core_roles(nest, each).channel].vec = schedule::kPanelVec;
  std::erase_if(all, [&](const auto &each) { return illegal(nest, each, sm90()).has_value(); });
  EXPECT_GT(check_schedules({nest}, sm90(), all, 3), 0);
}

// Two groups of `width` channels of the input.
nest::Nest grouped_filter_gradient(int width) {
  return nest::parse_nest(fmt::format(
      R"(nest conv {{
  index g 2, m 16, r 2, s 3, c {0} | n 3, y 17, x 3
  slot 0 f16 4896, 1 f16 {1}, 2 f16 {2}
  acc f32 = sum mul
  in 0 + 0 [n:3*1632, y:17*96, x:3*32, 16*g + m:32*1]
  in 1 + 0 [n:3*{3}, 2*r + y - 1:17?*{4}, 2*s + x - 1:5?*{5}, {0}*g + c:{5}*1]
  out 2 + 0 [16*g + m:32*{6}, r:2*{7}, s:3*{0}, c:{0}*1]
  post f16(acc)
}})",
      width, 3 * 17 * 5 * 2 * width, 32 * 6 * width, 17 * 5 * 2 * width, 5 * 2 * width, 2 * width,
      6 * width, 3 * width));
}

// A tile's panels of both inputs begin at the channels of its group.
TEST(WgmmaGradient, GroupsOfFilterGradientsAreExact) {
  for (const int width : {8, 64, 72})
    EXPECT_GT(check_tiles(grouped_filter_gradient(width)), 0) << width;
}

// Tensor copies start at multiples of 16 bytes: the second group of 28 channels does not.
TEST(WgmmaGradient, GroupsOffAlignmentAreRefused) {
  EXPECT_EQ(search::named_core_schedule("wgmma", grouped_filter_gradient(28), sm90()).refusal,
            "wgmma does not fit: a start or stride of 28 elements of the data; tensor copies need "
            "positive multiples of 16 bytes");
}

// Classes whose only tap along y stays a sum beside the channels, which are more than a step's.
TEST(WgmmaGradient, DepthsOfTwoIndicesAreSized) {
  const GradientConv problem = {.n = 3,
                                .h = 14,
                                .w = 15,
                                .c = 32,
                                .k = 128,
                                .r = 7,
                                .s = 5,
                                .stride = 3,
                                .dilation = 2,
                                .pad = 0,
                                .type = "bf16"};
  for (const poly::Group &group : gradients(problem, By::Input)) {
    if (group.anchor.inputs.empty())
      continue;
    for (const schedule::Schedule &each : search::every_wgmma_schedule(group.anchor, sm90(), false))
      EXPECT_FALSE(illegal(group.anchor, each, sm90()));
  }
}

// Tensor copies start at multiples of 16 bytes: taps of 60 channels do not.
TEST(WgmmaGradient, TapsOffAlignmentAreRefused) {
  const nest::Nest nest = gradients({.n = 2, .c = 60, .k = 64}, By::Input).front().anchor;
  EXPECT_EQ(search::named_core_schedule("wgmma", nest, sm90()).refusal,
            "wgmma does not fit: a start or stride of 60 elements of the filter; tensor copies "
            "need positive multiples of 16 bytes");
}

// The batch in parts, of several images and of one, whose steps end inside a part.
TEST(WgmmaGradient, PartsOfFilterGradientsAreExact) {
  for (const auto &[problem, parts] : {std::pair<GradientConv, std::int64_t>{problems()[3], 2},
                                       {problems()[6], 3},
                                       {{.n = 40, .h = 3, .w = 3, .c = 64, .k = 64}, 5},
                                       {problems()[0], 2},
                                       {problems()[1], 2}}) {
    const nest::Nest nest = gradients(problem, By::Filter).front().anchor;
    const nest::Nest partial =
        nest::split_reduction(nest, {{nest::IndexId{nest.output_indices}, parts}}).partial;
    EXPECT_GT(check_tiles(partial), 0) << to_text(partial);
  }
}

} // namespace
} // namespace tilefuse::model
