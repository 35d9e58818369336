// SPDX-License-Identifier: Apache-2.0
#include "train/lanes/exchange.h"

#include <algorithm>

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
  Compilation compilation = given;
  compilation.precision = "f32";
  const bool is_tree = order != "library";
  const bool has_narrow = std::any_of(buckets.begin(), buckets.end(),
                                      [](const Bucket &each) { return each.is_narrow; });
  TILEFUSE_CHECK(is_tree || !has_narrow, "a library would sum bf16 in bf16");
  if (is_tree)
    parts_ = device_.allocate(learned.bytes);
  if (has_narrow)
    narrow_ = device_.allocate(learned.bytes / 2);
  for (const Bucket &bucket : buckets) {
    TILEFUSE_CHECK(bucket.rows % workers.count() == 0, "rows that cannot be shared out");
    const runtime::Binding own{learned.memory, learned.offset + bucket.row * kRowBytes,
                               bucket.rows * kRowBytes};
    buckets_.push_back(is_tree ? tree_part(compilation, own, bucket, factor)
                               : whole_part(compilation, own, factor));
  }
}

// The library sums.
Exchange::Part Exchange::whole_part(const Compilation &compilation, const runtime::Binding &own,
                                    double factor) {
  const Placed placed{{{false, 0}, own}, {{true, 0}, own}};
  Part part{.learned = own};
  part.sum =
      std::make_unique<Phase>(sum_program(own.bytes / kRowBytes, 1, factor), compilation, placed);
  check_in_place(part.sum->resident(), 0, 0);
  return part;
}

Exchange::Part Exchange::tree_part(const Compilation &compilation, const runtime::Binding &own,
                                   const Bucket &bucket, double factor) const {
  const int count = workers_.count();
  const std::int64_t divisor = bucket.is_narrow ? 2 : 1; // of bytes
  const std::int64_t offset = bucket.row * kRowBytes / divisor;
  Part part{.learned = own, .sent = own};
  part.parts = {parts_.get(), offset, own.bytes / divisor};
  if (bucket.is_narrow) {
    part.sent = {narrow_.get(), offset, own.bytes / divisor};
    part.narrow = std::make_unique<Phase>(narrowing_program(bucket.rows), compilation,
                                          Placed{{{false, 0}, own}, {{true, 0}, part.sent}});
  }
  Placed placed{{{true, 0}, part_of(own, workers_.rank(), count)}};
  for (int worker = 0; worker < count; ++worker)
    placed.push_back({{false, at(worker)},
                      part_of(worker == workers_.rank() ? part.sent : part.parts, worker, count)});
  part.sum = std::make_unique<Phase>(
      sum_program(bucket.rows / count, count, factor, bucket.is_narrow ? DType::BF16 : DType::F32),
      compilation, placed);
  if (!bucket.is_narrow)
    check_in_place(part.sum->resident(), at(workers_.rank()), 0);
  return part;
}

std::int64_t Exchange::bytes() const {
  return (parts_ ? parts_->bytes() : 0) + (narrow_ ? narrow_->bytes() : 0);
}

void Exchange::launch(const Phase &phase) const {
  for (runtime::Launchable *kernel : phase.kernels())
    device_.launch(*kernel);
}

void Exchange::run(std::size_t bucket) {
  const Part &part = buckets_.at(bucket);
  if (part.narrow)
    launch(*part.narrow);
  if (parts_)
    workers_.swap_parts(part.sent, part.parts);
  else
    workers_.sum(part.learned);
  launch(*part.sum);
  if (parts_)
    workers_.gather_parts(part.learned);
}

} // namespace tilefuse::train
