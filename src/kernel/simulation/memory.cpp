// SPDX-License-Identifier: Apache-2.0
#include "kernel/simulation/memory.h"

#include <cstring>

#include <fmt/format.h>

#include "base/error.h"
#include "kernel/text/text.h"

namespace tilefuse::kernel::simulation {
namespace {

template <class T> T read_as(const std::byte *data, std::int64_t index) {
  T value;
  std::memcpy(&value, data + index * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <class T> void write_as(std::byte *data, std::int64_t index, T value) {
  std::memcpy(data + index * static_cast<std::int64_t>(sizeof(T)), &value, sizeof(T));
}

} // namespace

Cell load_cell(const std::byte *data, DType type, std::int64_t index) {
  Cell cell{};
  if (type == DType::F32)
    cell.real = static_cast<double>(read_as<float>(data, index));
  else if (type == DType::I64)
    cell.whole = read_as<std::int64_t>(data, index);
  else if (is_float(type))
    cell.real = load_element(data, type, index);
  else
    cell.whole = static_cast<std::int64_t>(load_element(data, type, index));
  return cell;
}

void store_cell(std::byte *data, DType type, std::int64_t index, Cell value) {
  switch (type) {
  case DType::F32:
    return write_as(data, index, static_cast<float>(value.real));
  case DType::I64:
    return write_as(data, index, value.whole);
  case DType::F16:
  case DType::BF16:
  case DType::F64:
    return store_element(data, type, index, value.real);
  default:
    return store_element(data, type, index, static_cast<double>(wrapped(value.whole, type)));
  }
}

void Position::fault(std::string_view what, std::int64_t item) const {
  std::string text = stmt != nullptr ? to_text(kernel, stmt) : "";
  text = text.substr(0, text.find('\n'));
  const std::string lane = item >= 0 ? fmt::format(", lane {}", item) : "";
  throw Error(ErrorCode::Limit,
              fmt::format("kernel {}, block {}{}: {}", kernel.name, block, lane, what), text);
}

} // namespace tilefuse::kernel::simulation
