// SPDX-License-Identifier: Apache-2.0
#include "train/gradients.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "model/passes.h"
#include "train/lanes/crossing.h"
#include "train/lanes/sum_program.h"
#include "train/parameters.h"

namespace tilefuse::train {
namespace {

using program::Program;
using program::TensorId;
using runtime::Binding;

constexpr std::int64_t kRowBytes = 4 * kRow;

std::int64_t bytes_of(const program::Tensor &tensor) {
  return program::elems(tensor.shape) * size_bytes(tensor.type);
}

std::int64_t round_up(std::int64_t bytes) {
  return (bytes + kRowBytes - 1) / kRowBytes * kRowBytes;
}

TensorId lane_sum(const Program &whole, std::size_t count, std::size_t number) {
  return whole.outputs.at(whole.outputs.size() - count + number);
}

TensorId over_lanes(const Program &whole, std::size_t count, std::size_t number) {
  return whole.inputs.at(whole.inputs.size() - count + number);
}

void add(runtime::Timeline &timeline, std::span<runtime::Launchable *const> kernels) {
  timeline.kernels.insert(timeline.kernels.end(), kernels.begin(), kernels.end());
}

} // namespace

CutStep cut_step(const StepProgram &step, const std::string &precision, const Target &target) {
  model::check_precision(precision, target);
  CutStep made{.applied = {.program = step.program, .is_simplified = true}};
  model::AppliedPrecision &applied = made.applied;
  if (step.lane_sums > 0) {
    search::KeptChoices none(nullptr, target);
    applied.program = model::run_stage(model::PassStage::Compose, std::move(applied.program),
                                       {.target = &target, .kept = &none});
  }
  made.segments = cut(applied.program, step.lane_sums);
  return made;
}

Gradients::Gradients(const StepProgram &step, const Compilation &compilation,
                     const GradientPlaces &places, LaneShare share)
    : share_(std::move(share)), device_(compilation.device), lane_sums_(step.lane_sums),
      fed_count_(step.fed) {
  const auto [applied, segments] = cut_step(step, compilation.precision, device_.target());
  const Program &whole = applied.program;
  model::SessionOptions options = with(compilation.session, applied);
  options.has_asides = true;
  fed_.resize(sets());
  places_.assign(sets(), std::vector<Binding>(whole.tensors.size()));
  place_ports(whole, places);
  for (const Segment &segment : segments) {
    programs_.push_back(
        std::make_unique<model::Resident>(segment.program, device_, compilation.cache, options));
    sums_.push_back(place_lane_sums(whole, segment));
  }
  place_crossing(whole, segments);
  std::int64_t arena_bytes = 1;
  for (const auto &program : programs_)
    arena_bytes = std::max(arena_bytes, model::Execution::arena_bytes(*program));
  runtime::Memory *arena = is_together() ? allocate(arena_bytes).memory : nullptr;
  for (const Segment &segment : segments)
    add_executions(segment, arena);
  add_sums(compilation, places.learned);
}

Binding Gradients::allocate(std::int64_t bytes) {
  memory_.push_back(device_.allocate(bytes));
  const Binding all{memory_.back().get(), 0, bytes};
  device_.fill_zero(all);
  return all;
}

// Of lanes that learn together each has its own "learned" and batch.
void Gradients::place_ports(const Program &whole, const GradientPlaces &places) {
  for (std::size_t set = 0; set < sets(); ++set) {
    learned_.push_back(sets() > 1 ? allocate(places.learned.bytes) : places.learned);
    for (const model::PlacedPort &each : places.ports) {
      const TensorId id =
          (each.port.is_output ? whole.outputs : whole.inputs).at(each.port.position);
      place(set, id) = each.place;
      if (each.place.memory == places.learned.memory)
        place(set, id).memory = learned_[set].memory;
    }
    for (std::size_t port = 0; port < fed() && is_together(); ++port)
      fed_[set][port] = place(set, whole.inputs[port]) =
          allocate(bytes_of(whole[whole.inputs[port]]));
  }
}

// Each has rows of its own, of each lane.
Gradients::LaneSums Gradients::place_lane_sums(const Program &whole, const Segment &segment) {
  std::int64_t bytes = 0;
  for (const std::size_t sum : segment.lane_sums)
    bytes += round_up(bytes_of(whole[lane_sum(whole, lane_sums_, sum)]));
  if (bytes == 0)
    return {};
  LaneSums made{allocate(share_.all * bytes), allocate(bytes), {}};
  std::int64_t offset = 0;
  for (const std::size_t sum : segment.lane_sums) {
    const TensorId own = lane_sum(whole, lane_sums_, sum);
    const std::int64_t size = bytes_of(whole[own]);
    for (std::size_t set = 0; set < sets(); ++set) {
      const std::int64_t lane = share_.first + static_cast<std::int64_t>(set);
      place(set, own) = {made.gathered.memory, lane * bytes + offset, size};
      place(set, over_lanes(whole, lane_sums_, sum)) = {made.total.memory, offset, size};
    }
    offset += round_up(size);
  }
  return made;
}

// What later segments read: each where nothing lies that is alive at the same time.
void Gradients::place_crossing(const Program &whole, std::span<const Segment> segments) {
  const auto is_placed = [&](TensorId id) { return place(0, id).memory != nullptr; };
  const auto [crossing, bytes] = place_crossings(whole, segments, device_.alignment(), is_placed);
  if (bytes == 0)
    return;
  for (std::size_t set = 0; set < sets(); ++set) {
    const Binding all = allocate(bytes);
    for (const Crossing &each : crossing)
      place(set, each.tensor) = {all.memory, each.offset, bytes_of(whole[each.tensor])};
  }
}

void Gradients::add_executions(const Segment &segment, runtime::Memory *arena) {
  const model::Resident &resident = *programs_[executions_.size()];
  executions_.emplace_back();
  for (std::size_t set = 0; set < sets(); ++set) {
    std::vector<model::PlacedPort> placed;
    for (const bool is_output : {false, true}) {
      const std::vector<TensorId> &ids = is_output ? segment.outputs : segment.inputs;
      for (std::size_t port = 0; port < ids.size(); ++port)
        if (place(set, ids[port]).memory != nullptr)
          placed.push_back({{is_output, port}, place(set, ids[port])});
    }
    executions_.back().push_back(std::make_unique<model::Execution>(resident, placed, arena));
  }
}

void Gradients::add_sums(const Compilation &given, const Binding &learned) {
  Compilation compilation = given;
  compilation.precision = "f32";
  const auto make = [&](const std::vector<Binding> &parts, const Binding &sum, double factor) {
    std::vector<model::PlacedPort> placed{{{true, 0}, sum}};
    for (std::size_t part = 0; part < parts.size(); ++part)
      placed.push_back({{false, part}, parts[part]});
    return Phase(sum_program(sum.bytes / kRowBytes, static_cast<int>(parts.size()), factor),
                 compilation, placed);
  };
  for (LaneSums &each : sums_) {
    std::vector<Binding> parts;
    for (int lane = 0; lane < share_.all && each.total.memory != nullptr; ++lane)
      parts.push_back({each.gathered.memory, lane * each.total.bytes, each.total.bytes});
    if (!parts.empty())
      each.sum.emplace(make(parts, each.total, 1));
  }
  if (sets() > 1)
    learned_sum_.emplace(make(learned_, learned, share_.factor));
}

runtime::Timeline Gradients::timeline() const {
  runtime::Timeline timeline;
  for (std::size_t s = 0; s < executions_.size(); ++s) {
    for (const auto &execution : executions_[s])
      execution->add_to(timeline);
    if (!sums_[s].sum)
      continue;
    const std::size_t now = timeline.kernels.size();
    if (share_.gather)
      timeline.beside.push_back(
          {now, now, [this, all = sums_[s].gathered] { share_.gather(all); }});
    add(timeline, sums_[s].sum->kernels());
  }
  if (learned_sum_)
    add(timeline, learned_sum_->kernels());
  return timeline;
}

Binding Gradients::input(int lane, std::size_t port) const {
  return is_together() ? fed_[set_of(lane)][port] : executions_.front().front()->own({false, port});
}

std::int64_t Gradients::fed_bytes() const {
  std::int64_t bytes = 0;
  for (std::size_t port = 0; port < fed(); ++port)
    bytes += input(0, port).bytes;
  return bytes;
}

std::int64_t Gradients::activation_bytes() const {
  std::int64_t bytes = 0;
  for (const auto &by_set : executions_)
    for (const auto &execution : by_set)
      bytes += execution->bytes();
  for (const auto &memory : memory_)
    bytes += memory->bytes();
  return bytes;
}

std::int64_t Gradients::constant_bytes() const {
  std::int64_t bytes = 0;
  for (const auto &program : programs_)
    bytes += program->plan().weight_bytes;
  return bytes;
}

std::vector<Profiled> Gradients::profile(int passes) {
  std::vector<Profiled> profiled;
  for (std::size_t s = 0; s < programs_.size(); ++s)
    profiled.push_back({programs_[s].get(),
                        model::profile(*programs_[s], *executions_[s].front(), passes).kernels});
  return profiled;
}

} // namespace tilefuse::train
