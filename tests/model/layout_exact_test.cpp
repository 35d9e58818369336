// SPDX-License-Identifier: Apache-2.0
// Layers whose tensors lie in every order of dimensions are computed exactly by what search finds
// for them: simulated, on the CPU and by OpenCL.
#include <gtest/gtest.h>

#include <algorithm>

#include "../bench/layout_walk.h"
#include "model/core_cases.h"
#include "model/devices.h"
#include "model/passes.h"
#include "poly/post_ops.h"
#include "schedule/members.h"
#include "search/forms/core_forms.h"
#include "search/pick.h"

namespace tilefuse::model {
namespace {

using bench::Walked;
using bench::WalkedLayer;
using bench::WalkedOrders;

// Extents that end within vectors, tiles and squares.
const std::vector<WalkedLayer> kLayers = {
    {.name = "conv", .n = 2, .c = 13, .size = 9, .m = 20},
    {.name = "strided", .c = 18, .size = 11, .m = 9, .stride = 2},
    {.name = "pointwise", .n = 3, .c = 17, .size = 5, .m = 24, .taps = 1},
    {.name = "depthwise", .n = 2, .c = 19, .size = 7, .m = 19, .is_depthwise = true},
};

std::vector<poly::Group> groups_of(const WalkedLayer &layer, Walked what,
                                   const WalkedOrders &orders, std::string_view type) {
  std::vector<poly::Group> groups;
  const program::Program program = simplify(bench::walked_program(layer, what, orders, type));
  for (poly::PlacedGroup &placed : poly::make_groups(program::assign_storage(program)))
    if (!placed.group.anchor.inputs.empty())
      groups.push_back(std::move(placed.group));
  return groups;
}

// The best candidates that turn results or inputs, and the best of all.
std::vector<schedule::Schedule> chosen(const nest::Nest &nest, const Target &target,
                                       std::size_t most) {
  std::vector<schedule::Schedule> all;
  for (search::Candidate &each : search::candidates(nest, target, 400)) {
    const bool turns =
        each.schedule.store == schedule::Store::Local ||
        (target.lanes == LaneKind::Vector &&
         std::any_of(each.schedule.pipes.begin(), each.schedule.pipes.end(), [](const auto &stage) {
           return stage.layout == schedule::Layout::Transposed;
         }));
    if (all.size() < most && (turns || all.empty()))
      all.push_back(std::move(each.schedule));
  }
  return all;
}

template <typename Check>
int check_all(const Target &target, std::size_t most, const Check &check) {
  int turned = 0;
  for (const WalkedLayer &layer : kLayers)
    for (const Walked what : bench::kWalked)
      for (const WalkedOrders &orders : bench::all_walked_orders())
        for (const poly::Group &group : groups_of(layer, what, orders, "f32"))
          for (const schedule::Schedule &schedule : chosen(group.anchor, target, most)) {
            turned += schedule.store == schedule::Store::Local;
            const KernelCase drawn{.group = group, .schedule = schedule, .target = target};
            const Reference reference(drawn);
            const auto wrong = check(reference);
            EXPECT_EQ(wrong, std::nullopt) << layer.name << " " << orders.text() << "\n"
                                           << (wrong ? wrong->what : "") << "\n"
                                           << to_text(group) << to_text(group, schedule);
            if (::testing::Test::HasFailure())
              return turned;
          }
  return turned;
}

std::optional<Divergence> simulated(const Reference &reference) {
  return check_simulated(reference);
}

TEST(LayoutExact, VectorsSimulated) {
  EXPECT_GT(check_all(testing::target_row("cpu_avx2"), 2, simulated), 50);
}

TEST(LayoutExact, WorkItemsSimulated) {
  EXPECT_GT(check_all(testing::target_row("cuda_sm90"), 2, simulated), 20);
}

TEST(LayoutExact, Devices) {
  for (const auto &[name, device] : testing::devices()) {
    SCOPED_TRACE(name);
    EXPECT_GT(
        check_all(device->target(), 2,
                  [&](const Reference &reference) { return check_on_device(reference, *device); }),
        20);
  }
}

// Results of which neither channels nor pixels are neighbours, and those of images.
TEST(LayoutExact, WgmmaSimulated) {
  const WalkedLayer layer{.name = "conv", .n = 2, .c = 64, .size = 9, .m = 64};
  const WalkedLayer strided{.name = "strided", .n = 4, .c = 64, .size = 12, .m = 64, .stride = 2};
  for (const WalkedLayer &each : {layer, strided})
    for (const auto &[what, orders] :
         {std::pair{Walked::Forward, WalkedOrders{"nyxc", "mrsc", "nmyx"}},
          {Walked::Forward, WalkedOrders{"nyxc", "rscm", "nmyx"}},
          {Walked::InputGradient, WalkedOrders{"ncyx", "mrsc", "nyxm"}},
          {Walked::FilterGradient, WalkedOrders{"nyxc", "mcrs", "nyxm"}},
          {Walked::FilterGradient, WalkedOrders{"nyxc", "rscm", "nyxm"}}}) {
      int checked = 0;
      for (const poly::Group &group : groups_of(each, what, orders, "f16"))
        checked +=
            check_schedules(group, sm90(), search::wgmma_schedules(group.anchor, sm90(), false), 7);
      EXPECT_GT(checked, 0) << each.name << " " << orders.text();
    }
}

} // namespace
} // namespace tilefuse::model
