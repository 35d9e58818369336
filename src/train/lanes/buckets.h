// SPDX-License-Identifier: Apache-2.0
// Ranges of the pool "learned" that workers exchange one by one, each as soon as the last lane's kernels
// are done with it. A backward pass ends with the first layers, whose rows come first: so a bucket that
// is complete early lies far back, and the front one, which the update has to wait for, is small:
//
//   34.1 MB behind launch 121, 67.1 behind 180, 1.0 behind 210 of 210
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tilefuse::train {

struct Bucket {
  std::int64_t row = 0;
  std::int64_t rows = 0;
  std::size_t after = 0;  // launches; none behind them touches these rows
  bool is_narrow = false; // its numbers are bf16's, and parts of it travel as such
  friend bool operator==(const Bucket &, const Bucket &) = default;
};

struct BucketSizes {
  std::int64_t rows = 0;
  int workers = 1;         // that share the rows evenly, and those of each bucket
  std::int64_t front = 0;  // rows of the front bucket, rounded up to be shared
  std::int64_t most = 0;   // the same of the others
  std::int64_t narrow = 0; // rows, the first, whose numbers are bf16's
};

// Of rows [0, rows), in the order in which they are complete. `uses` are parts of these rows and how
// many launches use them; what is in none of them is complete at once.
std::vector<Bucket> make_buckets(std::span<const Bucket> uses, const BucketSizes &sizes);

// As above.
std::string to_text(std::span<const Bucket> buckets, std::size_t launches);

} // namespace tilefuse::train
