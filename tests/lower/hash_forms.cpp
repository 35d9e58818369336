// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "lower/algorithm_cases.h"
#include "lower/hash_rows.h"
#include "model/conv_gradient.h"
#include "model/conv_nest.h"
#include "schedule/wgmma/wgmma_tiles.h"
#include "search/forms/algorithms.h"
#include "search/forms/core_forms.h"
#include "search/forms/part_forms.h"
#include "search/pick.h"
#include "target/device_rows.h"
#include "target/rows.h"

namespace tilefuse::testing {
namespace {

using model::By;
using model::Conv;
using model::GradientConv;
using schedule::Schedule;

struct Problem {
  std::string name;
  poly::Group group;
};

void add_gradients(std::vector<Problem> &problems, const GradientConv &conv) {
  for (const By by : {By::Input, By::Filter}) {
    int number = 0;
    for (poly::Group &group : model::gradients(conv, by))
      if (group.anchor.inputs.size() == 2)
        problems.push_back(
            {fmt::format("{}_{}_c{}k{}s{}_{}", by == By::Input ? "by_input" : "by_filter",
                         conv.type, conv.c, conv.k, conv.stride, number++),
             std::move(group)});
  }
}

// Forward and backward, of a type that every target computes.
std::vector<Problem> float_problems() {
  std::vector<Problem> problems;
  for (const ConvShape &shape : awkward_shapes())
    problems.push_back({fmt::format("conv_{}", problems.size()), {conv_nest(shape)}});
  add_gradients(problems, {.n = 2, .c = 16, .k = 24, .type = "f32"});
  add_gradients(problems, {.c = 12, .k = 20, .stride = 2, .type = "f32"});
  add_gradients(problems,
                {.n = 3, .h = 5, .w = 5, .c = 8, .k = 16, .r = 1, .s = 1, .pad = 0, .type = "f32"});
  return problems;
}

// What matrix instructions multiply: every type, strides, dilations, sizes that end within a tile.
std::vector<Problem> core_problems() {
  const std::vector<std::pair<const char *, Conv>> convs = {
      {"f16_1x1", {.h = 12, .w = 12, .c = 64, .k = 64, .r = 1, .s = 1, .pad = 0}},
      {"f16_3x3", {.n = 2, .c = 64, .k = 64}},
      {"f16_3x3_s2", {.n = 3, .c = 32, .k = 32, .stride = 2}},
      {"f16_3x3_d2", {.n = 2, .h = 10, .w = 8, .c = 48, .k = 40, .dilation = 2, .pad = 2}},
      {"f16_5x2_s3", {.h = 9, .w = 11, .c = 80, .k = 16, .r = 5, .s = 2, .stride = 3}},
      {"f16_wide", {.n = 32, .h = 14, .w = 14, .c = 256, .k = 256}},
      {"f16_gathered", {.n = 2, .c = 36, .k = 64}},
      {"f16_to_f32", {.n = 2, .c = 64, .k = 128, .out = "f32"}},
      {"bf16_3x3", {.c = 64, .k = 48, .in = "bf16", .out = "bf16"}},
      {"i8_3x3",
       {.c = 64, .k = 64, .in = "i8", .out = "i32", .acc = "i32", .post = "acc + i32($0)"}},
      {"i8_to_i8",
       {.n = 2,
        .h = 5,
        .w = 5,
        .c = 32,
        .k = 128,
        .in = "i8",
        .out = "i8",
        .acc = "i32",
        .post = "i8(max(min(round(f32(acc) * f32($0)), 127), 0))"}},
      {"u8_3x3",
       {.c = 96, .k = 32, .in = "u8", .out = "f32", .acc = "i32", .post = "f32(acc) * $0"}},
      {"tf32_3x3", {.c = 32, .k = 64, .in = "f32", .out = "f32", .post = "acc + $0"}}};
  std::vector<Problem> problems;
  for (const auto &[name, conv] : convs)
    problems.push_back({name, model::group_of(conv)});
  problems.push_back({"nchw32_3x3", model::nchw32(2, 4, 7, 2, 3)});
  problems.push_back({"nchw32_1x1_s2", model::nchw32(3, 5, 8, 2, 1, 2)});
  add_gradients(problems, {.n = 2, .c = 64, .k = 128});
  add_gradients(problems, {.n = 2, .c = 64, .k = 64, .stride = 2});
  return problems;
}

// With an addend of the results' shape, which may be fetched ahead.
poly::Group with_residual(const char *type) {
  return {nest::parse_nest(fmt::format(R"(nest conv {{
  index n 3, y 11, x 11, m 128 | c 64
  slot 0 {0} 23232, 1 {0} 8192, 2 {0} 46464, 3 f32 128, 4 {0} 46464
  acc f32 = sum mul
  in 0 + 0 [n:3*7744, y:11*704, x:11*64, c:64*1]
  in 1 + 0 const [m:128*64, c:64*1]
  out 2 + 0 [n:3*15488, y:11*1408, x:11*128, m:128*1]
  extra 3 + 0 const [m:128*1]
  extra 4 + 0 [n:3*15488, y:11*1408, x:11*128, m:128*1]
  post {0}(max(acc + $0 + f32($1), 0))
}})",
                                       type))};
}

Target with_units(Target target, int units) {
  target.compute_units = units;
  return target;
}

// One column for each algorithm that fits, on all rows of devices/ that it fits. Why it does not fit
// the others is worded in tests/schedule/refusals.cases.
std::vector<Cell> algorithm_cells(const poly::Group &group) {
  std::vector<Cell> cells;
  for (const std::string &name : search::algorithm_names()) {
    Cell cell{name, {}, {}};
    for (const char *row : {"cpu_avx2", "opencl_gpu", "opencl_nvidia", "cuda_sm80", "cuda_sm90"}) {
      const Target target = target_row(row);
      const auto named = search::named_schedule(name, group.anchor, target);
      cell.schedules += fmt::format("{}: {}\n", row, named.schedule ? "" : "refused");
      if (named.schedule)
        add_kernel(cell, group, *named.schedule, target);
    }
    if (!cell.kernels.empty())
      cells.push_back(std::move(cell));
  }
  return cells;
}

// The best of the search, and others spread over its list.
std::vector<Cell> candidate_cells(const poly::Group &group) {
  constexpr std::size_t kMost = 200, kEach = 20;
  std::vector<Cell> cells;
  for (const Target &target : read_targets(TILEFUSE_SOURCE_DIR "/devices")) {
    const auto all = search::candidates(group.anchor, target, kMost);
    Cell cell{target.name, {}, {}};
    for (std::size_t i = 0; i < all.size(); i += i < kEach / 2 ? 1 : kEach)
      add_kernel(cell, group, all[i].schedule, target);
    cells.push_back(std::move(cell));
  }
  return cells;
}

// "wgmma_window+turns+swapped": what sets a schedule's kernel apart.
std::string form_of(const Schedule &schedule) {
  std::string name = schedule.name;
  const auto mark = [&](bool is_so, const char *word) { name += is_so ? word : ""; };
  mark(schedule.roles.math.instances > 1, "+turns");
  mark(schedule.tiles.persistent > 0, "+blocks");
  mark(schedule.core.swap_ab, "+swapped");
  mark(schedule.store == schedule::Store::Tma, "+store");
  mark(schedule.extra.stages > 0, "+ahead");
  mark(halo_stages(schedule) > 0, "+window");
  mark(has_resident(schedule), "+keeps");
  mark(schedule.tiles.cluster_m * schedule.tiles.cluster_n > 1, "+cluster");
  mark(schedule.tiles.split_k > 1, "+parts");
  mark(schedule.roles.transform.groups > 0, "+maps");
  mark(has_loading_warps(schedule), "+gathers");
  return name;
}

constexpr auto kClusters = std::to_array<std::pair<int, int>>({{2, 1}, {1, 2}, {2, 2}, {4, 1}});

// Every one, on clusters, and in parts.
std::vector<Schedule> wgmma_variants(const nest::Nest &nest, const Target &target, bool tf32) {
  std::vector<Schedule> all = search::every_wgmma_schedule(nest, target, tf32);
  for (Schedule &schedule : search::streamed_wgmma_schedules(nest, target, tf32))
    all.push_back(std::move(schedule));
  const std::size_t count = all.size();
  for (std::size_t i = 0; i < count; ++i) {
    const auto [rows, columns] = kClusters[i % kClusters.size()];
    if (auto one = search::with_cluster(nest, all[i], target, rows, columns))
      all.push_back(*std::move(one));
    if (auto one = search::with_parts(nest, all[i], target, i % 2 == 0 ? 2 : 4))
      all.push_back(*std::move(one));
  }
  return all;
}

} // namespace

std::vector<Cell> cells_by_form(const poly::Group &group, const std::vector<Schedule> &all,
                                const Target &target) {
  std::map<std::string, Cell> cells;
  for (const Schedule &schedule : all) {
    const std::string form = form_of(schedule);
    Cell &cell = cells.try_emplace(form, Cell{form, {}, {}}).first->second;
    add_kernel(cell, group, schedule, target);
  }
  std::vector<Cell> list;
  for (auto &[form, cell] : cells)
    list.push_back(std::move(cell));
  return list;
}

namespace {

// No algorithm computes a single one.
bool has_points(const nest::Nest &nest) {
  return std::any_of(nest.indices.begin(), nest.indices.begin() + nest.output_indices,
                     [](const nest::Index &index) { return index.extent > 1; });
}

} // namespace

std::vector<HashRow> algorithm_rows() {
  std::vector<HashRow> rows;
  std::vector<Problem> problems = float_problems();
  for (Problem &problem : core_problems())
    problems.push_back(std::move(problem));
  for (const Problem &problem : problems)
    if (has_points(problem.group.anchor))
      rows.push_back({.name = "algorithms/" + problem.name,
                      .cells = [group = problem.group] { return algorithm_cells(group); }});
  return rows;
}

std::vector<HashRow> form_rows() {
  std::vector<HashRow> rows;
  for (const Problem &problem : float_problems())
    rows.push_back({.name = "candidates/" + problem.name,
                    .cells = [group = problem.group] { return candidate_cells(group); }});
  std::vector<Problem> problems = core_problems();
  problems.push_back({"f16_residual", with_residual("f16")});
  problems.push_back({"bf16_residual", with_residual("bf16")});
  for (const Problem &problem : problems)
    for (const bool tf32 : {false, true}) {
      const poly::Group &group = problem.group;
      if (tf32 != (group.anchor.slots[0].type == DType::F32))
        continue;
      rows.push_back({.name = "mma/" + problem.name, .cells = [group, tf32] {
                        const Target target = target_row("cuda_sm80");
                        return cells_by_form(
                            group, search::core_schedules(group.anchor, target, tf32), target);
                      }});
      for (const int units : {3, 132})
        rows.push_back({.name = fmt::format("wgmma/{}/units{}", problem.name, units),
                        .cells = [group, tf32, units] {
                          const Target target = with_units(target_row("cuda_sm90"), units);
                          return cells_by_form(group, wgmma_variants(group.anchor, target, tf32),
                                               target);
                        }});
    }
  return rows;
}

} // namespace tilefuse::testing
