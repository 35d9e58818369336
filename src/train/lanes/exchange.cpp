// SPDX-License-Identifier: Apache-2.0
#include "train/lanes/exchange.h"

#include "base/error.h"
#include "base/index.h"
#include "train/lanes/sum_program.h"
#include "train/parameters.h"

namespace tilefuse::train {
namespace {

using Placed = std::vector<model::PlacedPort>;

constexpr std::int64_t kRowBytes = 4 * kRow;

runtime::Binding part_of(const runtime::Binding &whole, int number, int count) {
  const std::int64_t bytes = whole.bytes / count;
  return {whole.memory, whole.offset + number * bytes, bytes};
}

} // namespace

Exchange::Exchange(const Compilation &given, const runtime::Binding &learned,
                   runtime::Workers &workers, const std::string &order, double factor,
                   std::span<const Bucket> buckets)
    : workers_(workers), device_(given.device) {
  const int count = workers.count();
  Compilation compilation = given;
  compilation.precision = "f32";
  const auto make = [&](std::int64_t rows, int parts, const Placed &placed) {
    return std::make_unique<Phase>(sum_program(rows, parts, factor), compilation, placed);
  };
  const bool is_tree = order != "library";
  if (is_tree)
    parts_ = device_.allocate(learned.bytes);
  for (const Bucket &bucket : buckets) {
    TILEFUSE_CHECK(bucket.rows % count == 0, "rows that cannot be shared out");
    const std::int64_t offset = bucket.row * kRowBytes, bytes = bucket.rows * kRowBytes;
    const runtime::Binding own{learned.memory, learned.offset + offset, bytes};
    if (!is_tree) {
      const Placed placed{{{false, 0}, own}, {{true, 0}, own}};
      buckets_.push_back({own, {}, make(bucket.rows, 1, placed)});
      check_in_place(buckets_.back().sum->resident(), 0, 0);
      continue;
    }
    const runtime::Binding parts{parts_.get(), offset, bytes};
    Placed placed{{{true, 0}, part_of(own, workers.rank(), count)}};
    for (int worker = 0; worker < count; ++worker)
      placed.push_back({{false, at(worker)}, part_of(parts, worker, count)});
    buckets_.push_back({own, parts, make(bucket.rows / count, count, placed)});
  }
}

void Exchange::run(std::size_t bucket) {
  const Part &part = buckets_.at(bucket);
  if (parts_)
    workers_.swap_parts(part.learned, part.parts);
  else
    workers_.sum(part.learned);
  for (runtime::Launchable *kernel : part.sum->kernels())
    device_.launch(*kernel);
  if (parts_)
    workers_.gather_parts(part.learned);
}

} // namespace tilefuse::train
