// SPDX-License-Identifier: Apache-2.0
#include "search/sample.h"

#include <algorithm>
#include <utility>

#include "base/divide.h"
#include "base/index.h"
#include "nest/index.h"
#include "schedule/dots.h"
#include "schedule/guards.h"
#include "schedule/legal.h"
#include "schedule/staging.h"
#include "search/forms/copies.h"
#include "search/forms/dot_forms.h"
#include "target/features.h"

namespace tilefuse::search {
namespace {

using nest::IndexId;
using nest::Nest;
using schedule::Fill;
using schedule::Schedule;
using schedule::Split;

constexpr int kTries = 16;
constexpr std::int64_t kMostAccumulators = 48;
constexpr std::int64_t kMostCopies = 192; // of the innermost body, reduced indices included

class Sampler {
public:
  Sampler(const Nest &nest, const Target &target, Random &random)
      : nest_(nest), target_(target), random_(random), schedule_(schedule::scalar_schedule(nest)) {
    schedule_.name = "sample";
    schedule_.lanes = target.lanes;
  }

  std::optional<Schedule> draw();

private:
  std::int64_t extent(IndexId i) const { return nest::extent(nest_, i); }
  IndexId output() { return static_cast<IndexId>(random_.between(0, nest_.output_indices - 1)); }
  IndexId reduced() {
    return static_cast<IndexId>(
        random_.between(nest_.output_indices, static_cast<std::int64_t>(nest_.indices.size()) - 1));
  }
  std::size_t outputs() const { return at(nest_.output_indices); }
  bool has_reduced() const { return outputs() < nest_.indices.size(); }

  void draw_lane();
  void draw_copies();
  void draw_tiles();
  void draw_order();
  void draw_fills();
  void draw_refinements();
  void chunk();
  void stage_deeper();
  void widen_lanes(IndexId index);
  void move_lanes(IndexId reduced);
  void settle_guards();
  void stream();
  void prefetch();
  void draw_rows(Schedule &drawn, const DotOp &op);
  void multiply_groups(const DotOp &op);
  // Makes a change, and takes it back where it breaks a rule.
  template <typename Change> void attempt(const Change &change) {
    const Schedule before = schedule_;
    change();
    if (!is_legal())
      schedule_ = before;
  }
  std::int64_t lane_width();
  std::int64_t steps_of_tile(std::int64_t most);

  bool is_legal() const { return !schedule::illegal(nest_, schedule_, target_); }
  void stage_guarded();
  std::int64_t staged_bytes() const;
  bool shrink_tile();
  bool drop_staging();
  void drop_lane();

  const Nest &nest_;
  const Target &target_;
  Random &random_;
  Schedule schedule_;
};

std::int64_t Sampler::lane_width() {
  if (target_.lanes == LaneKind::Vector)
    return std::int64_t{1} << random_.between(1, 4);
  const std::int64_t most = std::max(1, target_.max_group);
  const bool is_odd = random_.chance(30);
  return is_odd ? std::min(most, random_.between(3, 100))
                : std::min(most, std::int64_t{1} << random_.between(1, 10));
}

void Sampler::draw_lane() {
  if (outputs() == 0 || !random_.chance(85))
    return;
  const IndexId lane = output();
  std::int64_t width = lane_width();
  while (width > 2 && width >= 2 * extent(lane) && random_.chance(75))
    width /= 2;
  schedule_.splits[lane].lane = width;
}

void Sampler::draw_copies() {
  std::int64_t accumulators = 1;
  std::int64_t copies = 1;
  for (const IndexId i : schedule_.splits.ids()) {
    Split &split = schedule_.splits[i];
    const bool is_output = nest::is_output(nest_, i);
    std::int64_t most = is_output ? ceil_div(extent(i), split.lane) : extent(i);
    most = std::min(most, random_.chance(20) ? std::int64_t{16} : std::int64_t{4});
    most = std::min(most, kMostCopies / copies);
    if (is_output)
      most = std::min(most, kMostAccumulators / accumulators);
    split.keep = random_.chance(50) ? random_.between(1, most) : 1;
    copies *= split.keep;
    accumulators *= is_output ? split.keep : 1;
  }
}

// One, all, a power of two or any number of the steps that an index has.
std::int64_t Sampler::steps_of_tile(std::int64_t most) {
  switch (random_.between(0, 3)) {
  case 0:
    return 1;
  case 1:
    return std::min(most, std::int64_t{1} << random_.between(0, 6));
  case 2:
    return random_.between(1, most);
  default:
    return most;
  }
}

void Sampler::draw_tiles() {
  for (const IndexId i : output_indices(nest_)) {
    Split &split = schedule_.splits[i];
    split.tile = split.step() * steps_of_tile(ceil_div(extent(i), split.step()));
  }
}

void Sampler::draw_order() {
  const auto middle = schedule_.order.begin() + nest_.output_indices;
  random_.shuffle(schedule_.order.begin(), middle);
  random_.shuffle(middle, schedule_.order.end());
}

void Sampler::draw_fills() {
  for (std::size_t k = 0; k < nest_.inputs.size(); ++k) {
    const nest::Operand &input = nest_.inputs[k];
    const bool guarded = std::any_of(input.dims.begin(), input.dims.end(),
                                     [](const nest::Dim &dim) { return dim.guarded; });
    std::vector<Fill> fills = {Fill::Direct};
    if (schedule::has_neutral_fill(nest_) && nest_.constraints.empty())
      fills.push_back(Fill::Local);
    if (input.constant && !guarded && positions(nest_) == 0)
      fills.push_back(Fill::Packed);
    schedule_.fills[k] = random_.of(fills);
  }
}

// Walks a reduced index in chunks.
void Sampler::chunk() {
  if (!has_reduced())
    return;
  const IndexId i = reduced();
  schedule_.splits[i].tile = random_.between(1, extent(i));
  schedule_.splits[i].keep = std::min(schedule_.splits[i].keep, schedule_.splits[i].tile);
}

// Fills one input's buffer in each chunk, packed before or laid out in another way.
void Sampler::stage_deeper() {
  if (nest_.inputs.empty())
    return;
  const std::size_t k =
      at(static_cast<int>(random_.between(0, static_cast<std::int64_t>(nest_.inputs.size()) - 1)));
  schedule_.fills[k] = random_.of({Fill::Local, Fill::PackedLocal});
  schedule::Pipe &stage = schedule_.pipes[k];
  stage.layout =
      random_.of({schedule::Layout::Plain, schedule::Layout::Transposed, schedule::Layout::Odd});
  const std::vector<IndexId> chunked = chunked_indices(nest_, schedule_);
  if (chunked.empty())
    return;
  stage.at = random_.of(chunked);
  stage.stages = random_.chance(50) ? 2 : 1;
  if (has(target_, Feature::AsyncCopies) && random_.chance(50)) {
    stage.engine = schedule::Engine::CpAsync;
    stage.stages = static_cast<int>(random_.between(2, 4));
  }
}

// Deals work-items over one index more, or lets each compute neighbours as a vector.
void Sampler::widen_lanes(IndexId index) {
  Split &split = schedule_.splits[index];
  const std::int64_t factor = random_.of<std::int64_t>({2, 4, 3, 8});
  if (random_.chance(50)) {
    split.vec *= factor;
  } else {
    schedule_.lane_parts = lane_digits(schedule_);
    schedule_.lane_parts.insert(
        schedule_.lane_parts.begin() +
            random_.between(0, static_cast<std::int64_t>(schedule_.lane_parts.size())),
        {index, factor});
    split.lane *= factor;
  }
  if (!nest::is_output(nest_, index)) {
    split.keep = std::min(split.keep, std::max<std::int64_t>(1, split.tile / split.copy_stride()));
    return;
  }
  split.tile = ceil_div(split.tile, split.step()) * split.step();
  split.near = split.keep > 1 && random_.chance(40);
}

// Vectors of neighbours of a reduced index in place of an output's, of inputs as they lie.
void Sampler::move_lanes(IndexId reduced) {
  std::int64_t width = lane_width();
  if (const std::optional<IndexId> from = lane_index(schedule_)) {
    Split &split = schedule_.splits[*from];
    width = std::exchange(split.lane, 1);
    split.tile = ceil_div(split.tile, split.step()) * split.step();
  }
  Split &split = schedule_.splits[reduced];
  split.lane = width;
  split.keep = std::min(split.keep, std::max<std::int64_t>(1, split.tile / split.copy_stride()));
  for (std::size_t k = 0; k < nest_.inputs.size(); ++k)
    if (nest::moves(nest_.inputs[k], reduced)) {
      schedule_.fills[k] = Fill::Direct;
      schedule_.pipes[k] = {};
    }
}

// Clips loops and gives edges where they settle a test; unrolls taps before, so that some can.
void Sampler::settle_guards() {
  if (has_reduced() && random_.chance(50)) {
    Split &split = schedule_.splits[reduced()];
    split.keep = std::min<std::int64_t>(split.tile, 8);
  }
  for (const IndexId i : nest_.indices.ids()) {
    schedule_.splits[i].clip = can_clip(nest_, schedule_, i) && random_.chance(70);
    if (is_output(nest_, i) && can_have_edges(nest_, schedule_, i))
      attempt([&] { schedule_.splits[i].edge = true; });
  }
}

// Fetches packed inputs a step ahead.
void Sampler::prefetch() {
  for (std::size_t k = 0; k < nest_.inputs.size(); ++k)
    schedule_.pipes[k].prefetch = schedule_.fills[k] == Fill::Packed;
}

// Reads one input or both into registers ahead of the bodies that use them.
void Sampler::stream() {
  const int registers = static_cast<int>(random_.between(2, 4));
  for (schedule::Pipe &stage : schedule_.pipes)
    stage.stream = random_.chance(60) ? registers : 0;
}

// Few copies, as a matrix unit has few registers; rows of any number, and groups that divide.
void Sampler::draw_rows(Schedule &drawn, const DotOp &op) {
  for (const IndexId i : output_indices(nest_)) {
    Split &split = drawn.splits[i];
    split.keep = random_.between(1, 2);
    if (split.vec > 1)
      split.vec = random_.between(2, op.rows);
  }
  const IndexId depth = *dot_index(nest_, drawn);
  const std::int64_t groups = drawn.splits[depth].tile / op.products;
  const std::int64_t keep = random_.between(1, std::min<std::int64_t>(groups, op.groups));
  if (groups % keep == 0)
    drawn.splits[depth].keep = keep;
}

// Adds several products at once, in vectors of any legal width; loops and tiles stay as drawn, and
// work-items as they are.
void Sampler::multiply_groups(const DotOp &op) {
  std::optional<Schedule> drawn = with_dots(nest_, op, schedule_);
  if (!drawn)
    return;
  if (drawn->lanes == LaneKind::WorkItem) {
    schedule_ = *std::move(drawn);
    return;
  }
  const IndexId lane = *dot_lanes(nest_, op);
  if (const std::optional<IndexId> had = lane_index(*drawn); had && had != lane)
    std::swap(drawn->splits[*had].lane, drawn->splits[lane].lane);
  drawn->splits[lane].lane = random_.of<std::int64_t>({4, 8, 16});
  if (has_rows(op))
    draw_rows(*drawn, op);
  for (const IndexId i : output_indices(nest_)) {
    Split &split = drawn->splits[i];
    const std::int64_t steps = ceil_div(std::min(split.tile, extent(i)), split.step());
    split.tile = steps * split.step();
  }
  schedule_ = *std::move(drawn);
}

// What a schedule may have beyond one lane index and tiles that are staged once.
void Sampler::draw_refinements() {
  for (const DotRate &rate : target_.dots)
    if (random_.chance(60))
      attempt([&] { multiply_groups(*rate.op); });
  for (std::int64_t left = random_.between(0, 2); left > 0; --left)
    attempt([&] { chunk(); });
  for (std::int64_t left = random_.between(0, 2); left > 0; --left)
    attempt([&] { stage_deeper(); });
  for (std::int64_t left = outputs() == 0 ? 0 : random_.between(0, 2); left > 0; --left)
    attempt([&] { widen_lanes(output()); });
  const bool is_vector = schedule_.lanes == LaneKind::Vector;
  for (std::int64_t left = has_reduced() && !is_vector ? random_.between(0, 2) : 0; left > 0;
       --left)
    attempt([&] { widen_lanes(reduced()); });
  if (has_reduced() && is_vector && random_.chance(30))
    attempt([&] { move_lanes(reduced()); });
  if (random_.chance(50))
    attempt([&] { settle_guards(); });
  if (random_.chance(40))
    attempt([&] { stream(); });
  if (random_.chance(30))
    attempt([&] { prefetch(); });
  if (random_.chance(40))
    attempt([&] { schedule_.store = schedule::Store::Local; });
}

// A vector has no predicate per element: inputs guarded along it must be staged.
void Sampler::stage_guarded() {
  const std::optional<IndexId> lane = lane_index(schedule_);
  if (!lane || schedule_.lanes != LaneKind::Vector || !schedule::has_neutral_fill(nest_) ||
      !nest_.constraints.empty())
    return;
  for (std::size_t k = 0; k < nest_.inputs.size(); ++k)
    for (const nest::Dim &dim : nest_.inputs[k].dims)
      if (dim.guarded && dim.at.coeff[*lane] != 0)
        schedule_.fills[k] = Fill::Local;
}

std::int64_t Sampler::staged_bytes() const {
  std::int64_t elems = 0;
  for (std::size_t k = 0; k < nest_.inputs.size(); ++k)
    if (schedule_.fills[k] == Fill::Local)
      elems += schedule::stage_tile(nest_, schedule_, static_cast<int>(k)).elems;
  return elems * size_bytes(schedule::held_type(nest_));
}

// Halves the steps of the index that has most; false when each has one.
bool Sampler::shrink_tile() {
  IndexId largest{};
  std::int64_t most = 1;
  for (const IndexId i : output_indices(nest_)) {
    const std::int64_t steps = schedule_.splits[i].tile / schedule_.splits[i].step();
    if (steps > most) {
      most = steps;
      largest = i;
    }
  }
  if (most == 1)
    return false;
  schedule_.splits[largest].tile = schedule_.splits[largest].step() * (most / 2);
  return true;
}

bool Sampler::drop_staging() {
  const auto staged = std::find(schedule_.fills.rbegin(), schedule_.fills.rend(), Fill::Local);
  if (staged == schedule_.fills.rend())
    return false;
  *staged = Fill::Direct;
  return true;
}

void Sampler::drop_lane() {
  const std::optional<IndexId> lane = lane_index(schedule_);
  if (!lane)
    return;
  Split &split = schedule_.splits[*lane];
  split.tile = ceil_div(split.tile, split.lane * split.keep) * split.keep;
  split.lane = 1;
}

std::optional<Schedule> Sampler::draw() {
  draw_lane();
  draw_copies();
  draw_tiles();
  draw_order();
  draw_fills();
  stage_guarded();
  while (staged_bytes() > target_.local_bytes && (shrink_tile() || drop_staging())) {
  }
  if (!is_legal())
    drop_lane();
  if (!is_legal())
    return std::nullopt;
  draw_refinements();
  assign_copies(nest_, schedule_, target_);
  return schedule_;
}

} // namespace

std::optional<Schedule> sample(const Nest &nest, const Target &target, Random &random) {
  for (int i = 0; i < kTries; ++i)
    if (std::optional<Schedule> schedule = Sampler(nest, target, random).draw())
      return schedule;
  return std::nullopt;
}

} // namespace tilefuse::search
