// SPDX-License-Identifier: Apache-2.0
// Operands of post-ops that wgmma fetches ahead: simulated on convolutions with residuals of
// several types, tails on both sides, tiles in turn, clusters and turned filters.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "kernel/text/text.h"
#include "lower/pipeline.h"
#include "model/core_cases.h"
#include "model/oracle/check.h"
#include "schedule/legal.h"
#include "schedule/text.h"
#include "schedule/wgmma/pixel_box.h"
#include "schedule/wgmma/wgmma_panels.h"
#include "search/forms/core_forms.h"

namespace tilefuse::model {
namespace {

using schedule::Schedule;

struct Residual {
  int images = 2, size = 7, c = 64, k = 64, taps = 1;
  std::string in = "f16", out = "f16", acc = "f32", extra = "f16";
  std::string post = "max(acc + $0 + f32($1), 0)";
  bool turned = false; // the filter
  int padded = 0;      // channels of the residual that are not read
};

poly::Group group_of(const Residual &v) {
  const int pixels = v.images * v.size * v.size, row = v.k + v.padded;
  const std::string filter = v.turned
                                 ? fmt::format("c:{0}*{1}, r:{2}*{3}, s:{2}*{4}, m:{1}*1", v.c, v.k,
                                               v.taps, v.taps * v.c * v.k, v.c * v.k)
                                 : fmt::format("m:{0}*{1}, r:{2}*{3}, s:{2}*{4}, c:{4}*1", v.k,
                                               v.taps * v.taps * v.c, v.taps, v.taps * v.c, v.c);
  const auto tensor = [&](int channels) {
    return fmt::format("n:{0}*{1}, y:{2}*{3}, x:{2}*{4}, m:{5}*1", v.images,
                       v.size * v.size * channels, v.size, v.size * channels, channels, v.k);
  };
  return {nest::parse_nest(fmt::format(
      R"(nest conv {{
  index n {0}, y {1}, x {1}, m {2} | r {3}, s {3}, c {4}
  slot 0 {5} {6}, 1 {5} {7}, 2 {8} {9}, 3 f32 {2}, 4 {10} {11}
  acc {12} = sum mul
  in 0 + 0 [n:{0}*{13}, y + r - {14}:{1}?*{15}, x + s - {14}:{1}?*{4}, c:{4}*1]
  in 1 + 0 {19}[{16}]
  out 2 + 0 [{17}]
  extra 3 + 0 [m:{2}*1]
  extra 4 + 0 [{18}]
  post {8}({20})
}})",
      v.images, v.size, v.k, v.taps, v.c, v.in, pixels * v.c, v.k * v.taps * v.taps * v.c, v.out,
      pixels * v.k, v.extra, pixels * row, v.acc, v.size * v.size * v.c, v.taps / 2, v.size * v.c,
      filter, tensor(v.k), tensor(row), v.turned ? "" : "const ", v.post))};
}

// With so few multiprocessors that each takes several tiles.
Target target() {
  Target target = sm90();
  target.compute_units = 3;
  return target;
}

std::vector<Schedule> ahead_of(const poly::Group &group) {
  const bool tf32 = group.anchor.slots[0].type == DType::F32;
  std::vector<Schedule> all = search::every_wgmma_schedule(group.anchor, target(), tf32);
  std::erase_if(all, [](const Schedule &each) { return each.extra.stages == 0; });
  return all;
}

// The same by epilogue tiles of some columns, through as many buffers as are legal of some.
std::vector<Schedule> in_pieces(const poly::Group &group, const std::vector<Schedule> &all) {
  std::vector<Schedule> found;
  for (Schedule each : all)
    for (const std::int64_t columns : {16, 32, 64})
      for (const int stages : {1, 2, 3, 4, 8}) {
        each.extra.epi_n = columns;
        each.extra.stages = stages;
        set_step_stages(each, std::min(3, step_stages(each)));
        if (!schedule::illegal(group.anchor, each, target()))
          found.push_back(each);
      }
  return found;
}

const std::vector<Residual> kProblems = {
    {},
    {.images = 3, .size = 11, .c = 32, .k = 128},
    {.images = 1, .size = 13, .c = 48, .k = 96, .taps = 3},
    {.images = 5, .size = 5, .c = 64, .k = 72},
    {.k = 128, .in = "bf16", .out = "bf16", .extra = "bf16"},
    {.k = 64, .padded = 32},
    {.in = "i8",
     .out = "i8",
     .acc = "i32",
     .extra = "i8",
     .post = "max(f32(acc) * $0 + f32($1), 0)"},
    {.c = 32, .in = "f32", .out = "f32", .extra = "f32", .post = "acc + $0 + $1"},
    {.images = 3, .size = 9, .c = 64, .k = 128, .turned = true},
};

TEST(WgmmaAhead, ResultsAreExact) {
  for (const Residual &problem : kProblems) {
    const poly::Group group = group_of(problem);
    EXPECT_GT(check_schedules(group, target(), ahead_of(group), 9), 0) << to_text(group.anchor);
  }
}

TEST(WgmmaAhead, PiecesAreExact) {
  std::set<std::tuple<int, std::int64_t, int>> seen;
  for (const Residual &problem : kProblems) {
    const poly::Group group = group_of(problem);
    const std::vector<Schedule> all = in_pieces(group, ahead_of(group));
    for (const Schedule &each : all)
      seen.emplace(each.roles.math.instances, each.extra.epi_n, each.extra.stages);
    EXPECT_GT(check_schedules(group, target(), all, 29), 0) << to_text(group.anchor);
  }
  EXPECT_GT(seen.size(), 25u);
}

// A product of rows that each add two operands.
poly::Group two_operands(int rows) {
  return {nest::parse_nest(fmt::format(R"(nest gemm {{
  index y {0}, m 64 | c 64
  slot 0 f16 {1}, 1 f16 4096, 2 f16 {1}, 3 f16 {1}, 4 f16 {1}
  acc f32 = sum mul
  in 0 + 0 [y:{0}*64, c:64*1]
  in 1 + 0 const [m:64*64, c:64*1]
  out 2 + 0 [y:{0}*64, m:64*1]
  extra 3 + 0 [y:{0}*64, m:64*1]
  extra 4 + 0 [y:{0}*64, m:64*1]
  post f16(acc * f32($0) + f32($1))
}})",
                                       rows, 64 * rows))};
}

// What all pixels of an image read is no matrix of points, though those of images lie as one.
TEST(WgmmaAhead, WhatPixelsShareIsReadInPlace) {
  const poly::Group group = {nest::parse_nest(R"(nest gemm {
  index n 16, y 7, m 64 | c 64
  slot 0 f16 7168, 1 f16 4096, 2 f16 7168, 3 f16 7168, 4 f16 1024
  acc f32 = sum mul
  in 0 + 0 [n:16*448, y:7*64, c:64*1]
  in 1 + 0 const [m:64*64, c:64*1]
  out 2 + 0 [n:16*448, y:7*64, m:64*1]
  extra 3 + 0 [n:16*448, y:7*64, m:64*1]
  extra 4 + 0 [n:16*64, 0:1*1, m:64*1]
  post f16(acc * f32($0) + f32($1))
})")};
  const std::vector<Schedule> all = ahead_of(group);
  ASSERT_FALSE(all.empty());
  for (const Schedule &each : all)
    EXPECT_EQ(ahead_operands(gemm_of(group.anchor, each)).size(), 1u);
  EXPECT_GT(check_schedules(group, target(), all, 9), 0);
}

// A kernel in whose text any one of the lines with these words is missing is found to be wrong.
void expect_needed(const KernelCase &drawn, const std::string &words) {
  const Reference reference(drawn);
  const std::string text = to_text(lower::lower(drawn.group, drawn.schedule, drawn.target));
  int lines = 0;
  for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) {
    const std::size_t begin = text.rfind('\n', at) + 1, end = text.find('\n', at);
    const std::string line = text.substr(begin, end - begin);
    ++lines;
    const kernel::Kernel faulty =
        kernel::parse_kernel(text.substr(0, begin) + text.substr(end + 1));
    EXPECT_TRUE(check_kernel(reference, faulty, "")) << line << to_text(drawn);
  }
  EXPECT_GE(lines, 4) << text;
}

TEST(WgmmaAhead, WaitsForPiecesAreNeeded) {
  const poly::Group group = two_operands(1200); // five tiles or more
  for (Schedule each : testing::sampled(in_pieces(group, ahead_of(group)))) {
    each.tiles.persistent = each.tiles.cluster();
    const KernelCase drawn{.group = group, .schedule = each, .target = target(), .seed = 5};
    expect_needed(drawn, "mbarrier_wait ahead_barriers");
  }
}

// From one to two for each group: tiles take the next, also where there are not as many for each.
TEST(WgmmaAhead, AnyNumberOfBuffersIsExact) {
  const poly::Group group = group_of({.images = 5, .size = 11, .c = 32, .k = 128});
  for (const int instances : {1, 2})
    for (int buffers = 1; buffers <= 2 * instances; ++buffers) {
      std::vector<Schedule> all = ahead_of(group);
      for (Schedule &each : all)
        each.extra.stages = buffers;
      std::erase_if(all, [&](const Schedule &each) {
        return each.roles.math.instances != instances ||
               schedule::illegal(group.anchor, each, target());
      });
      EXPECT_GT(check_schedules(group, target(), all, 2), 0) << buffers << " for " << instances;
    }
}

TEST(WgmmaAhead, ClustersAreExact) {
  const poly::Group group = group_of({.images = 3, .size = 9, .c = 64, .k = 192});
  std::vector<Schedule> found;
  for (const Schedule &schedule : ahead_of(group))
    for (const auto &[rows, columns] : {std::pair{2, 1}, {1, 2}})
      if (auto on_cluster = search::with_cluster(group.anchor, schedule, target(), rows, columns))
        found.push_back(*std::move(on_cluster));
  EXPECT_GT(check_schedules(group, target(), found, 8), 0);
  EXPECT_GT(check_schedules(group, target(), in_pieces(group, found), 8), 0);
}

// Boxes of pixels, windows, swapped operands.
TEST(WgmmaAhead, OtherTilesAreExact) {
  const poly::Group group = group_of({.images = 3, .size = 12, .c = 64, .k = 64, .taps = 3});
  std::vector<Schedule> boxed = ahead_of(group), swapped = boxed, windows = boxed;
  std::erase_if(boxed, [&](const Schedule &each) { return !has_box(gemm_of(group.anchor, each)); });
  std::erase_if(swapped, [](const Schedule &each) { return !each.core.swap_ab; });
  std::erase_if(windows, [](const Schedule &each) { return halo_stages(each) == 0; });
  for (const std::vector<Schedule> &some : {boxed, swapped, windows})
    EXPECT_GT(check_schedules(group, target(), some, 6), 0);
}

TEST(WgmmaAhead, SeveralOperandsAreFetched) {
  const poly::Group group = two_operands(300);
  const std::vector<Schedule> all = ahead_of(group);
  EXPECT_EQ(ahead_operands(schedule::gemm_of(group.anchor, all.at(0))).size(), 2u);
  EXPECT_GT(check_schedules(group, target(), all, 4), 0);
  EXPECT_GT(check_schedules(group, target(), in_pieces(group, all), 4), 0);
}

TEST(WgmmaAhead, ReadsMeetInNoBank) {
  for (const Residual &problem : {Residual{.k = 128}, Residual{.k = 128, .turned = true}}) {
    const poly::Group group = group_of(problem);
    std::vector<Schedule> all = ahead_of(group);
    const std::vector<Schedule> pieces = in_pieces(group, all);
    all.insert(all.end(), pieces.begin(), pieces.end());
    for (const Schedule &schedule : testing::sampled(all))
      EXPECT_EQ(bank_conflicts(counts_of(group, schedule, target())).find("ahead"),
                std::string::npos)
          << to_text(group.anchor, schedule);
  }
}

TEST(WgmmaAhead, TextsReadBack) {
  const poly::Group group = group_of({});
  std::vector<Schedule> all = ahead_of(group);
  const std::vector<Schedule> pieces = in_pieces(group, all);
  all.insert(all.end(), pieces.begin(), pieces.end());
  for (const Schedule &schedule : all) {
    const std::string text = to_text(lower::lower(group, schedule, target()));
    EXPECT_EQ(to_text(kernel::parse_kernel(text)), text);
    const std::string written = to_text(group.anchor, schedule);
    EXPECT_NE(written.find("pipe   extra"), std::string::npos);
    EXPECT_EQ(schedule::parse_schedule(group.anchor, written), schedule) << written;
  }
}

std::string refusal(const poly::Group &group, const std::function<void(Schedule &)> &change) {
  Schedule schedule = search::every_wgmma_schedule(group.anchor, target(), false).front();
  set_step_stages(schedule, 2);
  schedule.extra.stages = schedule.roles.math.instances;
  change(schedule);
  return schedule::illegal(group.anchor, schedule, target()).value_or("");
}

TEST(WgmmaAhead, RefusalsSayWhy) {
  const char *none = "no operand of post-ops lies as results do, to be fetched ahead";
  const auto as_it_is = [](Schedule &) {};
  EXPECT_EQ(refusal(group_of({.k = 128}), as_it_is), "");
  EXPECT_EQ(refusal(group_of({.k = 128, .padded = 4}), as_it_is), none); // off 16 bytes
  EXPECT_EQ(refusal(group_of({.k = 128, .extra = "f32"}), as_it_is), none);
  EXPECT_EQ(refusal(group_of({.k = 128}), [](Schedule &each) { each.extra.stages = 3; }),
            "extra.stages is 3; it needs 0 to 2");
  EXPECT_EQ(refusal(group_of({.k = 128}), [](Schedule &each) { each.extra.epi_n = 24; }),
            "extra.epi_n is 24; it needs 0 to 64, in units of 32");
  EXPECT_EQ(refusal(group_of({.k = 128}), [](Schedule &each) { set_step_stages(each, 6); }),
            "staging needs 362496 bytes per block, the target has 232448");
}

} // namespace
} // namespace tilefuse::model
