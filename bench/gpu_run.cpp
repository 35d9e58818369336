// SPDX-License-Identifier: Apache-2.0
#include "gpu_run.h"
#include "emit/make_emitter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <utility>

#include "base/error.h"
#include "base/index.h"
#include "base/random.h"
#include "cost/group_model.h"
#include "cost/model.h"
#include "emit/emitter.h"
#include "launch/arguments.h"
#include "lower/launch/lower_launch.h"
#include "model/oracle/check.h"
#include "model/oracle/expected_group.h"
#include "model/oracle/simulate_group.h"
#include "model/plan/pack.h"
#include "poly/post_ops.h"
#include "schedule/legal.h"
#include "schedule/mma/core.h"
#include "schedule/staging.h"
#include "schedule/wgmma/pixel_box.h"
#include "schedule/wgmma/wgmma_tiles.h"
#include "search/forms/algorithms.h"
#include "search/forms/core_forms.h"
#include "search/forms/fed_forms.h"
#include "search/forms/named_schedule.h"
#include "search/forms/part_forms.h"
#include "search/groups.h"
#include "search/network/launches.h"
#include "search/network/split_groups.h"
#include "search/pick.h"
#include "search/work_items.h"

namespace tilefuse::bench {
namespace {

using program::Bytes;
using schedule::Schedule;

constexpr std::int64_t kSampledOutputs = 300;
constexpr std::int64_t kPeriod = 1048573; // elements after which random values repeat
constexpr std::string_view kPicked = "picked";
constexpr std::string_view kPickedOn = "picked:"; // and a cluster
constexpr std::string_view kWhole = "whole";
constexpr char kRanked = '#';
constexpr std::string_view kTiled = "wgmma:";
constexpr std::string_view kApart = "apart/";

// Schedules of a family of matrix instructions, "core", "wgmma" or "tf32", or of an algorithm of
// work-items.
std::vector<Schedule> family_of(const nest::Nest &nest, const Target &target,
                                std::string_view family) {
  std::vector<Schedule> all;
  if (family != "wgmma" && family != "core" && family != "tf32") {
    all = search::matrix_forms(nest, target);
    search::visit_multiply_adds(
        nest, target, [](const Schedule &) { return true; },
        [&](Schedule schedule) { all.push_back(std::move(schedule)); });
    std::erase_if(all, [&](const Schedule &each) { return each.name != family; });
    return all;
  }
  const bool tf32 = family == "tf32";
  if (family != "wgmma")
    all = search::core_schedules(nest, target, tf32);
  if (family != "core")
    for (Schedule &schedule : search::wgmma_schedules(nest, target, tf32))
      all.push_back(std::move(schedule));
  return all;
}

// Of those the fastest predicted first.
Schedule ranked(const nest::Nest &nest, const Target &target, std::string_view family,
                std::size_t place) {
  std::vector<Schedule> all = family_of(nest, target, family);
  std::vector<std::pair<double, Schedule>> ranked;
  for (Schedule &schedule : all)
    ranked.emplace_back(cost::predict(nest, schedule, target).seconds, std::move(schedule));
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto &a, const auto &b) { return a.first < b.first; });
  if (place < 1 || place > ranked.size())
    throw Error(ErrorCode::Unsupported, "there are not so many");
  return ranked[place - 1].second;
}

// The part of a way's name behind its split.
std::string schedule_name(const std::string &name) { return name.substr(name.find('/') + 1); }

// Rows and columns of a tile; "t": in turns, "b": of a box ("b4": 4 neighbours in blocks), "w":
// swapped, "s": stored in boxes, "a": operands fetched ahead ("a1": to one buffer), "h": taps from
// a window, "k": the filter kept, "g": data that warps gather.
std::string tile_text(const nest::Nest &nest, const Schedule &schedule) {
  const schedule::CoreTile tile = gemm_of(nest, schedule).tile;
  const schedule::Core &core = schedule.core;
  const bool boxed = is_wgmma(*core.op) && has_box(gemm_of(nest, schedule));
  const std::int64_t neighbours = boxed ? gemm_of(nest, schedule).row.used : 1;
  return fmt::format("{}x{}{}{}{}{}{}{}{}{}{}", tile.rows, tile.columns,
                     schedule.roles.math.instances > 1 ? "t" : "", boxed ? "b" : "",
                     neighbours > 1 ? std::to_string(neighbours) : "",
                     schedule.core.swap_ab ? "w" : "",
                     schedule.store == schedule::Store::Tma ? "s" : "",
                     schedule.extra.stages == 0                               ? ""
                     : schedule.extra.stages == schedule.roles.math.instances ? "a"
                                                                              : "a1",
                     halo_stages(schedule) > 0 ? "h" : "", has_resident(schedule) ? "k" : "",
                     has_loading_warps(schedule) ? "g" : "");
}

// "c2x1" or "p4" at the end of a tile's name.
Schedule on_cluster(const nest::Nest &nest, const Schedule &schedule, const Target &target,
                    std::string_view shape) {
  const bool is_in_parts = shape.starts_with('p');
  if (shape.size() != (is_in_parts ? 2U : 4U))
    throw Error(ErrorCode::Unsupported, "a cluster is written c2x1 or p4");
  std::optional<Schedule> found =
      is_in_parts ? search::with_parts(nest, schedule, target, shape[1] - '0')
                  : search::with_cluster(nest, schedule, target, shape[1] - '0', shape[3] - '0');
  if (!found)
    throw Error(ErrorCode::Unsupported, "there is no such cluster");
  return *std::move(found);
}

// The tile of wgmma of that text; what search picks where wgmma has no part. "r4" at the end: with
// a ring of so many buffers.
Schedule tiled_wgmma(const nest::Nest &nest, const Target &target, std::string_view name) {
  if (const std::size_t ring = name.rfind('r'); ring != std::string_view::npos) {
    Schedule schedule = tiled_wgmma(nest, target, name.substr(0, ring));
    set_step_stages(schedule, std::stoi(std::string(name.substr(ring + 1))));
    if (const auto reason = illegal(nest, schedule, target))
      throw Error(ErrorCode::Unsupported, *reason);
    return schedule;
  }
  const std::string_view sizes = name.substr(0, name.find_first_of("cp"));
  const std::vector<Schedule> all = search::every_wgmma_schedule(nest, target, false);
  if (all.empty())
    return search::pick(nest, target);
  for (const Schedule &schedule : all)
    if (tile_text(nest, schedule) == sizes)
      return sizes == name ? schedule
                           : on_cluster(nest, schedule, target, name.substr(sizes.size()));
  throw Error(ErrorCode::Unsupported, "there is no such tile");
}

// The same of a group whose data maps compute, or a copy spreads: what search picks, or a tile.
Schedule fed_schedule(const poly::Group &group, std::string_view name, const Target &target) {
  if (!name.starts_with(kTiled))
    return search::pick(group, target);
  for (Schedule &schedule : search::fed_core_schedules(group, target, false))
    if (tile_text(group.anchor, schedule) == name.substr(kTiled.size()))
      return std::move(schedule);
  throw Error(ErrorCode::Unsupported, "there is no such tile");
}

// Error{Unsupported} where the algorithm does not fit.
Schedule schedule_of(const nest::Nest &nest, const std::string &name, const Target &target) {
  if (name == kPicked || name == kWhole || nest.inputs.size() < 2)
    return search::pick(nest, target);
  if (name.starts_with(kPickedOn))
    return on_cluster(nest, search::pick(nest, target), target, name.substr(kPickedOn.size()));
  if (name.starts_with(kTiled))
    return tiled_wgmma(nest, target, name.substr(kTiled.size()));
  if (const std::size_t mark = name.find(kRanked); mark != std::string::npos)
    return ranked(nest, target, std::string_view(name).substr(0, mark),
                  std::stoul(name.substr(mark + 1)));
  search::NamedSchedule named = search::named_schedule(name, nest, target);
  if (!named.schedule)
    throw Error(ErrorCode::Unsupported, named.refusal);
  return std::move(*named.schedule);
}

// Random numbers in [-1, 1), or small whole ones, the same again after kPeriod of them.
Bytes random_values(std::int64_t elems, DType type, unsigned seed) {
  std::mt19937 engine(seed);
  const auto size = static_cast<std::size_t>(size_bytes(type));
  Bytes bytes(static_cast<std::size_t>(elems) * size);
  for (std::int64_t i = 0; i < std::min(elems, kPeriod); ++i) {
    const double real = static_cast<double>(engine()) * 0x1p-31 - 1.0;
    store_element(bytes.data(), type, i, is_float(type) ? real : std::floor(real * 8));
  }
  const std::size_t period = static_cast<std::size_t>(kPeriod) * size;
  for (std::size_t i = period; i < bytes.size(); i += period)
    std::memcpy(bytes.data() + i, bytes.data(), std::min(period, bytes.size() - i));
  return bytes;
}

} // namespace

std::string Way::schedule_text() const {
  const std::vector<const launch::Part *> all = parts();
  if (all.empty())
    return {};
  const auto flops = [](const launch::Part *part) {
    return nest::flops(part->placed.group.anchor);
  };
  const launch::Part &largest = **std::max_element(
      all.begin(), all.end(), [&](const auto *a, const auto *b) { return flops(a) < flops(b); });
  const Schedule &schedule = largest.schedule;
  std::string text = schedule.name;
  if (schedule::has_core(schedule)) {
    const nest::Nest &nest = largest.placed.group.anchor;
    text += fmt::format(":{}x{}r{}", tile_text(nest, schedule), gemm_of(nest, schedule).tile.depth,
                        step_stages(schedule));
    if (schedule.tiles.cluster_m * schedule.tiles.cluster_n > 1)
      text += fmt::format("c{}x{}", schedule.tiles.cluster_m, schedule.tiles.cluster_n);
    if (schedule.tiles.split_k > 1)
      text += fmt::format("p{}", schedule.tiles.split_k);
  }
  if (all.size() == 1)
    return text;
  return joined.size() == all.size() ? fmt::format("{} x{}", text, all.size())
                                     : fmt::format("{} {} in {}", text, all.size(), joined.size());
}

std::vector<const launch::Part *> Way::parts() const {
  std::vector<const launch::Part *> all;
  for (const launch::Launch &launch : joined)
    for (const launch::Part &part : launch.parts)
      all.push_back(&part);
  return all;
}

std::vector<runtime::Launchable *> Way::launches() const {
  std::vector<runtime::Launchable *> all;
  for (const auto &launchable : launchables)
    all.push_back(launchable.get());
  return all;
}

Way make_way(Work &work, const std::string &name, const Target &target) {
  Way way{.name = name};
  std::vector<poly::PlacedGroup> groups = work.groups;
  const std::unique_ptr<emit::Emitter> emitter = emit::make_emitter(target, nullptr);
  try {
    const bool is_apart = name.starts_with(kApart);
    if (is_apart)
      groups = poly::make_groups(work.stored);
    if (const std::size_t mark = name.find('/'); mark != std::string::npos && !is_apart)
      groups =
          search::split_groups(work.groups, work.stored, target, {.split = name.substr(0, mark)});
    else if (schedule_name(name) == kPicked)
      groups = search::split_groups(groups, work.stored, target, {});
    std::vector<launch::Part> kernels;
    for (poly::PlacedGroup &placed : groups) {
      Schedule schedule = placed.group.producers.empty()
                              ? schedule_of(placed.group.anchor, schedule_name(name), target)
                              : fed_schedule(placed.group, schedule_name(name), target);
      kernels.push_back({std::move(placed), std::move(schedule)});
    }
    way.joined = search::choose_launches(std::move(kernels), target, search::pick_of_size(target),
                                         is_apart ? search::Sharing::None : search::Sharing::Any);
    for (const launch::Launch &launch : way.joined) {
      for (const launch::Part &part : launch.parts)
        way.predicted_seconds += cost::predict(part.placed.group, part.schedule, target).seconds;
      way.packages.push_back(emitter->emit(lower::lower_launch(launch, target), target));
    }
  } catch (const Error &error) {
    way.refusal = error.message();
    way.packages.clear();
  }
  return way;
}

void build(std::vector<Way *> ways, runtime::Device &device) {
  std::vector<Package> packages;
  for (const Way *way : ways)
    packages.insert(packages.end(), way->packages.begin(), way->packages.end());
  try {
    packages = device.build(std::move(packages));
    auto next = packages.begin();
    for (Way *way : ways)
      for (Package &package : way->packages)
        package = std::move(*next++);
    return;
  } catch (const Error &error) {
    if (ways.size() == 1) {
      ways[0]->refusal = error.message();
      ways[0]->packages.clear();
      return;
    }
  }
  for (Way *way : ways)
    build({way}, device);
}

WorkData::WorkData(const Work &work, runtime::Device &device) : work_(work), device_(device) {
  for (const program::Buffer &buffer : work.stored.buffers) {
    const std::int64_t bytes = buffer.elems * size_bytes(buffer.type);
    bytes_.emplace_back();
    memory_.push_back(device.allocate(std::max<std::int64_t>(1, bytes)));
    if (buffer.role == program::Role::Temporary)
      continue;
    bytes_.back() = random_values(buffer.elems, buffer.type, static_cast<unsigned>(bytes_.size()));
    device.write({memory_.back().get(), 0, bytes}, bytes_.back());
  }
}

runtime::Binding WorkData::binding(program::BufferId id) const {
  runtime::Memory *memory = memory_[at(id)].get();
  return {memory, 0, memory->bytes()};
}

void WorkData::load(Way &way) {
  for (std::size_t l = 0; l < way.joined.size(); ++l) {
    std::vector<runtime::Binding> bindings;
    const launch::Launch &launch = way.joined[l];
    for (const launch::Argument &argument : launch::arguments(launch).all) {
      const program::BufferId buffer = buffer_of(launch, argument);
      bindings.push_back(binding(buffer));
      if (argument.arg.slot)
        continue;
      const launch::Part &part = launch.parts[argument.part];
      const Bytes packed =
          model::pack(part.placed.group, part.schedule, argument.arg, bytes_[at(buffer)]);
      const auto size = static_cast<std::int64_t>(packed.size());
      way.packed.push_back(device_.allocate(size));
      bindings.back() = {way.packed.back().get(), 0, size};
      device_.write(bindings.back(), packed);
    }
    way.launchables.push_back(device_.load(way.packages[l], bindings));
  }
}

std::optional<std::string> WorkData::check(const Way &way, double &largest_share) {
  for (std::size_t b = 0; b < work_.stored.buffers.size(); ++b) {
    const program::Buffer &buffer = work_.stored.buffers[b];
    const Bytes mark(static_cast<std::size_t>(buffer.elems * size_bytes(buffer.type)),
                     std::byte{buffer.needs_zero ? std::uint8_t{0} : std::uint8_t{0xff}});
    if (buffer.role == program::Role::Temporary && !mark.empty())
      device_.write({memory_[b].get(), 0, static_cast<std::int64_t>(mark.size())}, mark);
  }
  device_.launch_all(way.launches());
  read_temporaries();
  double roundoff = 0;
  for (const launch::Part *part : way.parts())
    roundoff = std::max(roundoff, model::input_roundoff(part->schedule));
  for (const poly::PlacedGroup &placed : work_.groups)
    if (std::optional<std::string> wrong = compare(placed, roundoff, largest_share))
      return wrong;
  return {};
}

// What one kernel writes and the next reads.
void WorkData::read_temporaries() {
  for (std::size_t b = 0; b < work_.stored.buffers.size(); ++b) {
    const program::Buffer &buffer = work_.stored.buffers[b];
    if (buffer.role != program::Role::Temporary)
      continue;
    bytes_[b].resize(static_cast<std::size_t>(buffer.elems * size_bytes(buffer.type)));
    if (!bytes_[b].empty())
      device_.read({memory_[b].get(), 0, static_cast<std::int64_t>(bytes_[b].size())}, bytes_[b]);
  }
}

std::optional<std::string> WorkData::compare(const poly::PlacedGroup &placed, double input_roundoff,
                                             double &largest_share) {
  const nest::Nest &nest = placed.group.anchor;
  const program::BufferId out = placed.buffers[nest.out.slot];
  std::vector<std::span<std::byte>> slots;
  for (const program::BufferId id : placed.buffers)
    slots.emplace_back(bytes_[at(id)]);
  const nest::Slot &slot = nest.slots[nest.out.slot];
  Bytes got(static_cast<std::size_t>(slot.elems * size_bytes(slot.type)));
  slots[at(nest.out.slot)] = got;
  device_.read({binding(out).memory, 0, static_cast<std::int64_t>(got.size())}, got);
  Random random(1);
  for (const nest::Expectation &want :
       poly::expect(placed.group, slots, nest::output_points(nest, kSampledOutputs, random),
                    input_roundoff)) {
    const double value = load_element(got.data(), slot.type, want.element);
    const double apart = std::fabs(value - want.value);
    if (!(apart <= want.bound))
      return fmt::format("element {} is {}, expected {} within {:.2g}", want.element, value,
                         want.value, want.bound);
    if (want.bound > 0)
      largest_share = std::max(largest_share, apart / want.bound);
  }
  return {};
}

} // namespace tilefuse::bench
