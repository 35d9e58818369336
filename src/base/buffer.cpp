// SPDX-License-Identifier: Apache-2.0
#include "base/buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace tilefuse {
namespace {

constexpr std::size_t kSmallUnit = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

} // namespace

Buffer::Buffer(std::size_t bytes) : size_(bytes) {
  const std::size_t unit = bytes >= kHugePage ? kHugePage : kSmallUnit;
  const std::size_t whole = std::max((bytes + unit - 1) / unit * unit, unit);
  data_.reset(static_cast<char *>(std::aligned_alloc(unit, whole)));
  if (!data_)
    throw std::bad_alloc();
  if (unit == kHugePage)
    madvise(data_.get(), whole, MADV_HUGEPAGE);
}

} // namespace tilefuse
