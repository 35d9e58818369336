// SPDX-License-Identifier: Apache-2.0
#include "kernel/simulation/engine.h"

#include <algorithm>

#include <fmt/format.h>

#include "kernel/rules.h"
#include "kernel/simulation/traffic.h"

namespace tilefuse::kernel::simulation {
namespace {

constexpr std::int64_t kSwizzleRows = 8;
constexpr std::int64_t kChunkBytes = 16;

// Moves to the next row of a tiled box.
void next_tiled(const TensorMap &map, std::vector<std::int64_t> &inside) {
  for (std::size_t d = 1; d < inside.size(); ++d) {
    if (++inside[d] < map.box[d])
      return;
    inside[d] = 0;
  }
}

// Moves a base point on, as TMA does: along dimension 1 first, back to the lower corner past the
// upper one.
void next_point(const TensorMap &map, std::vector<std::int64_t> &at) {
  for (std::size_t i = 0; i < map.steps.size(); ++i) {
    at[i + 1] += map.steps[i];
    if (at[i + 1] <= map.dims[i + 1] - 1 + map.upper[i])
      return;
    at[i + 1] = map.lower[i];
  }
  ++at.back();
}

} // namespace

std::int64_t element_at(const TensorMap &map, const std::vector<std::int64_t> &at) {
  std::int64_t element = map.offset;
  for (std::size_t d = 0; d < at.size(); ++d) {
    if (at[d] < 0 || at[d] >= map.dims[d])
      return -1;
    element += at[d] * map.strides[d];
  }
  return element;
}

std::vector<std::vector<std::int64_t>> rows_of(const TensorMap &map, const BoxCopy &copy) {
  std::vector<std::vector<std::int64_t>> rows;
  std::vector<std::int64_t> point = copy.at;
  std::vector<std::int64_t> inside(copy.at.size(), 0);
  const std::int64_t count = box_elems(map) / map.box[0];
  for (std::int64_t r = 0; r < count; ++r) {
    std::vector<std::int64_t> &row = rows.emplace_back(point);
    for (std::size_t d = 0; d < row.size() && !map.is_im2col(); ++d)
      row[d] += inside[d] * (d == 0 || map.steps.empty() ? 1 : map.steps[d - 1]);
    for (std::size_t i = 0; i < copy.offsets.size(); ++i)
      row[i + 1] += copy.offsets[i];
    if (map.is_im2col())
      next_point(map, point);
    else
      next_tiled(map, inside);
  }
  return rows;
}

void Engine::start_cluster() {
  barriers_.clear();
  queue_.clear();
  visits_.clear();
}

void Engine::note_visit(std::int64_t rank, Agent agent, StmtRef stmt) {
  if (rank_of(agent.warp) != rank)
    visits_[{rank, agent.warp}] = {agent, clocks_.now(agent.warp), stmt};
}

void Engine::check_end(std::int64_t rank) const {
  for (const auto &[key, visit] : visits_) {
    bool is_known = key.first != rank;
    for (std::size_t warp = agent_of(rank) - warps_; warp < agent_of(rank); ++warp)
      is_known = is_known || clocks_.is_ordered(visit.agent.warp, visit.time, warp);
    if (is_known)
      continue;
    Position at = position_;
    at.stmt = visit.stmt;
    at.block += rank_of(visit.agent.warp) - rank;
    at.fault(fmt::format("comes to the block of rank {}, which may have ended", rank),
             visit.agent.item);
  }
}

Engine::Barrier &Engine::barrier(const LocalPlace &at, Agent agent) {
  const auto found = barriers_.find(at);
  if (found == barriers_.end())
    position_.fault(fmt::format("mbarrier {}[{}] is used before it is initialised",
                                kernel_[at.buffer].name, at.index),
                    agent.item);
  const Barrier &of = found->second;
  if (of.initialised_by != agent.warp &&
      !clocks_.is_ordered(of.initialised_by, of.initialised_at, agent.warp))
    position_.fault(fmt::format("mbarrier {}[{}] is used with no barrier after its initialisation",
                                kernel_[at.buffer].name, at.index),
                    agent.item);
  return found->second;
}

void Engine::init(const LocalPlace &at, std::int64_t arrivals, Agent agent) {
  const Buffer &buffer = kernel_[at.buffer];
  if (at.index < 0 || at.index >= buffer.elems || barriers_.contains(at))
    position_.fault(fmt::format("mbarrier {}[{}] is {}", buffer.name, at.index,
                                barriers_.contains(at) ? "initialised twice" : "out of bounds"),
                    agent.item);
  barriers_[at] = {.initialised_by = agent.warp,
                   .initialised_at = clocks_.now(agent.warp),
                   .arrivals = arrivals,
                   .pending = arrivals,
                   .gathered = std::vector<std::uint32_t>(clocks_.agents(), 0),
                   .completed = clocks_.tell(agent.warp)};
}

void Engine::advance(Barrier &barrier) {
  if (barrier.pending != 0 || barrier.bytes != 0)
    return;
  ++barrier.phase;
  barrier.pending = barrier.arrivals;
  barrier.completed = barrier.gathered;
  std::fill(barrier.gathered.begin(), barrier.gathered.end(), 0);
}

void Engine::arrive(const LocalPlace &at, std::int64_t expected_bytes, Agent agent) {
  Barrier &to = barrier(at, agent);
  if (to.pending == 0)
    position_.fault(fmt::format("arrives at mbarrier {}[{}], which expects no arrival",
                                kernel_[at.buffer].name, at.index),
                    agent.item);
  note_visit(at.rank, agent, position_.stmt);
  Clocks::join(to.gathered, clocks_.tell(agent.warp));
  to.bytes += expected_bytes;
  --to.pending;
  advance(to);
}

bool Engine::has_passed(const LocalPlace &at, std::int64_t parity, Agent agent) {
  const Barrier &of = barrier(at, agent);
  if (of.phase % 2 == parity)
    return false;
  if (of.phase > 0)
    clocks_.learn(agent.warp, of.completed);
  return true;
}

std::string Engine::missing(const LocalPlace &at) const {
  const Barrier &of = barriers_.at(at);
  return fmt::format("waits for mbarrier {}[{}], which lacks {} arrivals and {} bytes",
                     kernel_[at.buffer].name, at.index, of.pending, of.bytes);
}

void Engine::check_start(const TensorMap &map, const BoxCopy &copy, Agent agent) const {
  const Buffer &buffer = kernel_[copy.to.buffer];
  const std::int64_t size = size_bytes(buffer.type.elem);
  if (copy.to.index < 0 || copy.to.index + box_elems(map) > buffer.elems ||
      copy.to.index * size % (kSwizzleRows * map.swizzle) != 0)
    position_.fault(fmt::format("tensor_copy to {}[{}], which has no aligned room for {} elements",
                                buffer.name, copy.to.index, box_elems(map)),
                    agent.item);
  // An H200 ends such a copy with an illegal instruction.
  if (copy.at[0] * size % kChunkBytes != 0)
    position_.fault(fmt::format("tensor_copy starts at element {} of {}, off {} bytes", copy.at[0],
                                map.name, kChunkBytes),
                    agent.item);
  for (std::size_t i = 0; i < map.lower.size(); ++i) {
    const std::int64_t last = map.dims[i + 1] - 1 + map.upper[i];
    if (copy.at[i + 1] < map.lower[i] || copy.at[i + 1] > last || copy.offsets[i] < 0)
      position_.fault(
          fmt::format("tensor_copy starts at {} of dimension {} of {}, outside {} to {}",
                      copy.at[i + 1], i + 1, map.name, map.lower[i], last),
          agent.item);
  }
}

Engine::BoxRows Engine::start(const BoxCopy &copy, const std::vector<LocalBuffer *> &to,
                              GlobalBuffer &from, Agent agent) {
  const TensorMap &map = kernel_[copy.map];
  check_start(map, copy, agent);
  for (const std::int64_t rank : copy.ranks)
    barrier({rank, copy.signals.buffer, copy.signals.index}, agent);
  const std::int64_t size = size_bytes(kernel_[copy.to.buffer].type.elem);
  const std::size_t number = agent_of(copy.to.rank);
  clocks_.learn(number, clocks_.tell(agent.warp));
  const Agent self{agent.item, static_cast<std::uint32_t>(number)};
  Started started{.to = to,
                  .agent = self,
                  .signals = copy.signals,
                  .ranks = copy.ranks,
                  .bytes = box_bytes(kernel_, map),
                  .stmt = position_.stmt};
  BoxRows rows;
  std::int64_t linear = copy.to.index * size; // byte, without swizzle
  for (std::vector<std::int64_t> &row : rows_of(map, copy)) {
    rows.first.push_back(kInactive);
    rows.count.push_back(0);
    for (std::int64_t c = 0; c < map.box[0]; ++c, linear += size, ++row[0]) {
      const std::int64_t element = element_at(map, row);
      const std::int64_t index = swizzled(linear, map.swizzle) / size;
      for (LocalBuffer *buffer : to)
        buffer->begin_write(index, self);
      started.writes.push_back({index, element < 0 ? Cell{} : from.read(element, self)});
      if (element >= 0 && rows.count.back()++ == 0)
        rows.first.back() = element;
    }
  }
  queue_.push_back(std::move(started));
  return rows;
}

bool Engine::run() {
  if (queue_.empty())
    return false;
  const Started copy = std::move(queue_.front());
  queue_.pop_front();
  for (const Write &write : copy.writes)
    for (LocalBuffer *buffer : copy.to)
      buffer->end_tensor_write(write.index, copy.agent, write.value);
  for (const std::int64_t rank : copy.ranks) {
    Barrier &signals = barriers_.at({rank, copy.signals.buffer, copy.signals.index});
    note_visit(rank, copy.agent, copy.stmt);
    Clocks::join(signals.gathered, clocks_.tell(copy.agent.warp));
    signals.bytes -= copy.bytes;
    advance(signals);
  }
  return true;
}

} // namespace tilefuse::kernel::simulation
