// SPDX-License-Identifier: Apache-2.0
#include "target/convert_elements.h"

#include <cstddef>
#include <cstring>

#include "target/dtype_traits.h"

namespace tilefuse {
namespace {

// Floats are rounded once, so that the type between them and halves does not matter.
template <class Round>
void narrow(const void *from, void *to, std::int64_t count, const Round &round) {
  const auto *read = static_cast<const std::byte *>(from);
  auto *write = static_cast<std::byte *>(to);
  for (std::int64_t i = 0; i < count; ++i) {
    float value = 0;
    std::memcpy(&value, read + i * std::int64_t{sizeof value}, sizeof value);
    const std::uint16_t rounded = round(value);
    std::memcpy(write + i * std::int64_t{sizeof rounded}, &rounded, sizeof rounded);
  }
}

} // namespace

void convert_elements(const void *from, DType from_type, void *to, DType to_type,
                      std::int64_t count) {
  if (from_type == DType::F32 && to_type == DType::F16)
    return narrow(from, to, count, float_to_half);
  if (from_type == DType::F32 && to_type == DType::BF16)
    return narrow(from, to, count, float_to_bfloat);
  const DTypeTraits &loaded = traits(from_type);
  const DTypeTraits &stored = traits(to_type);
  for (std::int64_t i = 0; i < count; ++i)
    stored.store(to, i, loaded.load(from, i));
}

} // namespace tilefuse
