// SPDX-License-Identifier: Apache-2.0
// Reading an ELF file that may be damaged: every access is checked, a failed check is Error{Io}.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"

namespace tilefuse::runtime::elf {

// Throws Error{Io}.
[[noreturn]] inline void damaged(const std::string &what) {
  throw Error(ErrorCode::Io, fmt::format("the machine code of a kernel is damaged: {}", what));
}

inline void require(bool condition, const char *what) {
  if (!condition)
    damaged(what);
}

// Bounds-checked reads of an object.
class Reader {
public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  std::string_view range(std::uint64_t offset, std::uint64_t size, const char *what) const {
    require(offset <= bytes_.size() && size <= bytes_.size() - offset, what);
    return bytes_.substr(offset, size);
  }

  template <class T> T at(std::uint64_t offset, const char *what) const {
    T value;
    std::memcpy(&value, range(offset, sizeof(T), what).data(), sizeof(T));
    return value;
  }

private:
  std::string_view bytes_;
};

// Whole entries of a table; a rest is left out.
template <class T> std::vector<T> read_table(std::string_view bytes) {
  std::vector<T> table(bytes.size() / sizeof(T));
  if (!table.empty())
    std::memcpy(table.data(), bytes.data(), table.size() * sizeof(T));
  return table;
}

// The string at `offset` of a table of zero-ended strings.
inline std::string_view name_at(std::string_view strings, std::uint64_t offset) {
  require(offset < strings.size(), "a name lies outside its table");
  const std::size_t end = strings.find('\0', offset);
  require(end != std::string_view::npos, "a name has no end");
  return strings.substr(offset, end - offset);
}

} // namespace tilefuse::runtime::elf
