// SPDX-License-Identifier: Apache-2.0
#include "search/work_items.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>
#include <unordered_map>

#include "base/index.h"
#include "nest/index.h"
#include "schedule/legal.h"
#include "schedule/result_tile.h"
#include "schedule/roles.h"
#include "schedule/wgmma/wgmma_tiles.h"
#include "search/forms/algorithms.h"
#include "search/forms/core_forms.h"
#include "search/forms/dot_forms.h"
#include "search/forms/fma_forms.h"
#include "search/forms/named_schedule.h"
#include "search/forms/part_forms.h"
#include "target/features.h"

namespace tilefuse::search {
namespace {

using schedule::Schedule;
using search::FormSizes;
using search::FormStart;

// Chunks of a block that are read or under way.
constexpr int kRing = 3;
constexpr int kShortRing = 2;          // where local memory does not hold so many
constexpr std::int64_t kMostTaps = 7;  // that a work-item keeps side by side
constexpr std::int64_t kRowCopies = 4; // of pixels, by which other pixels are tried first

bool shorten_rings(Schedule &schedule) {
  bool is_shorter = false;
  for (schedule::Pipe &pipe : schedule.pipes)
    if (pipe.is_async() && pipe.stages == kRing) {
      pipe.stages = kShortRing;
      is_shorter = true;
    }
  return is_shorter;
}

FormSizes turned(FormSizes sizes) {
  sizes.turned = true;
  return sizes;
}

// Whether another index than those of the filter, or of a depthwise layer those that both share, is
// fastest in the result, or a tap is.
bool has_channels_apart(const nest::Nest &nest, const schedule::Roles &roles) {
  const std::optional<nest::IndexId> fastest = schedule::fastest_in_result(nest);
  if (!fastest || nest::flat(nest.out, nest.indices.size()).coeff[*fastest] != 1)
    return false;
  const std::vector<nest::IndexId> &channels =
      roles.channels.empty() ? roles.shared : roles.channels;
  return std::find(channels.begin(), channels.end(), *fastest) == channels.end() ||
         nest::extent(nest, *fastest) <= kMostTaps;
}

class Forms {
public:
  using Wanted = std::function<bool(const Schedule &)>;
  using Visit = std::function<void(Schedule)>;
  Forms(const nest::Nest &nest, const schedule::Roles &roles, const Target &target,
        const Wanted &is_wanted, const Visit &visit)
      : nest_(nest), roles_(roles), target_(target), starts_(search::form_starts(nest, roles)),
        is_wanted_(is_wanted), visit_(visit), lies_apart_(has_channels_apart(nest, roles)) {
    for (const DotRate &rate : target.dots)
      if (with_dots(nest, *rate.op, starts_.front().schedule))
        dots_.push_back(rate.op);
  }

  void add(std::string_view name, const FormSizes &sizes) { add(name, sizes, starts_.front()); }
  void add(std::string_view name, const FormSizes &sizes, const FormStart &start) {
    std::optional<Schedule> schedule = search::form(name, nest_, target_, start, sizes);
    if (!schedule)
      return;
    add_dots(*schedule);
    add_new(*std::move(schedule));
  }
  void add_products();
  void add_product(const FormSizes &sizes);
  std::vector<std::int64_t> next_keeps() const;
  void add_streams();
  void add_direct();

private:
  bool is_new(const Schedule &schedule);
  void add_new(Schedule schedule) {
    if (!is_wanted_(schedule) || !is_new(schedule))
      return;
    if (!illegal(nest_, schedule, target_))
      visit_(std::move(schedule));
    else if (shorten_rings(schedule))
      add_new(std::move(schedule));
  }
  void add_dots(const Schedule &schedule);
  std::span<const FormStart> starts_of(const FormSizes &sizes, bool near) const {
    return std::span(starts_).first(near || sizes.pixel_keep < kRowCopies ? 1 : starts_.size());
  }

  const nest::Nest &nest_;
  const schedule::Roles &roles_;
  const Target &target_;
  const std::vector<FormStart> starts_;
  std::vector<const DotOp *> dots_; // that the nest can be computed with
  const Wanted &is_wanted_;
  const Visit &visit_;
  const bool lies_apart_;
  std::unordered_map<std::size_t, std::vector<Schedule>> seen_; // by hash, illegal ones too
};

// Of what forms of one nest differ in.
std::size_t hash_of(const Schedule &schedule) {
  std::size_t hash = schedule.lane_parts.size();
  const auto add = [&](std::int64_t value) {
    constexpr std::size_t kPrime = 0x100000001b3;
    hash = (hash ^ static_cast<std::size_t>(value)) * kPrime;
  };
  for (const schedule::Split &split : schedule.splits)
    for (const std::int64_t value : {split.tile, split.keep, split.lane, split.vec})
      add(value);
  for (const schedule::Fill fill : schedule.fills)
    add(static_cast<std::int64_t>(fill));
  for (const nest::IndexId index : schedule.order)
    add(to_int(index));
  for (const schedule::Pipe &stage : schedule.pipes)
    add(stage.is_async() ? stage.stages : 0);
  return hash;
}

bool Forms::is_new(const Schedule &schedule) {
  std::vector<Schedule> &same = seen_[hash_of(schedule)];
  if (std::find(same.begin(), same.end(), schedule) != same.end())
    return false;
  same.push_back(schedule);
  return true;
}

// The same by dot products, what is staged also read in place.
void Forms::add_dots(const Schedule &schedule) {
  for (const DotOp *dot : dots_) {
    const Schedule dots = *with_dots(nest_, *dot, schedule);
    add_new(dots);
    Schedule in_place = dots;
    for (std::size_t k = 0; k < in_place.fills.size(); ++k)
      if (in_place.fills[k] == schedule::Fill::Local) {
        in_place.fills[k] = schedule::Fill::Direct;
        in_place.pipes[k] = {};
      }
    add_new(std::move(in_place));
  }
}

FormSizes with(FormSizes sizes, bool near, std::int64_t ring) {
  sizes.near = near;
  sizes.ring = ring;
  return sizes;
}

// Register tiles over channels and pixels, both operands staged.
void Forms::add_products() {
  const std::vector<std::int64_t> next_keeps = this->next_keeps();
  for (std::int64_t lanes : {4, 8, 16, 32})
    for (std::int64_t pixels : {4, 8, 16, 32})
      for (std::int64_t pixel_keep : {2, 4, 8})
        for (std::int64_t depth : {4, 8, 16, 32}) {
          FormSizes sizes = {.channel_lanes = lanes,
                             .pixel_lanes = pixels,
                             .pixel_keep = pixel_keep,
                             .depth = depth};
          if (lanes * pixels < 64 || lanes * pixels > 256)
            continue;
          for (std::int64_t keep : {1, 2}) {
            sizes.channel_keep = keep;
            add_product(sizes);
            add("first_layer", sizes);
          }
          sizes.channel_keep = 1;
          for (std::int64_t next : next_keeps) {
            sizes.next_keep = next;
            add_product(sizes);
          }
        }
}

void Forms::add_product(const FormSizes &sizes) {
  for (FormSizes each : {sizes, turned(sizes)})
    for (const bool near : {false, true}) {
      if (each.turned && !lies_apart_)
        continue;
      for (const FormStart &start : starts_of(sizes, near)) {
        add("igemm", with(each, near, 0), start);
        if (has(target_, Feature::AsyncCopies))
          add("igemm_async", with(each, near, kRing), start);
      }
    }
}

// Copies of a second channel index, which in a gradient by the filter is a tap: its copies read the
// same pixels shifted.
std::vector<std::int64_t> Forms::next_keeps() const {
  if (roles_.channels.size() < 2)
    return {};
  const std::int64_t extent = nest::extent(nest_, roles_.channels[1]);
  return extent <= kMostTaps ? std::vector<std::int64_t>{extent} : std::vector<std::int64_t>{2, 4};
}

// Lanes over channels, the filter streamed.
void Forms::add_streams() {
  for (std::int64_t lanes : {32, 64, 128})
    for (std::int64_t keep : {2, 4, 7, 14})
      for (std::int64_t rows : {1, 2, 4})
        for (std::int64_t depth : {4, 8, 16, 32})
          add("ilpm", {.channel_lanes = lanes,
                       .channel_vec = 1,
                       .pixel_keep = keep,
                       .row_keep = rows,
                       .depth = depth});
}

void Forms::add_direct() {
  for (std::int64_t lanes : {32, 64, 128, 256})
    for (std::int64_t keep : {1, 2, 4, 8}) {
      for (std::int64_t vec : {1, 2, 4, 8})
        add("depthwise", {.channel_vec = vec, .pixel_lanes = lanes, .pixel_keep = keep});
      if (lies_apart_)
        add("depthwise", turned({.channel_vec = 1, .pixel_lanes = lanes, .pixel_keep = keep}));
      add("direct", {.channel_keep = keep, .pixel_lanes = lanes});
    }
  // Much of a plane of one channel, where a block's start is dear.
  add("direct", {.channel_keep = 1, .pixel_lanes = 1024});
}

} // namespace

std::vector<Schedule> cluster_forms(const nest::Nest &nest, const Schedule &schedule,
                                    const Target &target) {
  std::vector<Schedule> found;
  if (!schedule::has_core(schedule) || !is_wgmma(*schedule.core.op) ||
      schedule.tiles.persistent == 0)
    return found;
  if (schedule.core.swap_ab || halo_stages(schedule) > 0 || schedule.extra.epi_n > 0)
    return found; // legal, and left to the tuner: the model's price of sharing is not fitted to them
  const schedule::TileGrid grid = tile_grid(gemm_of(nest, schedule));
  for (const auto &[rows, columns] : {std::pair{2, 1}, {1, 2}})
    if (rows <= grid.rows && columns <= grid.columns)
      if (auto on_cluster = search::with_cluster(nest, schedule, target, rows, columns))
        found.push_back(*std::move(on_cluster));
  return found;
}

std::vector<Schedule> matrix_forms(const nest::Nest &nest, const Target &target) {
  std::vector<Schedule> all = search::wgmma_schedules(nest, target, nest.tf32);
  const auto append = [&](std::vector<Schedule> others) {
    std::move(others.begin(), others.end(), std::back_inserter(all));
  };
  append(search::wgmma_part_schedules(nest, target, all));
  append(search::core_schedules(nest, target, nest.tf32));
  return all;
}

void visit_multiply_adds(const nest::Nest &nest, const Target &target,
                         const std::function<bool(const Schedule &)> &is_wanted,
                         const std::function<void(Schedule)> &visit) {
  const std::optional<schedule::Roles> roles = schedule::roles_of(nest);
  if (!roles)
    return;
  Forms forms(nest, *roles, target, is_wanted, visit);
  forms.add_products();
  forms.add_streams();
  forms.add_direct();
}

} // namespace tilefuse::search
