// SPDX-License-Identifier: Apache-2.0
#include "kernel/simulate_memory.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/error.h"
#include "kernel/text.h"

namespace tilefuse::kernel::simulation {
namespace {

constexpr std::int64_t kMaxScratchBytes = std::int64_t{1} << 30;
constexpr std::int64_t kSeveral = -2;

// Bytes the simulator holds for a buffer; checked so that absurd sizes end in an Error.
std::int64_t held_bytes(const Kernel &kernel, const Buffer &buffer) {
  const bool is_register = buffer.space == Space::Register;
  const std::int64_t each =
      is_register ? buffer.type.lanes * static_cast<std::int64_t>(sizeof(Cell)) + 1 : 40;
  const std::int64_t copies = is_register ? kernel.block_size : 1;
  std::int64_t bytes = 0;
  const bool overflows = __builtin_mul_overflow(buffer.elems, each, &bytes) ||
                         __builtin_mul_overflow(bytes, copies, &bytes);
  return overflows ? kMaxScratchBytes + 1 : bytes;
}

void check_scratch(const Kernel &kernel) {
  std::int64_t total = 0;
  for (const Buffer &buffer : kernel.buffers) {
    if (buffer.space == Space::Global)
      continue;
    const std::int64_t bytes = held_bytes(kernel, buffer);
    total += std::min(bytes, kMaxScratchBytes + 1);
    if (total > kMaxScratchBytes) {
      throw Error(ErrorCode::Limit,
                  fmt::format("simulating needs more than {} MiB of local and register memory",
                              kMaxScratchBytes >> 20),
                  kernel.name);
    }
  }
}

std::byte *argument(const Kernel &kernel, std::size_t i,
                    std::span<const std::span<std::byte>> args) {
  const Buffer &buffer = kernel.buffers[i];
  const std::int64_t need = buffer.elems * size_bytes(buffer.type.elem);
  if (i >= args.size() || static_cast<std::int64_t>(args[i].size()) < need) {
    throw Error(ErrorCode::Shape,
                fmt::format("argument {} ({}) needs {} bytes, got {}", i, buffer.name, need,
                            i < args.size() ? args[i].size() : 0),
                kernel.name);
  }
  return args[i].data();
}

} // namespace

void Position::fault(std::string_view what, std::int64_t lane) const {
  std::string text = stmt != nullptr ? to_text(kernel, stmt) : "";
  text = text.substr(0, text.find('\n'));
  throw Error(ErrorCode::Limit,
              fmt::format("kernel {}, block {}, lane {}: {}", kernel.name, block, lane, what),
              text);
}

Memory::Memory(const Position &position, std::span<const std::span<std::byte>> args)
    : position_(position), kernel_(position.kernel), storage_(kernel_.buffers.size()) {
  check_scratch(kernel_);
  for (std::size_t i = 0; i < storage_.size(); ++i) {
    const Buffer &buffer = kernel_.buffers[i];
    if (buffer.space == Space::Global)
      storage_[i].data = argument(kernel_, i, args);
  }
}

void Memory::start_block() {
  epoch_ = 0;
  for (std::size_t i = 0; i < storage_.size(); ++i) {
    const Buffer &buffer = kernel_.buffers[i];
    const auto elems = static_cast<std::size_t>(buffer.elems);
    Storage &storage = storage_[i];
    if (buffer.space == Space::Local) {
      storage.local.assign(elems * static_cast<std::size_t>(size_bytes(buffer.type.elem)),
                           std::byte{0});
      storage.touched.assign(elems, {});
      storage.data = storage.local.data();
    } else if (buffer.space == Space::Register) {
      const std::size_t values = elems * static_cast<std::size_t>(kernel_.block_size);
      storage.cells.resize(values * static_cast<std::size_t>(buffer.type.lanes));
      storage.written.assign(values, false);
    }
  }
}

Memory::Storage &Memory::at(BufferId id, std::int64_t index, std::int64_t item) {
  const Buffer &buffer = kernel_[id];
  if (index < 0 || index >= buffer.elems) {
    position_.fault(fmt::format("{}[{}] is out of bounds: {} has {} elements", buffer.name, index,
                                buffer.name, buffer.elems),
                    item);
  }
  return storage_[static_cast<std::size_t>(to_int(id))];
}

void Memory::note_read(Touch &touch, const Buffer &buffer, std::int64_t index,
                       std::int64_t item) const {
  if (touch.writer < 0)
    position_.fault(fmt::format("{}[{}] is read before it is written", buffer.name, index), item);
  if (touch.write_epoch == epoch_ && touch.writer != item) {
    position_.fault(fmt::format("{}[{}] is read with no barrier after lane {} wrote it",
                                buffer.name, index, touch.writer),
                    item);
  }
  const bool another = touch.read_epoch == epoch_ && touch.reader != item;
  touch.reader = another ? kSeveral : item;
  touch.read_epoch = epoch_;
}

void Memory::note_write(Touch &touch, const Buffer &buffer, std::int64_t index,
                        std::int64_t item) const {
  if (touch.write_epoch == epoch_ && touch.writer != item) {
    position_.fault(fmt::format("{}[{}] is written with no barrier after lane {} wrote it",
                                buffer.name, index, touch.writer),
                    item);
  }
  if (touch.read_epoch == epoch_ && touch.reader != item) {
    position_.fault(fmt::format("{}[{}] is written with no barrier after another lane read it",
                                buffer.name, index),
                    item);
  }
  touch.writer = item;
  touch.write_epoch = epoch_;
}

Cell Memory::read(BufferId id, std::int64_t index, std::int64_t item) {
  const Buffer &buffer = kernel_[id];
  Storage &storage = at(id, index, item);
  if (buffer.space == Space::Local)
    note_read(storage.touched[static_cast<std::size_t>(index)], buffer, index, item);
  Cell cell{};
  if (buffer.type.elem == DType::I64) {
    std::memcpy(&cell.whole, storage.data + index * 8, 8);
    return cell;
  }
  const double value = load_element(storage.data, buffer.type.elem, index);
  if (is_float(buffer.type.elem))
    cell.real = value;
  else
    cell.whole = static_cast<std::int64_t>(value);
  return cell;
}

void Memory::write(BufferId id, std::int64_t index, std::int64_t item, Cell value) {
  const Buffer &buffer = kernel_[id];
  Storage &storage = at(id, index, item);
  if (buffer.space == Space::Local)
    note_write(storage.touched[static_cast<std::size_t>(index)], buffer, index, item);
  if (buffer.type.elem == DType::I64) {
    std::memcpy(storage.data + index * 8, &value.whole, 8);
    return;
  }
  const bool real = is_float(buffer.type.elem);
  store_element(storage.data, buffer.type.elem, index,
                real ? value.real : static_cast<double>(value.whole));
}

std::span<const Cell> Memory::read_register(BufferId id, std::int64_t index, std::int64_t item) {
  const Buffer &buffer = kernel_[id];
  Storage &storage = at(id, index, item);
  const auto value = static_cast<std::size_t>(item * buffer.elems + index);
  if (!storage.written[value])
    position_.fault(fmt::format("{}[{}] is read before it is written", buffer.name, index), item);
  const auto lanes = static_cast<std::size_t>(buffer.type.lanes);
  return std::span<const Cell>(storage.cells).subspan(value * lanes, lanes);
}

std::span<Cell> Memory::write_register(BufferId id, std::int64_t index, std::int64_t item) {
  const Buffer &buffer = kernel_[id];
  Storage &storage = at(id, index, item);
  const auto value = static_cast<std::size_t>(item * buffer.elems + index);
  storage.written[value] = true;
  const auto lanes = static_cast<std::size_t>(buffer.type.lanes);
  return std::span<Cell>(storage.cells).subspan(value * lanes, lanes);
}

} // namespace tilefuse::kernel::simulation
