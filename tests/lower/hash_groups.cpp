// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include <fmt/format.h>

#include "../bench/fused.h"
#include "lower/hash_rows.h"
#include "model/conv_gradient.h"
#include "model/conv_nest.h"
#include "model/oracle/random_case.h"
#include "model/pooled_group.h"
#include "model/spread_case.h"
#include "search/forms/fed_forms.h"
#include "search/groups.h"
#include "search/network/launches.h"
#include "search/sample_group.h"
#include "support/fed_group.h"
#include "support/random_backward.h"
#include "support/random_group.h"
#include "target/rows.h"

namespace tilefuse::testing {
namespace {

using model::By;
using model::Conv;
using model::Pooled;
using schedule::Schedule;

// Maps that feed a ring of matrix instructions, in every form.
std::vector<Cell> fed_cells(const poly::Group &group) {
  std::vector<Cell> cells;
  for (const auto &[row, units] : {std::pair{"cuda_sm80", 4}, {"cuda_sm90", 2}, {"cuda_sm90", 132}})
    for (const bool tf32 : {false, true}) {
      Target target = target_row(row);
      target.compute_units = units;
      const auto all = search::fed_core_schedules(group, target, tf32);
      for (Cell &cell : cells_by_form(group, all, target)) {
        cell.column = fmt::format("{}/{}:{}", row, units, cell.column);
        cells.push_back(std::move(cell));
      }
    }
  return cells;
}

std::vector<HashRow> fed_rows() {
  std::vector<HashRow> rows;
  const auto add = [&](const std::string &name, const poly::Group &group) {
    rows.push_back({.name = "fed/" + name, .cells = [group] { return fed_cells(group); }});
  };
  const std::vector<std::pair<const char *, Conv>> convs = {
      {"f16_3x3", {.n = 2, .c = 64, .k = 64}},
      {"f16_3x3_s2", {.n = 3, .c = 32, .k = 32, .stride = 2}},
      {"f16_1x1", {.h = 8, .w = 8, .c = 64, .k = 72, .r = 1, .s = 1, .pad = 0}},
      {"f16_d2", {.n = 3, .h = 7, .w = 7, .c = 48, .k = 40, .dilation = 2, .pad = 2}},
      {"f16_odd", {.h = 5, .w = 11, .c = 20, .k = 17, .r = 5, .s = 2, .stride = 3}},
      {"bf16_c6", {.c = 6, .k = 9, .in = "bf16"}},
      {"tf32_c12", {.c = 12, .k = 64, .in = "f32", .out = "f32", .post = "acc + $0"}}};
  for (const auto &[name, conv] : convs) {
    add(fmt::format("normalised_{}", name), model::normalised(model::group_of(conv), 0));
    add(fmt::format("masked_{}", name), model::masked(model::group_of(conv), 0));
  }
  for (const By by : {By::Input, By::Filter}) {
    const poly::Group group = model::gradients({.n = 2, .c = 64, .k = 64}, by).front();
    const char *name = by == By::Input ? "by_input" : "by_filter";
    add(fmt::format("masked_{}", name), model::masked(group, 0));
    if (by == By::Filter)
      add("both_by_filter", model::normalised(model::masked(group, 0), 1));
  }
  const std::vector<std::pair<const char *, model::FirstLayer>> layers = {
      {"7x7_s2", {.h = 20, .w = 36, .k = 64, .r = 7, .s = 7, .stride = 2, .pad = 3}},
      {"channels_last", {.h = 17, .w = 19, .from = "f16", .has_channels_last = true}},
      {"bf16_c4", {.h = 23, .w = 31, .c = 4, .k = 48, .stride = 2, .pad = 0, .type = "bf16"}},
      {"5x5_c1", {.n = 3, .h = 12, .w = 33, .c = 1, .r = 5, .s = 5, .pad = 2}}};
  for (const auto &[name, layer] : layers)
    add(fmt::format("spread_{}", name), *model::spread(layer));
  return rows;
}

const std::vector<std::string> kRows = {"cpu_avx2",    "cpu_avx512", "opencl_gpu", "opencl_nvidia",
                                        "opencl_mali", "cuda_sm80",  "cuda_sm90"};

// What the search picks for a group, where it finds something.
std::vector<Cell> picked_cells(const poly::Group &group) {
  std::vector<Cell> cells;
  for (const std::string &row : kRows) {
    const Target target = target_row(row);
    const std::optional<Schedule> picked = search::pick_fused(group, target);
    if (!picked)
      continue;
    cells.push_back({row, {}, {}});
    add_kernel(cells.back(), group, *picked, target);
  }
  return cells;
}

std::vector<HashRow> picked_rows() {
  std::vector<HashRow> rows;
  const auto add = [&](const std::string &name, const poly::Group &group) {
    rows.push_back({.name = "fused/" + name, .cells = [group] { return picked_cells(group); }});
  };
  for (const bench::ChainBlock &block : bench::chain_blocks())
    add(block.name, bench::fused_chain(bench::chain(block)).group);
  add("pooled_f16", pooled_group(Pooled{.n = 3, .size = 7, .c = 64, .m = 128, .taps = 1}));
  add("pooled_bf16", pooled_group(Pooled{.n = 2,
                                         .size = 5,
                                         .c = 32,
                                         .m = 72,
                                         .in = "bf16",
                                         .out = "bf16",
                                         .post = "bf16(max(acc + $0, 0))"}));
  add("pooled_i8", pooled_group(Pooled{.n = 2,
                                       .size = 4,
                                       .c = 64,
                                       .m = 96,
                                       .taps = 1,
                                       .in = "i8",
                                       .out = "f32",
                                       .acc = "i32",
                                       .post = "f32(acc) + $0"}));
  return rows;
}

// The launches of these groups; nothing where no tile of a group fits the target.
std::optional<Cell> launch_cell(const std::string &column, std::vector<poly::PlacedGroup> groups,
                                const Target &target) {
  std::vector<launch::Part> kernels;
  for (poly::PlacedGroup &placed : groups) {
    std::optional<Schedule> picked = search::pick_fused(placed.group, target);
    if (!picked)
      return {};
    kernels.push_back({std::move(placed), *std::move(picked)});
  }
  Cell cell{column, {}, {}};
  for (const launch::Launch &launch :
       search::choose_launches(std::move(kernels), target, search::pick_of_size(target)))
    add_launch(cell, launch, target);
  return cell;
}

// A block's kernels in a network that fuses: judged, and whatever can be fused.
std::vector<Cell> block_cells(const bench::MapBlock &block) {
  std::vector<Cell> cells;
  const std::vector<std::string> all =
      block.type == "f16" ? std::vector<std::string>{"cuda_sm80", "cuda_sm90"} : kRows;
  for (const std::string &row : all)
    for (const auto &[how, word] :
         {std::pair{bench::Fusing::Judged, "judged"}, {bench::Fusing::Forced, "forced"}}) {
      const Target target = target_row(row);
      if (auto cell =
              launch_cell(fmt::format("{}:{}", row, word), map_groups(block, how, target), target))
        cells.push_back(*std::move(cell));
    }
  return cells;
}

std::vector<HashRow> block_rows() {
  std::vector<HashRow> rows;
  for (const bench::MapBlock &block : bench::map_blocks())
    rows.push_back({.name = "blocks/" + block.name,
                    .part = block.batch == 256 ? Part::Nightly : Part::Slow,
                    .cells = [block] { return block_cells(block); }});
  return rows;
}

model::Tape tape_of(Random &random) {
  constexpr int kLength = 200;
  model::Tape tape;
  for (int i = 0; i < kLength; ++i)
    tape.push_back(static_cast<std::uint32_t>(random.next()));
  return tape;
}

void add_drawn(Cell &cell, const std::optional<model::KernelCase> &drawn) {
  if (drawn)
    add_kernel(cell, drawn->group, drawn->schedule, drawn->target);
}

std::optional<model::KernelCase> scheduled(const poly::Group &group, LaneKind lanes,
                                           Random &random) {
  model::KernelCase drawn{.group = group, .target = model::random_target(random, lanes)};
  const auto schedule = search::sample(drawn.group, drawn.target, random);
  if (!schedule)
    return {};
  drawn.schedule = *schedule;
  return drawn;
}

// Schedules that no search picks: what else is legal.
std::vector<Cell> random_cells(std::uint64_t first) {
  constexpr std::uint64_t kCases = 10;
  std::vector<Cell> cells = {{"vectors", {}, {}}, {"work_items", {}, {}}, {"mma", {}, {}},
                             {"wgmma", {}, {}},   {"chains", {}, {}},     {"backward", {}, {}}};
  for (std::uint64_t seed = first; seed < first + kCases; ++seed) {
    Random random(seed);
    const model::Tapes tapes{tape_of(random), tape_of(random), 0};
    const LaneKind lanes = seed % 2 == 0 ? LaneKind::Vector : LaneKind::WorkItem;
    add_drawn(cells[0], draw_case(tapes, LaneKind::Vector));
    add_drawn(cells[1], draw_case(tapes, LaneKind::WorkItem));
    add_drawn(cells[2], draw_core_case(tapes));
    add_drawn(cells[3], draw_wgmma_case(tapes));
    add_drawn(cells[4],
              scheduled(model::fuse_chain(model::random_chain(random)).group, lanes, random));
    add_drawn(cells[5], scheduled(model::random_backward_group(random).group, lanes, random));
  }
  std::erase_if(cells, [](const Cell &cell) { return cell.kernels.empty(); });
  return cells;
}

std::vector<HashRow> random_rows() {
  constexpr std::uint64_t kRandomRows = 40;
  std::vector<HashRow> rows;
  for (std::uint64_t row = 0; row < kRandomRows; ++row)
    rows.push_back({.name = fmt::format("random/{}", row),
                    .cells = [row] { return random_cells(1000 * row); }});
  return rows;
}

} // namespace

std::vector<HashRow> group_rows() {
  std::vector<HashRow> rows = fed_rows();
  for (const auto &more : {picked_rows(), block_rows(), random_rows()})
    rows.insert(rows.end(), more.begin(), more.end());
  return rows;
}

} // namespace tilefuse::testing
