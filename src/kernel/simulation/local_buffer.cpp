// SPDX-License-Identifier: Apache-2.0
#include "kernel/simulation/local_buffer.h"

#include <fmt/format.h>

#include "base/index.h"

namespace tilefuse::kernel::simulation {
namespace {

constexpr std::int32_t kSeveral = -2;

} // namespace

LocalBuffer::LocalBuffer(const Position &position, const Clocks &clocks, const Buffer &buffer,
                         AgentRange readers)
    : position_(position), clocks_(clocks), buffer_(buffer), agents_(readers) {
  const auto elems = static_cast<std::size_t>(buffer.elems);
  data_.resize(elems * static_cast<std::size_t>(size_bytes(buffer.type.elem)));
  writers_.resize(elems);
  readers_.resize(elems * readers.count);
}

void LocalBuffer::start_block(std::uint32_t first_time) {
  first_time_ = first_time;
  written_ = 0;
  fenced_.clear();
  for (Writer &writer : writers_) {
    writer.is_pending = false;
    writer.reads = 0;
  }
}

void LocalBuffer::fault(std::int64_t index, Agent agent, std::string_view what,
                        std::int64_t other) const {
  const std::string who = other >= 0 ? fmt::format(" lane {}", other) : " several lanes";
  position_.fault(fmt::format("{}[{}] {}{}", buffer_.name, index, what, who), agent.item);
}

LocalBuffer::Writer &LocalBuffer::at(std::int64_t index, Agent agent) {
  if (index < 0 || index >= buffer_.elems) {
    position_.fault(fmt::format("{}[{}] is out of bounds: {} has {} elements", buffer_.name, index,
                                buffer_.name, buffer_.elems),
                    agent.item);
  }
  Writer &writer = writers_[static_cast<std::size_t>(index)];
  if (writer.is_pending)
    fault(index, agent, "is touched before the wait for the asynchronous copy of", writer.item);
  return writer;
}

void LocalBuffer::check_written(std::int64_t index, Agent agent, const Writer &writer) const {
  const bool is_old = writer.time < first_time_;
  if (is_old || (writer.item == agent.item && writer.warp == agent.warp))
    return;
  if (!clocks_.is_ordered(writer.warp, writer.time, agent.warp))
    fault(index, agent, "is written with no barrier after the write of", writer.item);
}

void LocalBuffer::check_read(std::int64_t index, Agent agent) const {
  const Touch *reader = readers_.data() + static_cast<std::size_t>(index) * agents_.count;
  const std::size_t end = agents_.first + agents_.count;
  for (std::size_t warp = agents_.first; warp < end; ++warp, ++reader) {
    const bool is_self = reader->item == agent.item && warp == agent.warp;
    if (reader->time < first_time_ || is_self || clocks_.is_ordered(warp, reader->time, agent.warp))
      continue;
    fault(index, agent, "is written with no barrier after the read of", reader->item);
  }
}

Cell LocalBuffer::read(std::int64_t index, Agent agent) {
  const Writer &writer = at(index, agent);
  if (writer.time < first_time_)
    position_.fault(fmt::format("{}[{}] is read before it is written", buffer_.name, index),
                    agent.item);
  const bool is_own = writer.item == agent.item && writer.warp == agent.warp;
  if (!is_own && !clocks_.is_ordered(writer.warp, writer.time, agent.warp))
    fault(index, agent, "is read with no barrier after the write of", writer.item);
  Touch &reader =
      readers_[static_cast<std::size_t>(index) * agents_.count + agent.warp - agents_.first];
  const std::uint32_t now = clocks_.now(agent.warp);
  const bool another = reader.time == now && reader.item != agent.item;
  reader.item = another ? kSeveral : agent.item;
  reader.time = now;
  return load_cell(data_.data(), buffer_.type.elem, index);
}

void LocalBuffer::begin_write(std::int64_t index, Agent agent) {
  Writer &writer = at(index, agent);
  check_written(index, agent, writer);
  check_read(index, agent);
  if (writer.reads > 0)
    position_.fault(fmt::format("{}[{}] is written before the wait for the tensor_store that reads "
                                "it",
                                buffer_.name, index),
                    agent.item);
  writer = {{agent.item, clocks_.now(agent.warp)}, agent.warp, true};
}

void LocalBuffer::end_write(std::int64_t index, Agent agent, Cell value) {
  Writer &writer = writers_[static_cast<std::size_t>(index)];
  writer = {{agent.item, clocks_.now(agent.warp)}, agent.warp, false, 0, ++written_};
  store_cell(data_.data(), buffer_.type.elem, index, value);
}

void LocalBuffer::fence(Agent agent) { fenced_[agent.item] = written_; }

void LocalBuffer::end_tensor_write(std::int64_t index, Agent agent, Cell value) {
  end_write(index, agent, value);
  writers_[static_cast<std::size_t>(index)].number = 0;
}

Cell LocalBuffer::read_beside(std::int64_t index, Agent agent) {
  const Cell value = read(index, agent);
  const Writer &writer = writers_[static_cast<std::size_t>(index)];
  const auto fenced = fenced_.find(writer.item);
  if (writer.number != 0 && (fenced == fenced_.end() || fenced->second < writer.number))
    fault(index, agent, "is read beside the warps with no fence after the write of", writer.item);
  return value;
}

Cell LocalBuffer::begin_read(std::int64_t index, Agent agent) {
  const Cell value = read_beside(index, agent);
  ++writers_[static_cast<std::size_t>(index)].reads;
  return value;
}

void LocalBuffer::end_read(std::int64_t index) {
  --writers_[static_cast<std::size_t>(index)].reads;
}

void LocalBuffer::write(std::int64_t index, Agent agent, Cell value) {
  begin_write(index, agent);
  end_write(index, agent, value);
}

} // namespace tilefuse::kernel::simulation
