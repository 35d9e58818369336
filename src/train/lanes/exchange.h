// SPDX-License-Identifier: Apache-2.0
// The sum of what all workers learned, at each of them, bucket by bucket (buckets.h).
//
// By the order "tree", worker r gets the r-th part of a bucket's rows of every worker, adds them as the
// tree over lanes does above the workers' own subtrees, and all gather the sums: 2 (R - 1)/R of the
// bytes travel, as many as by a ring. By the order "library" NCCL or MPI sums in an order of its own.
// Elements are summed each for itself: buckets change no bit. Of a narrow bucket parts travel as bf16,
// which loses nothing there, are added in f32, and the sums travel as f32.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/workers.h"
#include "train/lanes/buckets.h"
#include "train/phase.h"

namespace tilefuse::train {

class Exchange {
public:
  // Of `learned`, rows of kRow floats, which the buckets divide; the sum is multiplied by `factor`.
  // All that is named outlives the result.
  Exchange(const Compilation &compilation, const runtime::Binding &learned,
           runtime::Workers &workers, const std::string &order, double factor,
           std::span<const Bucket> buckets);

  std::size_t buckets() const { return buckets_.size(); }
  // Of one bucket: queues it, or waits for it, as the workers' kind does.
  void run(std::size_t bucket);
  std::int64_t bytes() const;

private:
  struct Part {
    runtime::Binding learned;
    runtime::Binding sent;         // `learned`, or its copy in bf16
    runtime::Binding parts;        // by other worker; without memory: the library sums
    std::unique_ptr<Phase> narrow; // makes that copy
    std::unique_ptr<Phase> sum;
  };

  static Part whole_part(const Compilation &compilation, const runtime::Binding &own,
                         double factor);
  Part tree_part(const Compilation &compilation, const runtime::Binding &own, const Bucket &bucket,
                 double factor) const;
  void launch(const Phase &phase) const;

  runtime::Workers &workers_;
  runtime::Device &device_;
  std::unique_ptr<runtime::Memory> parts_, narrow_; // null: not needed
  std::vector<Part> buckets_;
};

} // namespace tilefuse::train
