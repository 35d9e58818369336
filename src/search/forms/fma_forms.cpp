// SPDX-License-Identifier: Apache-2.0
#include "search/forms/fma_forms.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/index.h"
#include "nest/index.h"
#include "schedule/roles.h"
#include "schedule/staging.h"

namespace tilefuse::search {
namespace {

using nest::IndexId;
using nest::Nest;
using schedule::Fill;
using schedule::Layout;
using schedule::Pipe;
using schedule::Roles;
using schedule::scalar_schedule;
using schedule::Schedule;
using schedule::Split;

// Multiply-adds of an unrolled body, beyond which code outgrows instruction caches.
constexpr std::int64_t kUnrolledWork = 768;
constexpr std::int64_t kLargestTap = 11;
constexpr std::int64_t kMostTaps = 7; // of an index that lanes are not dealt over first

// The first index of many points comes before those that are faster in the result. False where it
// does, or there is none.
bool put_many_first(const Nest &nest, std::vector<IndexId> &indices) {
  constexpr std::int64_t kMany = 16;
  const auto first = std::find_if(indices.begin(), indices.end(),
                                  [&](IndexId i) { return extent(nest, i) >= kMany; });
  if (first == indices.begin() || first == indices.end())
    return false;
  std::rotate(indices.begin(), first, first + 1);
  return true;
}

// Taps that are fastest in the result come behind an index of many points.
void put_taps_last(const Nest &nest, std::vector<IndexId> &indices) {
  if (!indices.empty() && extent(nest, indices.front()) <= kMostTaps)
    put_many_first(nest, indices);
}

} // namespace

// Outputs by falling stride of the result, so that neighbouring work-items store to neighbours.
FormStart form_start(const Nest &nest, const Roles &roles) {
  FormStart start{roles, nest::flat(nest.out, nest.indices.size()), scalar_schedule(nest)};
  put_taps_last(nest, start.roles.channels);
  put_taps_last(nest, start.roles.pixels);
  start.schedule.lanes = LaneKind::WorkItem;
  std::vector<IndexId> &order = start.schedule.order;
  std::stable_sort(order.begin(), order.begin() + nest.output_indices, [&](IndexId a, IndexId b) {
    return std::llabs(start.out.coeff[a]) > std::llabs(start.out.coeff[b]);
  });
  std::copy(roles.depth.begin(), roles.depth.end(), order.begin() + nest.output_indices);
  std::copy(roles.taps.begin(), roles.taps.end(),
            order.end() - static_cast<std::ptrdiff_t>(roles.taps.size()));
  return start;
}

std::vector<FormStart> form_starts(const Nest &nest, const Roles &roles) {
  std::vector<FormStart> starts = {form_start(nest, roles)};
  std::vector<IndexId> many_first = roles.pixels;
  if (!put_many_first(nest, many_first))
    return starts;
  starts.push_back(starts.front());
  std::vector<IndexId> &other = starts.back().roles.pixels;
  other = other == roles.pixels ? many_first : roles.pixels;
  return starts;
}

FmaForm::FmaForm(const Nest &nest, const Target &target, const FormStart &start,
                 const FormSizes &sizes)
    : nest_(nest), target_(target), roles_(start.roles), out_(start.out), sizes_(sizes),
      schedule_(start.schedule) {
  if (sizes_.turned)
    turn();
}

bool FmaForm::constant_filter() const { return nest_.inputs[at(roles_.filter)].constant; }

// The channels are the last of the outputs.
void FmaForm::turn() {
  const std::vector<IndexId> &channels = roles_.channels.empty() ? roles_.shared : roles_.channels;
  if (channels.empty())
    return;
  const auto end = schedule_.order.begin() + nest_.output_indices;
  const auto channel = std::find(schedule_.order.begin(), end, channels.front());
  std::rotate(channel, channel + 1, end);
  schedule_.store = schedule::Store::Local;
}

// The factor of at most `most`, and at least half of it, that wastes least of `count`.
std::int64_t FmaForm::fitted(std::int64_t count, std::int64_t most) const {
  std::int64_t best = 1;
  double least = 0;
  for (std::int64_t size = std::min(count, most); size >= std::max<std::int64_t>(1, most / 2);
       --size) {
    const double waste =
        static_cast<double>((count + size - 1) / size * size) / static_cast<double>(count);
    if (least == 0 || waste < least - 0.02) {
      best = size;
      least = waste;
    }
  }
  return count <= most ? count : best;
}

void FmaForm::keep_pixels() {
  const std::array<std::int64_t, 2> most = {sizes_.pixel_keep, sizes_.row_keep};
  for (std::size_t p = 0; p < std::min(most.size(), roles_.pixels.size()); ++p)
    split(roles_.pixels[p]).keep = fitted(extent(roles_.pixels[p]), most[p]);
}

// Work-items over the steps of each index in turn.
void FmaForm::lanes_over(const std::vector<IndexId> &indices, std::int64_t lanes) {
  for (const IndexId i : indices) {
    Split &part = split(i);
    const std::int64_t step = part.keep * part.vec;
    const std::int64_t steps = (extent(i) + step - 1) / step;
    part.lane = std::max<std::int64_t>(1, fitted(steps, lanes));
    lanes /= part.lane;
    if (lanes <= 1)
      return;
  }
}

// The fastest channel index takes vectors and copies, the next one copies of its own; lanes that an
// index has no use for go to the ones behind it.
void FmaForm::channel_tile(std::int64_t lanes) {
  for (std::size_t c = 0; c < roles_.channels.size(); ++c) {
    Split &part = split(roles_.channels[c]);
    const std::int64_t size = extent(roles_.channels[c]);
    if (c == 0) {
      part.vec = sizes_.channel_vec;
      while (part.vec > 1 && size % part.vec != 0)
        part.vec /= 2;
      const std::int64_t vectors = (size + part.vec - 1) / part.vec;
      part.lane = std::min(lanes, vectors);
      part.keep = std::min(sizes_.channel_keep, (vectors + part.lane - 1) / part.lane);
    } else {
      part.keep = c == 1 ? fitted(size, sizes_.next_keep) : 1;
      part.lane = fitted((size + part.keep - 1) / part.keep, lanes);
    }
    lanes /= part.lane;
  }
}

// Depth indices are taken in chunks whose product is about the size wanted.
void FmaForm::chunk_depth(bool padded) {
  std::int64_t left = sizes_.depth;
  for (auto i = roles_.depth.rbegin(); i != roles_.depth.rend(); ++i) {
    std::int64_t tile = std::min(left, extent(*i));
    while (!padded && extent(*i) % tile != 0)
      --tile;
    split(*i).tile = tile;
    left = std::max<std::int64_t>(1, left / tile);
  }
}

// Innermost loops first, as long as the body stays small: taps alone where bodies are streamed to.
void FmaForm::unroll() {
  std::int64_t work = 1;
  for (const IndexId i : output_indices(nest_))
    work *= split(i).keep * split(i).vec;
  for (auto i = schedule_.order.rbegin(); i != schedule_.order.rend() && !is_output(nest_, *i);
       ++i) {
    Split &part = split(*i);
    const bool is_depth =
        std::find(roles_.depth.begin(), roles_.depth.end(), *i) != roles_.depth.end();
    if (sizes_.stream > 0 && is_depth)
      return;
    std::int64_t keep = std::min(part.tile, kLargestTap);
    while (keep > 1 && (part.tile % keep != 0 || work * keep > kUnrolledWork))
      --keep;
    part.keep = keep;
    work *= keep;
    if (keep < part.tile)
      return;
  }
}

std::optional<IndexId> FmaForm::innermost_chunk() const {
  const std::vector<IndexId> chunks = chunked_indices(nest_, schedule_);
  return chunks.empty() ? std::nullopt : std::optional(chunks.back());
}

void FmaForm::stage(int input, std::optional<IndexId> level, Layout layout, bool twice) {
  Fill &fill = schedule_.fills[at(input)];
  fill = is_packed(fill) ? Fill::PackedLocal : Fill::Local;
  schedule_.pipes[at(input)] = {.stages = twice && level ? 2 : 1, .layout = layout, .at = level};
}

Schedule FmaForm::finished() {
  for (const IndexId i : schedule_.order) {
    if (!is_output(nest_, i))
      continue;
    split(i).tile = split(i).step();
    if (schedule_.lanes == LaneKind::WorkItem && split(i).lane > 1)
      schedule_.lane_parts.push_back({i, split(i).lane});
  }
  if (schedule_.lane_parts.size() < 2)
    schedule_.lane_parts.clear();
  unroll();
  return std::move(schedule_);
}

Schedule FmaForm::direct(bool cached) {
  for (std::size_t c = 0; c < std::min<std::size_t>(1, roles_.channels.size()); ++c)
    split(roles_.channels[c]).keep = fitted(extent(roles_.channels[c]), sizes_.channel_keep);
  lanes_over(roles_.pixels, sizes_.pixel_lanes);
  chunk_depth(false);
  const std::optional<IndexId> depth_level = innermost_chunk();
  if (cached)
    for (const IndexId tap : roles_.taps)
      split(tap).tile = 1;
  stage(roles_.data, depth_level, Layout::Plain, false);
  if (cached)
    stage(roles_.filter, innermost_chunk(), Layout::Plain, false);
  return finished();
}

Schedule FmaForm::ilpm() {
  sizes_.channel_vec = 1;
  sizes_.channel_keep = 1;
  channel_tile(sizes_.channel_lanes);
  keep_pixels();
  chunk_depth(false);
  if (constant_filter())
    schedule_.fills[at(roles_.filter)] = Fill::Packed;
  stage(roles_.data, innermost_chunk(), Layout::Plain, false);
  schedule_.pipes[at(roles_.filter)].stream = sizes_.stream;
  return finished();
}

Schedule FmaForm::plaidml() {
  const auto power = [](std::int64_t value, std::int64_t most) {
    std::int64_t size = 1;
    while (size * 2 <= std::min(value, most))
      size *= 2;
    return size;
  };
  std::int64_t items = 1;
  const auto tile = [&](const std::vector<IndexId> &indices, std::int64_t lanes,
                        std::int64_t keep) {
    for (const IndexId i : indices) {
      split(i).lane = power(extent(i), lanes);
      split(i).keep = power((extent(i) + split(i).lane - 1) / split(i).lane, keep);
      lanes /= split(i).lane;
      items *= split(i).lane;
      keep = 1;
    }
  };
  tile(roles_.channels, sizes_.channel_lanes, sizes_.channel_keep * sizes_.channel_vec);
  tile(roles_.pixels, sizes_.pixel_lanes, power(sizes_.pixel_keep, sizes_.pixel_keep));
  chunk_depth(false);
  stage(roles_.data, innermost_chunk(), Layout::Odd, false);
  stage(roles_.filter, innermost_chunk(), Layout::Odd, false);
  return finished();
}

Schedule FmaForm::igemm() {
  channel_tile(sizes_.channel_lanes);
  keep_pixels();
  lanes_over(roles_.pixels, sizes_.pixel_lanes);
  Split &pixel = split(roles_.pixels.front());
  pixel.near = sizes_.near && pixel.keep > 1 && pixel.lane > 1;
  if (constant_filter())
    schedule_.fills[at(roles_.filter)] = Fill::Packed;
  chunk_depth(false);
  const std::optional<IndexId> level = innermost_chunk();
  stage(roles_.data, level, Layout::Transposed, true);
  stage(roles_.filter, level, constant_filter() ? Layout::Plain : Layout::Transposed, true);
  for (Pipe &stage : schedule_.pipes)
    if (sizes_.ring > 0 && level)
      stage = {.engine = schedule::Engine::CpAsync,
               .stages = static_cast<int>(sizes_.ring),
               .layout = stage.layout,
               .at = level};
  return finished();
}

Schedule FmaForm::first_layer() {
  channel_tile(sizes_.channel_lanes);
  keep_pixels();
  lanes_over(roles_.pixels, sizes_.pixel_lanes);
  if (constant_filter())
    schedule_.fills[at(roles_.filter)] = Fill::Packed;
  stage(roles_.data, std::nullopt, Layout::Plain, false);
  stage(roles_.filter, std::nullopt, Layout::Plain, false);
  return finished();
}

Schedule FmaForm::depthwise() {
  keep_pixels();
  std::int64_t filters = 1; // of a channel; a work-item keeps the results of all
  for (const IndexId i : roles_.channels) {
    split(i).keep = extent(i);
    filters *= extent(i);
  }
  std::vector<IndexId> indices = roles_.shared;
  for (const IndexId i : indices)
    if (out_.coeff[i] == filters) {
      split(i).vec = sizes_.channel_vec;
      while (extent(i) % split(i).vec != 0)
        split(i).vec /= 2;
      if (constant_filter() && split(i).vec > 1)
        schedule_.fills[at(roles_.filter)] = Fill::Packed;
    }
  if (!sizes_.turned && !roles_.pixels.empty() && out_.coeff[roles_.pixels.front()] == 1) {
    split(roles_.pixels.front()).keep = 1;
    indices = roles_.pixels;
  } else {
    indices.insert(indices.end(), roles_.pixels.begin(), roles_.pixels.end());
  }
  lanes_over(indices, sizes_.pixel_lanes);
  return finished();
}

Schedule FmaForm::cpu() {
  schedule_.lanes = LaneKind::Vector;
  const IndexId channel = roles_.channels.front();
  const std::int64_t keep = target_.vector_registers >= 32 ? 2 : 1;
  split(channel).lane = target_.vector_f32;
  split(channel).keep = keep;
  if (!roles_.pixels.empty())
    split(roles_.pixels.front()).keep =
        fitted(extent(roles_.pixels.front()), (target_.vector_registers - keep - 2) / keep);
  if (constant_filter())
    schedule_.fills[at(roles_.filter)] = Fill::Packed;
  const nest::Operand &data = nest_.inputs[at(roles_.data)];
  if (std::any_of(data.dims.begin(), data.dims.end(), [](const nest::Dim &d) { return d.guarded; }))
    stage(roles_.data, std::nullopt, Layout::Plain, false);
  for (const IndexId i : output_indices(nest_))
    split(i).tile = split(i).step();
  return std::move(schedule_);
}

} // namespace tilefuse::search
