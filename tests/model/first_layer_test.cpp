// SPDX-License-Identifier: Apache-2.0
// Gradients of first layers on matrix units, simulated; and where the cost model takes them.
#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "base/index.h"
#include "kernel/text/text.h"
#include "model/conv_gradient.h"
#include "model/core_cases.h"
#include "model/oracle/check.h"
#include "nest/flatten/split.h"
#include "program/rewrite/first_layer.h"
#include "search/forms/core_forms.h"
#include "search/groups.h"
#include "search/network/first_layer_choice.h"
#include "search/network/program_price.h"

namespace tilefuse::model {
namespace {

std::vector<GradientConv> problems() {
  std::vector<GradientConv> list(8);
  list[0] = {.n = 9, .h = 16, .w = 18, .c = 3, .k = 64, .r = 7, .s = 7, .stride = 2, .pad = 3};
  list[1] = {.n = 6, .h = 9, .w = 7, .c = 3, .k = 64};
  list[2] = {.n = 5, .h = 10, .w = 10, .c = 1, .k = 32, .r = 5, .s = 5, .pad = 2};
  list[3] = {.n = 8, .h = 11, .w = 9, .c = 4, .k = 48, .stride = 3, .pad = 0, .type = "bf16"};
  list[4] = {.n = 9, .h = 23, .w = 19, .c = 3, .k = 96, .r = 11, .s = 11, .stride = 4, .pad = 2};
  list[5] = {.n = 6, .h = 7, .w = 9, .c = 2, .k = 24, .stride = 2};
  list[6] = {.n = 6, .h = 9, .w = 8, .c = 3, .k = 64, .r = 3, .s = 1, .dilation = 1, .pad = 1};
  list[7] = {.n = 9, .h = 9, .w = 8, .c = 7, .k = 32};
  return list;
}

const auto always = [](const program::Program &, const program::Program &) { return true; };

// In the other form.
std::vector<poly::Group> widened(const GradientConv &problem, By by) {
  return groups_of(program::widen_first_layers(gradient_program(problem, by), always).program);
}

// The only kernel that multiplies.
const nest::Nest &product_of(const std::vector<poly::Group> &groups) {
  const nest::Nest *found = nullptr;
  for (const poly::Group &group : groups)
    if (group.anchor.inputs.size() == 2) {
      EXPECT_EQ(found, nullptr);
      found = &group.anchor;
    }
  return *found;
}

// Every so many-th tile of both kinds.
void check_tiles(const nest::Nest &nest, std::size_t each) {
  const auto wgmma = search::wgmma_schedules(nest, sm90(), false);
  const auto mma = search::core_schedules(nest, sm80(), false);
  EXPECT_GT(check_schedules({nest}, sm90(), wgmma, each), 0) << to_text(nest);
  EXPECT_GT(check_schedules({nest}, sm80(), mma, 9 * each), 0) << to_text(nest);
}

// With a filter of zeros that is a constant.
program::Program with_constant_filter(const GradientConv &problem) {
  program::Program forward = forward_program(problem);
  program::Tensor &filter = forward[forward.inputs.back()];
  filter.role = program::Role::Constant;
  filter.data = std::make_shared<const program::Bytes>(
      static_cast<std::size_t>(program::elems(filter.shape) * size_bytes(filter.type)));
  forward.inputs.pop_back();
  return forward;
}

TEST(FirstLayer, ConvolutionsAreExact) {
  for (const GradientConv &problem : problems()) {
    const program::Program forward = with_constant_filter(problem);
    check_tiles(product_of(groups_of(program::widen_first_layers(forward, always).program)), 4);
  }
}

TEST(FirstLayer, FilterGradientsAreExact) {
  for (const GradientConv &problem : problems())
    check_tiles(product_of(widened(problem, By::Filter)), 5);
}

TEST(FirstLayer, PartsOfFilterGradientsAreExact) {
  for (const std::size_t i : {0, 1}) {
    const std::vector<poly::Group> groups = widened(problems()[i], By::Filter);
    const nest::Nest &nest = product_of(groups);
    const nest::IndexId images{nest.output_indices};
    const std::int64_t parts = nest.indices[at(images)].extent;
    check_tiles(nest::split_reduction(nest, {{images, parts}}).partial, 5);
  }
}

TEST(FirstLayer, InputGradientsAreExact) {
  for (const GradientConv &problem : problems())
    if (problem.k % 16 == 0)
      check_tiles(product_of(widened(problem, By::Input)), 4);
}

// A work-item stores the 4 channels of 2 rows' pixels at once; odd results one by one.
TEST(FirstLayer, PixelsAreStoredAsVectors) {
  const Target target = sm90();
  for (const poly::Group &group : widened(problems()[0], By::Filter)) {
    if (group.anchor.inputs.size() != 1)
      continue;
    const schedule::Schedule schedule = search::pick(group, target);
    EXPECT_EQ(check_schedules(group, target, {schedule}, 1), 1);
    const std::string text = kernel::to_text(lower::lower(group, schedule, target));
    const bool is_pixels = group.anchor.indices.back().extent == 4;
    EXPECT_EQ(text.find(" .. 8] = f16x8(") != std::string::npos, is_pixels) << text;
  }
}

TEST(FirstLayer, GradientsAreTakenWhereTheyPay) {
  const GradientConv large = {
      .n = 64, .h = 224, .w = 224, .c = 3, .k = 64, .r = 7, .s = 7, .stride = 2, .pad = 3};
  const GradientConv small = {.n = 1, .h = 14, .w = 14, .c = 1, .k = 8};
  search::KeptChoices kept(nullptr, h200());
  for (const By by : {By::Input, By::Filter}) {
    const program::Program before = gradient_program(large, by);
    const program::Program after = search::lay_out_first_layers(before, h200(), kept);
    EXPECT_GT(after.statements.size(), before.statements.size());
    const std::vector<double> seconds =
        search::predicted_seconds(std::array{before, after}, h200(), kept);
    EXPECT_LT(seconds[1], seconds[0]);
    const program::Program tiny = gradient_program(small, by);
    EXPECT_EQ(to_text(search::lay_out_first_layers(tiny, h200(), kept)), to_text(tiny));
  }
}

// Its filter is stored for blocks when the program is compiled.
TEST(FirstLayer, InputGradientByAConstantFilterIsOneKernel) {
  const program::Program forward = with_constant_filter(
      {.n = 64, .h = 224, .w = 224, .c = 3, .k = 64, .r = 7, .s = 7, .stride = 2, .pad = 3});
  const program::Program gradient = program::gradient(forward, {.by = {forward.inputs[0]}});
  search::KeptChoices kept(nullptr, h200());
  EXPECT_EQ(groups_of(search::lay_out_first_layers(gradient, h200(), kept)).size(), 1U);
}

} // namespace
} // namespace tilefuse::model
