// SPDX-License-Identifier: Apache-2.0
// Memory for many bytes that are about to be written, such as a file's: nothing fills it first, and
// a large one asks for pages of 2 MiB, each of which costs one page fault in place of 512.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>
#include <string_view>

namespace tilefuse {

class Buffer {
public:
  // Throws std::bad_alloc.
  explicit Buffer(std::size_t bytes);

  std::span<char> chars() { return {data_.get(), size_}; }
  std::string_view text() const { return {data_.get(), size_}; }

private:
  struct Free {
    void operator()(char *data) const { std::free(data); }
  };
  std::size_t size_;
  std::unique_ptr<char, Free> data_;
};

} // namespace tilefuse
