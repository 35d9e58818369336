// SPDX-License-Identifier: Apache-2.0
// What pipes, roles and the order of tiles say is independent of each other: maps in pipes that
// asynchronous copies fill and in clusters of blocks, operands of post-ops brought among loads,
// parts of the steps whose results leave by tensor copies.
#include <gtest/gtest.h>

#include "model/conv_gradient.h"
#include "model/conv_nest.h"
#include "model/core_cases.h"
#include "model/oracle/check.h"
#include "schedule/legal.h"
#include "schedule/members.h"
#include "schedule/mma/core.h"
#include "schedule/text.h"
#include "search/forms/core_forms.h"
#include "search/forms/fed_forms.h"
#include "search/forms/part_forms.h"
#include "search/forms/roles.h"
#include "support/fed_group.h"

namespace tilefuse::model {
namespace {

using schedule::Schedule;

// Those of wgmma that a change leaves legal.
template <typename Change>
std::vector<Schedule> changed(const poly::Group &group, const Change &change) {
  std::vector<Schedule> found;
  for (Schedule &each : search::fed_core_schedules(group, sm90(), false)) {
    if (!is_wgmma(*each.core.op))
      continue;
    change(each);
    search::assign_roles(group.anchor, each, sm90());
    if (!illegal(group, each, sm90()))
      found.push_back(std::move(each));
  }
  return found;
}

void load_by_warps(const poly::Group &group, Schedule &schedule) {
  data_pipe(group.anchor, schedule).engine = schedule::Engine::CpAsync;
}

std::vector<poly::Group> mapped(const Conv &problem) {
  return {normalised(group_of(problem), 0), masked(group_of(problem), 0)};
}

// Also of what no tensor copy brings: runs of 8 bytes.
TEST(WgmmaPairs, MapsInPipesThatWarpsFill) {
  int checked = 0;
  for (const Conv &problem :
       {Conv{.n = 2, .c = 64, .k = 64}, Conv{.n = 3, .c = 32, .k = 32, .stride = 2},
        Conv{.h = 9, .w = 11, .c = 80, .k = 16, .r = 5, .s = 2, .stride = 3, .in = "bf16"}})
    for (const poly::Group &group : mapped(problem)) {
      const auto all = changed(group, [&](Schedule &each) { load_by_warps(group, each); });
      EXPECT_FALSE(all.empty()) << to_text(group);
      checked += check_schedules(group, sm90(), all, 6);
    }
  EXPECT_GE(checked, 8);
}

TEST(WgmmaPairs, MapsInClusters) {
  int checked = 0;
  for (const auto &[rows, columns, parts] :
       {std::tuple{2, 1, 1}, {1, 2, 1}, {2, 2, 1}, {1, 1, 2}, {1, 1, 4}})
    for (const poly::Group &group : mapped({.n = 3, .h = 9, .w = 9, .c = 64, .k = 192})) {
      const auto all =
          changed(group, [&, rows = rows, columns = columns, parts = parts](Schedule &each) {
            each.tiles = {.cluster_m = rows, .cluster_n = columns, .split_k = parts};
          });
      EXPECT_FALSE(all.empty()) << rows << columns << parts << to_text(group);
      checked += check_schedules(group, sm90(), all, 12);
    }
  EXPECT_GE(checked, 10);
}

// Every schedule of `nest` that `has` what it asks for, on clusters of so many blocks.
std::vector<Schedule> on_clusters(const nest::Nest &nest, std::int64_t rows, std::int64_t columns,
                                  bool (*has)(const Schedule &)) {
  std::vector<Schedule> found;
  for (const Schedule &each : search::every_wgmma_schedule(nest, sm90(), false))
    if (has(each))
      if (auto on_cluster = search::with_cluster(nest, each, sm90(), rows, columns))
        found.push_back(*std::move(on_cluster));
  return found;
}

// Blocks of a cluster have halos of their own, and share a filter that streams or stays.
TEST(WgmmaPairs, HalosInClusters) {
  int checked = 0, resident = 0, streaming = 0;
  for (const std::int64_t rows : {2, 4})
    for (const Conv &problem : {Conv{.n = 3, .h = 16, .w = 16, .c = 64, .k = 64},
                                Conv{.n = 2, .h = 19, .w = 23, .c = 128, .k = 128}}) {
      const poly::Group group = group_of(problem);
      const auto all = on_clusters(group.anchor, rows, 1,
                                   [](const Schedule &each) { return halo_stages(each) > 0; });
      EXPECT_FALSE(all.empty());
      for (const Schedule &each : all)
        ++(has_resident(each) ? resident : streaming);
      checked += check_schedules(group, sm90(), all, 5);
    }
  EXPECT_GE(checked, 8);
  EXPECT_GT(resident, 0);
  EXPECT_GT(streaming, 0);
}

// Blocks share channels, which are rows of the instruction, or points, which are its columns.
TEST(WgmmaPairs, SwappedOperandsInClusters) {
  int checked = 0;
  for (const auto &[rows, columns] : {std::pair{2, 1}, {1, 2}, {2, 2}, {4, 1}})
    for (const Conv &problem :
         {Conv{.n = 3, .h = 9, .w = 9, .c = 64, .k = 192},
          Conv{.n = 2, .h = 14, .w = 14, .c = 128, .k = 64, .in = "bf16"},
          Conv{.h = 12, .w = 12, .c = 64, .k = 256, .r = 1, .s = 1, .pad = 0}}) {
      const poly::Group group = group_of(problem);
      const auto all = on_clusters(group.anchor, rows, columns, [](const Schedule &each) {
        return each.core.swap_ab && halo_stages(each) == 0;
      });
      checked += check_schedules(group, sm90(), all, 6);
    }
  EXPECT_GE(checked, 12);
}

// Both inputs turned, and both mapped.
TEST(WgmmaPairs, MapsOfFilterGradientsInParts) {
  for (const poly::Group &plain :
       gradients(GradientConv{.n = 7, .c = 128, .k = 128, .r = 1, .s = 1, .pad = 0}, By::Filter)) {
    const poly::Group group = normalised(masked(plain, 0), 1);
    const auto all = changed(group, [](Schedule &each) { each.tiles = {.split_k = 2}; });
    EXPECT_GT(check_schedules(group, sm90(), all, 8), 0) << to_text(group);
  }
}

std::vector<Schedule> with_operands_among_loads(const nest::Nest &nest) {
  std::vector<Schedule> found;
  for (const Schedule &plain : search::every_wgmma_schedule(nest, sm90(), false))
    for (int stages = 1; has_loading_warps(plain) && stages <= 2 * plain.roles.math.instances;
         ++stages) {
      Schedule each = plain;
      each.extra = {.engine = schedule::Engine::Tma, .stages = stages};
      for (int pipe = step_stages(each); pipe > 2; --pipe) {
        set_step_stages(each, pipe);
        search::assign_roles(nest, each, sm90());
        if (!illegal(nest, each, sm90())) {
          found.push_back(each);
          break;
        }
      }
    }
  return found;
}

TEST(WgmmaPairs, OperandsOfPostOpsAmongLoads) {
  int checked = 0;
  for (const char *text : {R"(nest conv {
  index n 2, y 9, x 8, m 64 | r 3, s 3, c 36
  slot 0 f16 5184, 1 f16 20736, 2 f16 9216, 3 f16 9216
  acc f32 = sum mul
  in 0 + 0 [n:2*2592, y + r - 1:9?*288, x + s - 1:8?*36, c:36*1]
  in 1 + 0 const [m:64*324, r:3*108, s:3*36, c:36*1]
  out 2 + 0 [n:2*4608, y:9*512, x:8*64, m:64*1]
  extra 3 + 0 [n:2*4608, y:9*512, x:8*64, m:64*1]
  post f16(acc + f32($0))
})",
                           R"(nest gemm {
  index y 300, m 128 | c 72
  slot 0 f16 21600, 1 f16 9216, 2 f16 38400, 3 f16 38400
  acc f32 = sum mul
  in 0 + 0 [y:300*72, c:72*1]
  in 1 + 0 const [m:128*72, c:72*1]
  out 2 + 0 [y:300*128, m:128*1]
  extra 3 + 0 [y:300*128, m:128*1]
  post f16(max(acc + f32($0), 0))
})"}) {
    const poly::Group group{nest::parse_nest(text)};
    const auto all = with_operands_among_loads(group.anchor);
    EXPECT_FALSE(all.empty());
    checked += check_schedules(group, sm90(), all, 4);
  }
  EXPECT_GE(checked, 6);
}

TEST(WgmmaPairs, PartsLeaveByTensorCopies) {
  int checked = 0;
  for (const Conv &problem :
       {Conv{.h = 12, .w = 12, .c = 256, .k = 64, .r = 1, .s = 1, .pad = 0},
        Conv{.n = 3, .h = 9, .w = 9, .c = 64, .k = 192},
        Conv{.h = 7, .w = 7, .c = 320, .k = 320, .r = 1, .s = 1, .pad = 0, .in = "bf16"}}) {
    const poly::Group group = group_of(problem);
    std::vector<Schedule> found;
    for (const Schedule &each : search::every_wgmma_schedule(group.anchor, sm90(), false))
      for (const int parts : {2, 4, 8})
        if (each.store == schedule::Store::Tma)
          if (auto one = search::with_parts(group.anchor, each, sm90(), parts))
            found.push_back(*std::move(one));
    EXPECT_FALSE(found.empty()) << to_text(group);
    checked += check_schedules(group, sm90(), found, 5);
  }
  EXPECT_GE(checked, 6);
}

} // namespace
} // namespace tilefuse::model
