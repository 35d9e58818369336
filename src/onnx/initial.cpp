// SPDX-License-Identifier: Apache-2.0
#include "onnx/initial.h"

#include <charconv>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/random.h"

namespace tilefuse::onnx_import {
namespace {

Random random_of(const std::string &name, std::uint64_t seed) {
  const std::string digits = content_hash(fmt::format("{}\n{}", seed, name)).substr(0, 16);
  std::uint64_t key = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), key, 16);
  return Random(key);
}

// Of `next`() for each element.
template <class Next>
program::HostTensor make(const std::string &name, const program::Shape &shape, const Next &next) {
  program::HostTensor tensor = program::make_host_tensor(name, DType::F32, shape);
  const std::int64_t count = program::elems(shape);
  for (std::int64_t i = 0; i < count; ++i)
    program::set(tensor, i, next());
  return tensor;
}

// Mean 0, deviation 1: twelve numbers of 16 bits, four of each draw.
double normal(Random &random) {
  std::int64_t sum = 0;
  for (int draw = 0; draw < 3; ++draw)
    for (std::uint64_t bits = random.next(), part = 0; part < 4; ++part, bits >>= 16)
      sum += static_cast<std::int64_t>(bits & 0xffff);
  constexpr std::int64_t kMiddle = 6 * 0xffff;
  return static_cast<double>(sum - kMiddle) / 0x1p16;
}

} // namespace

program::HostTensor draw_uniform(const std::string &name, const program::Shape &shape, double bound,
                                 std::uint64_t seed) {
  Random random = random_of(name, seed);
  return make(name, shape, [&] { return (2 * random.unit() - 1) * bound; });
}

program::HostTensor draw_normal(const std::string &name, const program::Shape &shape,
                                double deviation, std::uint64_t seed) {
  Random random = random_of(name, seed);
  return make(name, shape, [&] { return normal(random) * deviation; });
}

program::HostTensor filled(const std::string &name, const program::Shape &shape, double value) {
  return make(name, shape, [&] { return value; });
}

} // namespace tilefuse::onnx_import
