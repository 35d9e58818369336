// SPDX-License-Identifier: Apache-2.0
// A sum over the pixels of an image behind a convolution by matrix instructions: the convolution's
// tile stays in the block that sums it. Simulated, against the evaluator.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "model/core_cases.h"
#include "model/oracle/check.h"
#include "model/pooled_group.h"
#include "schedule/legal.h"
#include "schedule/members.h"
#include "schedule/text.h"
#include "search/forms/algorithms.h"
#include "search/groups.h"

namespace tilefuse::model {
namespace {

void check(const poly::Group &group, const schedule::Schedule &schedule, const Target &target) {
  KernelCase kernel_case{.group = group, .schedule = schedule, .target = target, .seed = 7};
  const auto wrong = illegal(group, schedule, target);
  ASSERT_FALSE(wrong) << *wrong;
  const auto divergence = check_simulated(Reference(kernel_case));
  EXPECT_FALSE(divergence) << divergence->stage << ": " << divergence->what << "\n"
                           << to_text(kernel_case);
}

// Images and channels that tiles do not divide; a tile is one product of the instruction, or two.
TEST(Pooled, TilesOfWholeImagesAreSummedInTheBlock) {
  const poly::Group group = pooled_group({});
  for (const int images : {2, 4}) {
    const schedule::Schedule schedule =
        schedule::parse_schedule(group, fmt::format(R"(schedule pool workitem
  tile   n:{} m:64
  lane   n:2 m:32
  reg    m:2
  loop   n m y x
  produce 0
producer 1
schedule mma workitem
  tile   n:1 y:1 x:1 m:64 c:16
  vec    m:8
  mma    m16n8k16.f16.f32 m 32 warps 2 1
  loop   n y x m r s c
  pipe   0 cp_async stages 2
  pack   1
  pipe   1 cp_async stages 2
)",
                                                    images));
    check(group, schedule, sm80());
    EXPECT_EQ(schedule::parse_schedule(group, to_text(group, schedule)), schedule);
  }
}

// What the search picks has a core product as producer, in every type that has an instruction.
TEST(Pooled, SearchPicksAMatrixInstruction) {
  for (const Pooled &problem : {Pooled{.n = 3, .size = 7, .c = 64, .m = 128, .taps = 1},
                                Pooled{.n = 2,
                                .size = 5,
                                .c = 32,
                                .m = 72,
                                .in = "bf16",
                                .out = "bf16",
                                .post = "bf16(max(acc + $0, 0))"},
                                Pooled{.n = 2,
                                .size = 4,
                                .c = 64,
                                .m = 96,
                                .taps = 1,
                                .in = "i8",
                                .out = "f32",
                                .acc = "i32",
                                .post = "f32(acc) + $0"}}) {
    const poly::Group group = pooled_group(problem);
    for (const Target &target : {sm80(), sm90()}) {
      const std::optional<schedule::Schedule> picked = search::pick_fused(group, target);
      ASSERT_TRUE(picked) << to_text(group);
      EXPECT_TRUE(has_core(picked->producers[0])) << to_text(group, *picked);
      check(group, *picked, target);
    }
  }
}

TEST(Pooled, OthersAreRefused) {
  const poly::Group group = pooled_group({.c = 64, .m = 64, .taps = 1});
  std::optional<schedule::Schedule> picked = search::pick_fused(group, sm90());
  ASSERT_TRUE(picked);
  const nest::Nest tile = tile_nests(group, *picked)[1];
  const auto wgmma = search::named_schedule("wgmma", tile, sm90());
  ASSERT_TRUE(wgmma.schedule) << wgmma.refusal;
  picked->producers[0] = *wgmma.schedule;
  EXPECT_NE(illegal(group, *picked, sm90()).value_or("").find("wgmma"), std::string::npos);
}

} // namespace
} // namespace tilefuse::model
