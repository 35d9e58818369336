// SPDX-License-Identifier: Apache-2.0
#include "kernel/simulation/global_buffer.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/index.h"

namespace tilefuse::kernel::simulation {
namespace {

constexpr std::int32_t kSeveral = -2;

} // namespace

GlobalBuffer::GlobalBuffer(const Position &position, const Clocks &clocks, Tickets &tickets,
                           const Buffer &buffer, std::byte *data, bool is_updated)
    : position_(position), clocks_(clocks), tickets_(tickets), buffer_(buffer), data_(data),
      is_updated_(is_updated) {}

GlobalBuffer::Touch &GlobalBuffer::Touches::at(std::int64_t index, const Position &position,
                                               const Buffer &buffer) {
  const auto page = static_cast<std::size_t>(index / kPage);
  if (page >= pages_.size())
    pages_.resize(page + 1);
  if (pages_[page] == nullptr) {
    if (++made_ * kPage > kMostTouches)
      position.fault(fmt::format("more than {} of the {} elements of {} are touched, which is as "
                                 "many as are kept watch over; need fewer blocks",
                                 kMostTouches, buffer.elems, buffer.name),
                     -1);
    pages_[page] = std::make_unique<Touch[]>(kPage);
  }
  return pages_[page][static_cast<std::size_t>(index % kPage)];
}

GlobalBuffer::Touch GlobalBuffer::Touches::get(std::int64_t index) const {
  const auto page = static_cast<std::size_t>(index / kPage);
  if (page >= pages_.size() || pages_[page] == nullptr)
    return {};
  return pages_[page][static_cast<std::size_t>(index % kPage)];
}

void GlobalBuffer::check_bounds(std::int64_t index, Agent agent) const {
  if (index >= 0 && index < buffer_.elems)
    return;
  position_.fault(fmt::format("{}[{}] is out of bounds: {} has {} elements", buffer_.name, index,
                              buffer_.name, buffer_.elems),
                  agent.item);
}

void GlobalBuffer::fault(std::int64_t index, Agent agent, std::string_view what,
                         const Touch &other) const {
  std::string who = "several blocks";
  if (other.block >= 0)
    who = other.item >= 0 ? fmt::format("block {}, lane {}", other.block, other.item)
                          : fmt::format("block {}, several lanes", other.block);
  position_.fault(fmt::format("{}[{}] {} {}", buffer_.name, index, what, who), agent.item);
}

bool GlobalBuffer::is_ordered(const Touch &earlier, Agent agent) const {
  if (earlier.block == kNobody)
    return true;
  if (earlier.block == kSeveralBlocks)
    return false;
  if (earlier.block != position_.block)
    return tickets_.is_known({earlier.block, {earlier.item, earlier.warp}, earlier.time}, agent);
  return earlier.item == agent.item || clocks_.is_ordered(earlier.warp, earlier.time, agent.warp);
}

void GlobalBuffer::note_read(std::int64_t index, Agent agent) {
  const Touch writer = writers_.get(index);
  if (writer.block == kNobody && !is_updated_)
    position_.fault(fmt::format("{}[{}] is read before it is written", buffer_.name, index),
                    agent.item);
  if (!is_ordered(writer, agent))
    fault(index, agent, "is read with no barrier after the write of", writer);
  Touch &reader = readers_.at(index, position_, buffer_);
  const std::uint32_t now = clocks_.now(agent.warp);
  if (reader.block == kNobody) {
    reader = {position_.block, agent.item, agent.warp, now};
  } else if (reader.block != position_.block) {
    reader.block = kSeveralBlocks;
  } else {
    const bool is_alone = reader.item == agent.item || is_ordered(reader, agent);
    reader = {position_.block, is_alone ? agent.item : kSeveral, agent.warp, now};
  }
}

void GlobalBuffer::note_write(std::int64_t index, Agent agent) {
  Touch &writer = writers_.at(index, position_, buffer_);
  if (expected_ != nullptr && !(*expected_)[at(index)])
    position_.fault(fmt::format("{}[{}] is written, though this kernel must leave it alone",
                                buffer_.name, index),
                    agent.item);
  if (writer.block != kNobody && (!is_updated_ || !is_ordered(writer, agent)))
    fault(index, agent, "is written twice: before by", writer);
  const Touch reader = readers_.get(index);
  if (!is_ordered(reader, agent))
    fault(index, agent, "is written with no barrier after the read of", reader);
  writer = {position_.block, agent.item, agent.warp, clocks_.now(agent.warp)};
}

Cell GlobalBuffer::read(std::int64_t index, Agent agent) {
  check_bounds(index, agent);
  if (buffer_.written)
    note_read(index, agent);
  return load_cell(data_, buffer_.type.elem, index);
}

void GlobalBuffer::write(std::int64_t index, Agent agent, Cell value) {
  check_bounds(index, agent);
  note_write(index, agent);
  store_cell(data_, buffer_.type.elem, index, value);
}

// Tickets of one element follow one another, whatever blocks they are of.
Cell GlobalBuffer::take(std::int64_t index, Agent agent) {
  check_bounds(index, agent);
  const Cell found = load_cell(data_, DType::I32, index);
  store_cell(data_, DType::I32, index, {.whole = found.whole + 1});
  tickets_.take({&buffer_, index}, position_.block, agent);
  writers_.at(index, position_, buffer_) = {position_.block, agent.item, agent.warp,
                                            clocks_.now(agent.warp)};
  return found;
}

void GlobalBuffer::check_complete() const {
  for (std::int64_t i = 0; buffer_.counts && i < buffer_.elems; ++i)
    if (load_cell(data_, DType::I32, i).whole != 0)
      throw Error(ErrorCode::Limit, fmt::format("kernel {}: the count {}[{}] is not back at 0",
                                                position_.kernel.name, buffer_.name, i));
  if (expected_ == nullptr)
    return;
  for (std::size_t i = 0; i < expected_->size(); ++i) {
    if ((*expected_)[i] && writers_.get(static_cast<std::int64_t>(i)).block == kNobody) {
      throw Error(ErrorCode::Limit, fmt::format("kernel {}: no block writes {}[{}]",
                                                position_.kernel.name, buffer_.name, i));
    }
  }
}

} // namespace tilefuse::kernel::simulation
