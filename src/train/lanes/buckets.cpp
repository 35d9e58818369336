// SPDX-License-Identifier: Apache-2.0
#include "train/lanes/buckets.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "train/parameters.h"

namespace tilefuse::train {
namespace {

std::int64_t round_up(std::int64_t rows, std::int64_t unit) {
  return (rows + unit - 1) / unit * unit;
}

std::size_t launches_of(std::span<const Bucket> uses, std::int64_t begin, std::int64_t end) {
  std::size_t after = 0;
  for (const Bucket &use : uses)
    if (use.row < end && use.row + use.rows > begin)
      after = std::max(after, use.after);
  return after;
}

} // namespace

std::vector<Bucket> make_buckets(std::span<const Bucket> uses, const BucketSizes &sizes) {
  TILEFUSE_CHECK(sizes.rows % sizes.workers == 0, "rows that cannot be shared out");
  const std::int64_t narrow = sizes.narrow / sizes.workers * sizes.workers;
  std::vector<Bucket> buckets;
  std::int64_t begin = 0;
  for (std::int64_t want = sizes.front; begin < sizes.rows; want = sizes.most) {
    const std::int64_t rows = round_up(std::max<std::int64_t>(want, 1), sizes.workers);
    const bool is_narrow = begin < narrow;
    const std::int64_t end = std::min(is_narrow ? narrow : sizes.rows, begin + rows);
    buckets.push_back({begin, end - begin, launches_of(uses, begin, end), is_narrow});
    begin = end;
  }
  std::reverse(buckets.begin(), buckets.end());
  std::stable_sort(buckets.begin(), buckets.end(),
                   [](const Bucket &a, const Bucket &b) { return a.after < b.after; });
  return buckets;
}

std::string to_text(std::span<const Bucket> buckets, std::size_t launches) {
  std::string text;
  for (const Bucket &bucket : buckets)
    text += fmt::format("{}{:.1f}{} behind {}{}", text.empty() ? "" : ", ",
                        static_cast<double>(bucket.rows * kRow * 4) * 1e-6,
                        text.empty() ? " MB" : "", text.empty() ? "launch " : "", bucket.after);
  return text + fmt::format(" of {}", launches);
}

} // namespace tilefuse::train
