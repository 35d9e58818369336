// SPDX-License-Identifier: Apache-2.0
// First layers as one kernel: a copy that spreads pixels to windows of wgmma, whatever their type
// and the order in which they lie, simulated; the group's text; and where the cost model takes it.
#include <gtest/gtest.h>

#include "model/core_cases.h"
#include "model/spread_case.h"
#include "poly/post_ops.h"
#include "program/rewrite/rewrite.h"
#include "schedule/legal.h"
#include "schedule/mma/core.h"
#include "schedule/text.h"
#include "schedule/wgmma/wgmma_spread.h"
#include "search/forms/fed_forms.h"
#include "search/forms/roles.h"
#include "search/groups.h"
#include "search/network/fusion.h"

namespace tilefuse::model {
namespace {

TEST(Spread, PixelsOfManyKindsAreExact) {
  const std::vector<FirstLayer> layers = {
      {.h = 20, .w = 36, .k = 64, .r = 7, .s = 7, .stride = 2, .pad = 3},
      {.h = 17, .w = 19, .from = "f16", .has_channels_last = true},
      {.n = 3, .h = 12, .w = 33, .c = 1, .r = 5, .s = 5, .pad = 2},
      {.h = 23, .w = 31, .c = 4, .k = 48, .stride = 2, .pad = 0, .type = "bf16"},
      {.n = 1, .h = 15, .w = 29, .c = 2, .stride = 2, .pad = 3},
      {.n = 5, .h = 9, .w = 8, .c = 3, .k = 64, .dilation = 1},
      {.n = 1, .h = 39, .w = 43, .r = 11, .s = 11, .stride = 4, .pad = 2},
      {.h = 19, .w = 23, .c = 7, .stride = 2},
  };
  int checked = 0;
  for (const FirstLayer &layer : layers) {
    std::string why;
    const std::optional<poly::Group> group = spread(layer, &why);
    ASSERT_TRUE(group) << why;
    const auto all = search::fed_core_schedules(*group, sm90(), false);
    if (!all.empty())
      checked += check_schedules(*group, sm90(), all, 4, static_cast<std::size_t>(checked));
  }
  EXPECT_GE(checked, 12);
}

program::StoredProgram stored(const FirstLayer &layer) {
  return program::assign_storage(widened(first_layer_of(layer)));
}

// By one launch less; not where the windows take longer to fill than both launches did.
TEST(Spread, IsTakenWhereItPays) {
  FirstLayer layer = {.h = 224, .w = 224, .k = 64, .r = 7, .s = 7, .stride = 2, .pad = 3};
  layer.n = 1;
  const std::vector<poly::PlacedGroup> groups = search::make_groups(stored(layer), {}, h200());
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_TRUE(schedule::spread_of(groups[0].group));
  EXPECT_TRUE(has_loading_warps(search::pick(groups[0].group, h200())));
  EXPECT_EQ(search::make_groups(stored(layer), {.level = poly::FuseLevel::None}, h200()).size(),
            2U);
  EXPECT_EQ(search::make_groups(stored(layer), {}, sm80()).size(), 2U);
  layer.n = 256;
  EXPECT_EQ(search::make_groups(stored(layer), {}, h200()).size(), 2U);
}

// Windows beside a filter of one row, which is kept as one step: nothing is begun ahead.
TEST(Spread, AFilterOfOneRowIsExact) {
  const std::optional<poly::Group> group =
      spread({.n = 2, .h = 9, .w = 31, .k = 64, .r = 1, .s = 7, .pad = 3});
  ASSERT_TRUE(group);
  schedule::Schedule one = schedule::parse_schedule(*group, R"(schedule wgmma_window workitem
  tile   n:4 y:8 x:8 m:64
  vec    m:8
  wgmma  m64n64k16.f16.f32 m 256 warpgroups 2 1
  loop   n y x m run
  pipe   0 halo cp_async stages 4
  pack   1
  pipe   1 resident tma stages 1
  role   load registers 136
  role   math registers 184
  order  persistent 3
)");
  EXPECT_EQ(core_steps(schedule::gemm_of(group->anchor, one)), 1);
  EXPECT_EQ(check_schedules(*group, sm90(), {one}, 1, 0), 1);
  one.roles.load.lead = 1;
  EXPECT_EQ(illegal(*group, one, sm90()).value_or(""), "load.lead is 1; it needs 0 to 0");
}

// The columns of im2col are whole dimensions once the product's indices are split: no runs, which
// are what is offered beside post-ops, and where the target fills windows alone.
TEST(Spread, IsOfferedWhereTheTargetCan) {
  const FirstLayer layer = {.h = 20, .w = 36, .k = 64, .r = 7, .s = 7, .stride = 2, .pad = 3};
  const program::StoredProgram columns =
      program::assign_storage(program::rewrite(first_layer_of(layer), "im2col"));
  poly::FuseOptions options = {.level = poly::FuseLevel::Pointwise, .spreads = true};
  EXPECT_EQ(poly::make_groups(stored(layer), options).size(), 1U);
  EXPECT_EQ(poly::make_groups(columns, options).size(),
            poly::make_groups(columns, {.level = poly::FuseLevel::None}).size());
  options.spreads = false;
  EXPECT_EQ(poly::make_groups(stored(layer), options).size(), 2U);
  options.level = poly::FuseLevel::All;
  EXPECT_EQ(poly::make_groups(stored(layer), options).size(), 2U);
}

// Text that parses back; what is not the copy's whole tensor, or does not fit the window.
TEST(Spread, IsSaidAndRefused) {
  const poly::Group group =
      spread({.h = 20, .w = 36, .k = 64, .r = 7, .s = 7, .stride = 2, .pad = 3}).value();
  EXPECT_NE(to_text(group).find("spread input 0 of 0 slots 3 0"), std::string::npos);
  EXPECT_EQ(poly::parse_group(to_text(group)), group);
  const nest::Operand &data = group.anchor.inputs[0];
  nest::Nest copy = group.producers[0].nest;
  EXPECT_TRUE(poly::match_runs(data, copy));
  copy.post = program::constant(1, DType::F16);
  EXPECT_FALSE(poly::match_runs(data, copy));
  copy = group.producers[0].nest;
  copy.out.dims.back().size = 2;
  EXPECT_FALSE(poly::match_runs(data, copy));
  schedule::Schedule schedule = search::fed_core_schedules(group, sm90(), false).at(0);
  EXPECT_EQ(illegal(group, schedule, sm90()), std::nullopt);
  for (schedule::Pipe &pipe : schedule.pipes)
    pipe.engine = schedule::Engine::Tma;
  search::assign_roles(group.anchor, schedule, sm90());
  EXPECT_EQ(illegal(group, schedule, sm90()),
            "the pipe of input 0 brings nothing that member 1 could be evaluated on");
}

} // namespace
} // namespace tilefuse::model
