// SPDX-License-Identifier: Apache-2.0
// The sum of what all workers learned, at each of them.
//
// By the order "tree", worker r gets the r-th part of the rows of every worker, adds them as the tree
// over lanes does above the workers' own subtrees, and all gather the sums: 2 (R - 1)/R of the bytes
// travel, as many as by a ring. By the order "library" NCCL or MPI sums in an order of its own.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runtime/workers.h"
#include "train/phase.h"

namespace tilefuse::train {

class Exchange {
public:
  // Of `learned`, rows of kRow floats, as many for each worker; the sum is multiplied by `factor`.
  // All that is named outlives the result.
  Exchange(const Compilation &compilation, const runtime::Binding &learned,
           runtime::Workers &workers, const std::string &order, double factor);

  // Queues it, or waits for it, as the workers' kind does.
  void run();
  std::int64_t bytes() const { return parts_ ? parts_->bytes() : 0; }

private:
  runtime::Workers &workers_;
  runtime::Binding learned_;
  std::unique_ptr<runtime::Memory> parts_; // by worker; null: the library sums
  std::optional<Phase> sum_;
};

} // namespace tilefuse::train
