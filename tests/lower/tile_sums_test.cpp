// SPDX-License-Identifier: Apache-2.0
// Sums of what kernels with wgmma store, tile by tile: simulated after every pass against the
// evaluator, in every form of tiles, warps and turns that a search knows.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "base/index.h"
#include "model/core_cases.h"
#include "poly/sum_of_sums.h"
#include "schedule/members.h"
#include "schedule/wgmma/pixel_box.h"
#include "schedule/wgmma/tile_sums.h"
#include "search/groups.h"
#include "search/tile_sums.h"

namespace tilefuse::model {
namespace {

// Of 2 images of 16 x 8 pixels and 64 channels.
constexpr const char *kPointwise = R"(nest conv {
  index p 256, m 64 | c 64
  slot 0 f16 16384, 1 f16 4096, 2 f16 16384
  acc f32 = sum mul
  in 0 + 0 [p:256*64, c:64*1]
  in 1 + 0 const [m:64*64, c:64*1]
  out 2 + 0 [p:256*64, m:64*1]
  post f16(acc)
})";

constexpr const char *kWindow = R"(nest conv {
  index n 2, y 16, x 8, m 64 | r 3, s 3, c 64
  slot 0 f16 16384, 1 f16 36864, 2 f16 16384
  acc f32 = sum mul
  in 0 + 0 [n:2*8192, y + r - 1:16?*512, x + s - 1:8?*64, c:64*1]
  in 1 + 0 const [m:64*576, r:3*192, s:3*64, c:64*1]
  out 2 + 0 [n:2*8192, y:16*512, x:8*64, m:64*1]
  post f16(acc)
})";

// The sums of a batch's statistics over the result of either.
constexpr const char *kSum = R"(nest gemm {
  index k 2, n 2, m 64 | y_x 128
  slot 0 f32 2, 1 f16 16384, 2 f32 64, 3 f32 256
  acc f32 = sum term
  in 0 + 0 const [k:2*1]
  in 1 + 0 [n:2*8192, y_x:128*64, m:64*1]
  in 2 + 0 [m:64*1]
  term select($0 == 0, $1 - $2, ($1 - $2) * ($1 - $2))
  out 3 + 0 [k:2*128, n:2*64, m:64*1]
  post acc
})";

constexpr const char *kOverImages = R"(nest reduce {
  index k 2, m 64 | n 2
  slot 0 f32 256, 1 f32 128
  acc f32 = sum
  in 0 + 0 [k:2*128, n:2*64, m:64*1]
  out 1 + 0 [k:2*64, m:64*1]
  post acc
})";

constexpr const char *kPlain = R"(nest reduce {
  index m 64 | n 2, y_x 128
  slot 0 f16 16384, 1 f32 64
  acc f32 = sum
  in 0 + 0 [n:2*8192, y_x:128*64, m:64*1]
  out 1 + 0 [m:64*1]
  post acc
})";

nest::Nest statistics() {
  return poly::sum_of_sums(nest::parse_nest(kSum), nest::parse_nest(kOverImages)).value();
}

// The convolution with the partial nest of its tiles beside its result.
poly::Group with_sums(const nest::Nest &conv, const nest::Nest &partial, int result = 1) {
  poly::Group group{conv};
  poly::TileSum sum{partial, {}};
  int next = 3;
  for (const nest::SlotId s : partial.slots.ids())
    sum.slots.push_back(s == partial.inputs[at(result)].slot ? nest::SlotId{2}
                                                             : nest::SlotId{next++});
  group.sums.push_back(std::move(sum));
  poly::verify(group);
  return group;
}

// What makes kernels differ.
auto form_of(const schedule::Gemm &gemm) {
  const schedule::Schedule &s = gemm.schedule;
  return std::tuple(s.core.swap_ab, s.core.warp_rows, s.core.warp_columns, s.roles.math.instances,
                    has_box(gemm), s.tiles.persistent > 0, s.tiles.cluster(),
                    gemm.tile.warp_rows > 64, gemm.tile.columns > 64,
                    s.splits[gemm.roles.channel].vec);
}

int check_forms(const nest::Nest &conv, const nest::Nest &sum, int result) {
  const Target target = sm90();
  std::map<decltype(form_of(std::declval<schedule::Gemm>())), bool> seen;
  for (const schedule::Schedule &schedule : search::tile_sum_schedules(conv, target)) {
    const schedule::Gemm gemm = gemm_of(conv, schedule);
    const std::optional<nest::SplitNests> parts = tile_parts(gemm, sum, result);
    if (!parts || !seen.emplace(form_of(gemm), true).second)
      continue;
    const poly::Group group = with_sums(conv, parts->partial, result);
    const std::optional<schedule::Schedule> fitted = search::fit_tile_sums(group, schedule, target);
    if (!fitted)
      continue;
    EXPECT_EQ(poly::parse_group(poly::to_text(group)), group);
    const KernelCase one{
        .group = group, .schedule = *fitted, .target = target, .values = Values::Reals};
    const std::optional<Divergence> wrong = check_simulated(Reference(one));
    EXPECT_FALSE(wrong) << wrong->stage << ": " << wrong->what << "\n"
                        << schedule::to_text(group, *fitted) << poly::to_text(group);
    if (wrong)
      break;
  }
  return static_cast<int>(seen.size());
}

TEST(TileSums, OfPixelsAsOneNumber) {
  EXPECT_GE(check_forms(nest::parse_nest(kPointwise), statistics(), 1), 4);
}

TEST(TileSums, OfBoxesOfPixels) {
  EXPECT_GE(check_forms(nest::parse_nest(kWindow), statistics(), 1), 4);
}

// One sum of a channel, of which lanes have no half to give away at the end.
TEST(TileSums, OfValuesThemselves) {
  EXPECT_GE(check_forms(nest::parse_nest(kPointwise), nest::parse_nest(kPlain), 0), 4);
}

// The same with values of another type.
nest::Nest of_type(std::string text, std::string_view type) {
  for (std::size_t at = text.find("f16"); at != std::string::npos;
       at = text.find("f16", at + type.size()))
    text.replace(at, 3, type);
  return nest::parse_nest(text);
}

TEST(TileSums, OfOtherTypes) {
  EXPECT_GE(check_forms(of_type(kPointwise, "bf16"), of_type(kPlain, "bf16"), 0), 4);
  nest::Nest conv = of_type(kPointwise, "f32");
  conv.tf32 = true;
  EXPECT_GE(check_forms(conv, of_type(kPlain, "f32"), 0), 4);
}

TEST(TileSums, AreThePartsOfTheTiles) {
  const nest::Nest conv = nest::parse_nest(kPointwise);
  const Target target = sm90();
  for (const schedule::Schedule &schedule : search::tile_sum_schedules(conv, target)) {
    const std::optional<nest::SplitNests> parts =
        tile_parts(gemm_of(conv, schedule), statistics(), 1);
    if (!parts)
      continue;
    poly::Group group = with_sums(conv, parts->partial);
    EXPECT_TRUE(schedule::sums_are_of_tiles(group, schedule));
    // The same group under tiles of other sizes.
    for (const schedule::Schedule &other : search::tile_sum_schedules(conv, target))
      if (other.core.rows != schedule.core.rows) {
        EXPECT_FALSE(schedule::sums_are_of_tiles(group, other));
        return;
      }
  }
  FAIL() << "no two tiles of different sizes";
}

TEST(TileSums, WorkItemsAddUpNothing) {
  const nest::Nest conv = nest::parse_nest(kPointwise);
  const Target target = sm90();
  for (const schedule::Schedule &schedule : search::tile_sum_schedules(conv, target)) {
    const std::optional<nest::SplitNests> parts =
        tile_parts(gemm_of(conv, schedule), statistics(), 1);
    if (!parts)
      continue;
    const poly::Group group = with_sums(conv, parts->partial);
    EXPECT_TRUE(schedule::illegal(group, schedule::scalar_schedule(conv), target));
    EXPECT_FALSE(schedule::illegal(group, search::pick(group, target), target));
    return;
  }
}

} // namespace
} // namespace tilefuse::model
