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

// An input gradient: its filter lies turned, a ReLU's mask is at its end, and a residual is added.
constexpr const char *kGradient = R"(nest gemm {
  index p 256, c 64 | m 64
  slot 0 f16 16384, 1 f16 4096, 2 f16 16384, 3 f16 16384, 4 f16 16384
  acc f32 = sum mul
  in 0 + 0 [p:256*64, m:64*1]
  in 1 + 0 [m:64*64, c:64*1]
  out 4 + 0 [p:256*64, c:64*1]
  extra 2 + 0 [p:256*64, c:64*1]
  extra 3 + 0 [p:256*64, c:64*1]
  post f16(select(f32($1) > 0, f32(f16(f32($0) + f32(f16(acc)))), 0))
})";

// The same of taps, with the mask alone.
constexpr const char *kTapGradient = R"(nest conv {
  index n 2, y 16, x 8, c 64 | r 3, s 3, m 64
  slot 0 f16 16384, 1 f16 36864, 2 f16 16384, 3 f16 16384
  acc f32 = sum mul
  in 0 + 0 [n:2*8192, y - r + 1:16?*512, x - s + 1:8?*64, m:64*1]
  in 1 + 0 [c:64*576, r:3*192, s:3*64, m:64*1]
  out 3 + 0 [n:2*8192, y:16*512, x:8*64, c:64*1]
  extra 2 + 0 [n:2*8192, y:16*512, x:8*64, c:64*1]
  post f16(select(f32($0) > 0, f32(f16(acc)), 0))
})";

// The sums of a normalisation's gradient over either, with what was normalised.
constexpr const char *kWithInput = R"(nest gemm {
  index k 2, m 64 | n_y_x 256
  slot 0 f32 2, 1 f16 16384, 2 f16 16384, 3 f32 128
  acc f32 = sum term
  in 0 + 0 const [k:2*1]
  in 1 + 0 [n_y_x:256*64, m:64*1]
  in 2 + 0 [n_y_x:256*64, m:64*1]
  term select($0 == 0, $1 * $2, $1)
  out 3 + 0 [k:2*64, m:64*1]
  post acc
})";

// A product alone, for a second normalisation of the same gradient.
constexpr const char *kProduct = R"(nest gemm {
  index m 64 | n_y_x 256
  slot 0 f16 16384, 1 f16 16384, 2 f32 64
  acc f32 = sum mul
  in 0 + 0 [n_y_x:256*64, m:64*1]
  in 1 + 0 [n_y_x:256*64, m:64*1]
  out 2 + 0 [m:64*1]
  post acc
})";

nest::Nest statistics() {
  return poly::sum_of_sums(nest::parse_nest(kSum), nest::parse_nest(kOverImages)).value();
}

// The convolution with the partial nest of its tiles beside its result; what the sum reads at each
// pixel is its last operand.
poly::Group with_sums(const nest::Nest &conv, const nest::Nest &partial, int result = 1,
                      std::optional<std::size_t> beside = std::nullopt) {
  poly::Group group{conv};
  poly::TileSum sum{partial, {}};
  nest::SlotId next = conv.slots.next_id();
  for (const nest::SlotId s : partial.slots.ids()) {
    if (s == partial.inputs[at(result)].slot)
      sum.slots.push_back(conv.out.slot);
    else if (beside && s == partial.inputs[*beside].slot)
      sum.slots.push_back(conv.extras.back().slot);
    else {
      sum.slots.push_back(next);
      next = nest::SlotId{to_int(next) + 1};
    }
  }
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
                    s.splits[gemm.roles.channel].vec, s.store == schedule::Store::Tma,
                    s.extra.stages, s.extra.epi_n);
}

// What search has, and the same by epilogue tiles of some columns.
std::vector<schedule::Schedule> schedules_of(const nest::Nest &conv, const Target &target) {
  std::vector<schedule::Schedule> all = search::tile_sum_schedules(conv, target);
  for (std::size_t i = 0, count = all.size(); i < count; ++i)
    for (const std::int64_t columns : {16, 32})
      if (all[i].extra.stages > 0) {
        schedule::Schedule each = all[i];
        each.extra.epi_n = columns;
        all.push_back(std::move(each));
      }
  return all;
}

int check_forms(const nest::Nest &plain, const nest::Nest &sum, int result) {
  const Target target = sm90();
  std::vector<nest::SlotId> taken;
  const nest::Nest conv = schedule::with_operands(plain, sum, result, taken).value();
  std::optional<std::size_t> beside;
  for (std::size_t k = 0; k < sum.inputs.size() && !taken.empty(); ++k)
    if (sum.inputs[k].slot == taken[0])
      beside = k;
  std::map<decltype(form_of(std::declval<schedule::Gemm>())), bool> seen;
  for (const schedule::Schedule &schedule : schedules_of(conv, target)) {
    const schedule::Gemm gemm = gemm_of(conv, schedule);
    const std::optional<nest::SplitNests> parts = tile_parts(gemm, sum, result);
    if (!parts || seen.count(form_of(gemm)) > 0)
      continue;
    const poly::Group group = with_sums(conv, parts->partial, result, beside);
    const std::optional<schedule::Schedule> fitted = search::fit_tile_sums(group, schedule, target);
    if (!fitted)
      continue;
    seen.emplace(form_of(gemm), true);
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

// What was normalised is fetched ahead, with a mask and a residual.
TEST(TileSums, BesideAnotherTensor) {
  EXPECT_GE(check_forms(nest::parse_nest(kGradient), nest::parse_nest(kWithInput), 1), 2);
  EXPECT_GE(check_forms(nest::parse_nest(kTapGradient), nest::parse_nest(kWithInput), 1), 2);
  EXPECT_GE(check_forms(nest::parse_nest(kGradient), nest::parse_nest(kProduct), 0), 2);
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
