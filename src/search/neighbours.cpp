// SPDX-License-Identifier: Apache-2.0
#include "search/neighbours.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "base/divide.h"
#include "base/index.h"
#include "nest/index.h"
#include "schedule/dots.h"
#include "schedule/guards.h"
#include "search/forms/copies.h"
#include "search/forms/dot_forms.h"
#include "search/matrix_neighbours.h"
#include "target/features.h"

namespace tilefuse::search {
namespace {

using nest::IndexId;
using nest::Nest;
using schedule::Fill;
using schedule::Schedule;
using schedule::Split;

constexpr int kTries = 40;
constexpr std::int64_t kMostCopies = 256; // of the innermost body: more is slow to compile

class Change {
public:
  Change(const Nest &nest, const Target &target, Schedule &schedule, Random &random)
      : nest_(nest), target_(target), schedule_(schedule), random_(random) {}

  void one();

private:
  using Step = void (Change::*)();

  std::int64_t extent(IndexId i) const { return nest::extent(nest_, i); }
  bool has_reduced() const { return at(nest_.output_indices) < nest_.indices.size(); }
  IndexId output() { return static_cast<IndexId>(random_.between(0, nest_.output_indices - 1)); }
  IndexId reduced() {
    return static_cast<IndexId>(
        random_.between(nest_.output_indices, static_cast<std::int64_t>(nest_.indices.size()) - 1));
  }
  std::int64_t nearby(std::int64_t value, std::int64_t most);
  void fit_tile(IndexId index, std::int64_t points);

  void change_tile();
  void change_copies();
  void change_unrolling();
  void change_chunk();
  void change_lanes();
  void change_reduced_lanes();
  void change_reduced_vectors();
  void move_lanes();
  void change_parts();
  void change_vector();
  void swap_loops();
  void change_fill();
  void change_stage();
  void change_guards();
  void change_ahead();
  void change_stream();
  void change_store();
  void change_dot();

  const Nest &nest_;
  const Target &target_;
  Schedule &schedule_;
  Random &random_;
};

// Half, double, one less, one more, one, or all.
std::int64_t Change::nearby(std::int64_t value, std::int64_t most) {
  switch (random_.between(0, 5)) {
  case 0:
    return std::max<std::int64_t>(1, value / 2);
  case 1:
    return std::min(most, value * 2);
  case 2:
    return std::max<std::int64_t>(1, value - 1);
  case 3:
    return std::min(most, value + 1);
  case 4:
    return 1;
  default:
    return most;
  }
}

// The tile nearest to `points` that is whole steps and no larger than the extent needs; of a reduced
// index no more copies than its tile has.
void Change::fit_tile(IndexId index, std::int64_t points) {
  Split &split = schedule_.splits[index];
  if (!is_output(nest_, index)) {
    split.keep = std::clamp<std::int64_t>(split.tile / split.copy_stride(), 1, split.keep);
    return;
  }
  const std::int64_t most = ceil_div(extent(index), split.step());
  split.tile = split.step() * std::clamp<std::int64_t>(ceil_div(points, split.step()), 1, most);
}

void Change::change_tile() {
  const IndexId i = output();
  const std::int64_t step = schedule_.splits[i].step();
  const std::int64_t steps = schedule_.splits[i].tile / step;
  fit_tile(i, step * nearby(steps, ceil_div(extent(i), step)));
}

void Change::change_copies() {
  const IndexId i = output();
  Split &split = schedule_.splits[i];
  const std::int64_t points = split.tile;
  const std::int64_t most = std::min<std::int64_t>(32, ceil_div(extent(i), split.lane * split.vec));
  const bool was_one_step = points == split.step();
  split.keep = std::min(most, nearby(split.keep, most));
  split.near = split.keep > 1 && split.lane > 1 && schedule_.lanes == LaneKind::WorkItem &&
               random_.chance(50);
  fit_tile(i, was_one_step ? split.step() : points);
}

void Change::change_unrolling() {
  if (!has_reduced())
    return;
  const IndexId i = reduced();
  Split &split = schedule_.splits[i];
  split.keep = nearby(split.keep, std::min<std::int64_t>(16, split.tile));
}

void Change::change_chunk() {
  if (!has_reduced())
    return;
  const IndexId i = reduced();
  Split &split = schedule_.splits[i];
  split.tile = nearby(split.tile, extent(i));
  split.keep = std::min(split.keep, split.tile);
}

// Twice or half as many: of one digit where there are several.
void Change::change_lanes() {
  const bool more = random_.chance(50);
  const auto scaled = [&](std::int64_t count) { return more ? count * 2 : count / 2; };
  IndexId i = output();
  if (schedule_.lane_parts.empty()) {
    i = lane_index(schedule_).value_or(i);
    Split &split = schedule_.splits[i];
    split.lane = std::max<std::int64_t>(1, scaled(split.lane));
  } else {
    schedule::LanePart &part = schedule_.lane_parts[at(static_cast<int>(
        random_.between(0, static_cast<std::int64_t>(schedule_.lane_parts.size()) - 1)))];
    i = part.index;
    Split &split = schedule_.splits[i];
    split.lane /= part.count;
    part.count = std::max<std::int64_t>(2, scaled(part.count));
    split.lane *= part.count;
  }
  fit_tile(i, schedule_.splits[i].tile);
}

// Vectors of a reduced index instead of another's, or twice or half as wide.
void Change::change_reduced_vectors() {
  const IndexId i = reduced();
  const std::optional<IndexId> from = lane_index(schedule_);
  if (from == i) {
    Split &split = schedule_.splits[i];
    split.lane = random_.chance(50) ? split.lane * 2 : split.lane / 2;
  } else {
    schedule_.splits[i].lane = from ? schedule_.splits[*from].lane : target_.vector_f32;
    if (from)
      schedule_.splits[*from].lane = 1;
  }
  for (const IndexId changed : {i, from.value_or(i)})
    fit_tile(changed, schedule_.splits[changed].tile);
}

// Twice or half as many work-items that share the points of a reduced index, the fastest of a block,
// or another vector of it.
void Change::change_reduced_lanes() {
  if (!has_reduced())
    return;
  if (schedule_.lanes == LaneKind::Vector)
    return change_reduced_vectors();
  const IndexId i = reduced();
  Split &split = schedule_.splits[i];
  std::vector<schedule::LanePart> parts = lane_digits(schedule_);
  parts.erase(std::remove_if(parts.begin(), parts.end(),
                             [&](const schedule::LanePart &part) { return part.index == i; }),
              parts.end());
  if (random_.chance(70))
    split.lane = std::max<std::int64_t>(1, random_.chance(60) ? split.lane * 2 : split.lane / 2);
  else
    split.vec = random_.of<std::int64_t>({1, 2, 4, 8});
  if (split.lane > 1)
    parts.push_back({i, split.lane});
  schedule_.lane_parts = parts.size() > 1 ? std::move(parts) : std::vector<schedule::LanePart>();
  fit_tile(i, split.tile);
}

void Change::move_lanes() {
  const std::optional<IndexId> from = lane_index(schedule_);
  if (!schedule_.lane_parts.empty() || !from)
    return;
  const IndexId to = output();
  std::swap(schedule_.splits[*from].lane, schedule_.splits[to].lane);
  std::swap(schedule_.splits[*from].keep, schedule_.splits[to].keep);
  fit_tile(*from, schedule_.splits[*from].tile);
  fit_tile(to, schedule_.splits[to].tile);
}

// Deals work-items over one digit more, or over one less.
void Change::change_parts() {
  if (schedule_.lanes == LaneKind::Vector)
    return;
  std::vector<schedule::LanePart> parts = lane_digits(schedule_);
  if (parts.size() > 1 && random_.chance(50)) {
    const auto gone = parts.begin() + random_.between(0, std::ssize(parts) - 1);
    schedule_.splits[gone->index].lane /= gone->count;
    fit_tile(gone->index, schedule_.splits[gone->index].tile);
    parts.erase(gone);
  } else {
    const schedule::LanePart more = {output(), random_.of<std::int64_t>({2, 4, 8})};
    schedule_.splits[more.index].lane *= more.count;
    fit_tile(more.index, schedule_.splits[more.index].tile);
    parts.insert(parts.begin() + random_.between(0, std::ssize(parts)), more);
  }
  schedule_.lane_parts = parts.size() > 1 ? parts : std::vector<schedule::LanePart>{};
}

// Of a work-item.
void Change::change_vector() {
  if (schedule_.lanes == LaneKind::Vector)
    return;
  const std::optional<IndexId> has = vector_index(schedule_);
  const IndexId i = has ? *has : output();
  Split &split = schedule_.splits[i];
  split.vec = random_.of<std::int64_t>({1, 2, 4, 8});
  fit_tile(i, split.tile);
}

void Change::swap_loops() {
  const auto begin = schedule_.order.begin();
  const auto middle = begin + nest_.output_indices;
  const bool of_outputs = !has_reduced() || random_.chance(50);
  const auto first = of_outputs ? begin : middle;
  const auto count = (of_outputs ? middle : schedule_.order.end()) - first;
  if (count < 2)
    return;
  const std::int64_t a = random_.between(0, count - 1);
  std::swap(first[a], first[random_.between(0, count - 1)]);
}

void Change::change_fill() {
  if (schedule_.fills.empty())
    return;
  const std::size_t k = at(
      static_cast<int>(random_.between(0, static_cast<std::int64_t>(schedule_.fills.size()) - 1)));
  schedule_.fills[k] = random_.of({Fill::Direct, Fill::Local, Fill::Packed, Fill::PackedLocal});
  if (!is_staged(schedule_.fills[k]))
    schedule_.pipes[k] = {.stream = schedule_.pipes[k].stream};
  schedule_.pipes[k].prefetch =
      schedule_.fills[k] == Fill::Packed && schedule_.lanes == LaneKind::Vector;
}

void Change::change_stage() {
  std::vector<std::size_t> staged;
  for (std::size_t k = 0; k < schedule_.fills.size(); ++k)
    if (is_staged(schedule_.fills[k]))
      staged.push_back(k);
  if (staged.empty())
    return;
  schedule::Pipe &stage = schedule_.pipes[random_.of(staged)];
  const std::vector<IndexId> chunks = chunked_indices(nest_, schedule_);
  std::vector<std::optional<IndexId>> levels(chunks.begin(), chunks.end());
  levels.push_back(std::nullopt);
  using schedule::Layout;
  if (random_.chance(50))
    stage.at = random_.of(levels);
  else if (schedule_.lanes == LaneKind::Vector)
    stage.layout = random_.of({Layout::Plain, Layout::Transposed});
  else if (random_.chance(50))
    stage.layout = random_.of({Layout::Plain, Layout::Transposed, Layout::Odd});
  else
    change_ahead();
}

// Of all inputs that are staged in the innermost chunk loop: they go together.
void Change::change_ahead() {
  const std::vector<IndexId> chunks = chunked_indices(nest_, schedule_);
  const int ring = has(target_, Feature::AsyncCopies) ? random_.of({0, 2, 3, 4}) : 0;
  const bool twice = ring == 0 && random_.chance(50);
  for (schedule::Pipe &stage : schedule_.pipes)
    if (!chunks.empty() && stage.at == chunks.back()) {
      stage.engine = ring > 0 ? schedule::Engine::CpAsync : schedule::Engine::Items;
      stage.stages = ring > 0 ? ring : (twice ? 2 : 1);
    }
}

// One input comes or goes, or all that stream do so through more registers or fewer.
void Change::change_stream() {
  if (schedule_.pipes.empty())
    return;
  const int registers = random_.of({2, 3, 4});
  const auto chosen = random_.between(0, static_cast<std::int64_t>(schedule_.pipes.size()) - 1);
  for (std::size_t k = 0; k < schedule_.pipes.size(); ++k) {
    int &stream = schedule_.pipes[k].stream;
    const bool streams = (stream > 0) != (static_cast<std::int64_t>(k) == chosen);
    stream = streams ? registers : 0;
  }
}

void Change::change_store() {
  const bool is_direct = schedule_.store == schedule::Store::Direct;
  schedule_.store = is_direct ? schedule::Store::Local : schedule::Store::Direct;
}

// All that can be clipped is; edges come or go.
void Change::change_guards() {
  for (const IndexId i : schedule_.splits.ids()) {
    schedule_.splits[i].clip = can_clip(nest_, schedule_, i);
    schedule_.splits[i].edge = random_.chance(50) && can_have_edges(nest_, schedule_, i);
  }
}

// Another dot product of the target, or none.
void Change::change_dot() {
  for (const IndexId i : reduced_indices(nest_))
    if (Split &split = schedule_.splits[i]; schedule_.dot != nullptr && split.vec > 1)
      split = {.tile = extent(i)};
  for (const IndexId i : output_indices(nest_))
    if (Split &split = schedule_.splits[i]; has_dot_rows(schedule_) && split.vec > 1)
      split = {};
  schedule_.dot = nullptr;
  if (random_.chance(30))
    return;
  const DotOp &op = *random_.of(target_.dots).op;
  schedule_ = with_dots(nest_, op, schedule_).value_or(schedule_);
}

void Change::one() {
  constexpr std::array<Step, 20> kSteps = {
      &Change::change_tile,          &Change::change_tile,      &Change::change_tile,
      &Change::change_tile,          &Change::change_copies,    &Change::change_copies,
      &Change::swap_loops,           &Change::change_unrolling, &Change::change_chunk,
      &Change::change_lanes,         &Change::move_lanes,       &Change::change_vector,
      &Change::change_fill,          &Change::change_stage,     &Change::change_guards,
      &Change::change_stream,        &Change::change_store,     &Change::change_parts,
      &Change::change_reduced_lanes, &Change::change_dot};
  const std::size_t steps = kSteps.size() - (target_.dots.empty() ? 1 : 0); // the last is of dots
  (this->*kSteps[at(static_cast<int>(random_.between(0, static_cast<int>(steps) - 1)))])();
}

std::int64_t copies(const Schedule &schedule) {
  std::int64_t product = 1;
  for (const Split &split : schedule.splits)
    product *= std::min<std::int64_t>(split.keep, kMostCopies + 1);
  return product;
}

} // namespace

std::optional<Schedule> neighbour(const Nest &nest, const Target &target, const Schedule &of,
                                  Random &random) {
  if (nest.output_indices == 0)
    return std::nullopt;
  if (has_core(of))
    return matrix_neighbour(nest, target, of, random);
  const std::int64_t most = std::max(kMostCopies, copies(of));
  for (int i = 0; i < kTries; ++i) {
    Schedule schedule = of;
    Change change(nest, target, schedule, random);
    for (std::int64_t left = random.between(1, 3); left > 0; --left)
      change.one();
    if (schedule != of && copies(schedule) <= most && !assign_copies(nest, schedule, target))
      return schedule;
  }
  return std::nullopt;
}

} // namespace tilefuse::search
