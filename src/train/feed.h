// SPDX-License-Identifier: Apache-2.0
// The batches of a training run on their way into the gradients program. Where a device copies
// beside its kernels, the batch after is copied while a step runs:
//
//   feed.take(lane);          the batch lies in the lane's inputs, behind what is queued
//   device.launch_all(…);
//   feed.prepare();           copies the next one to memory of its own, beside the kernels
//   …                         once they have ended, take() copies it on
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <memory>

#include "data/loader.h"
#include "runtime/device.h"
#include "train/gradients.h"

namespace tilefuse::train {

class Feed {
public:
  // All outlive the feed. `classes`: labels are below it.
  Feed(data::Loader &loader, runtime::Device &device, const Gradients &gradients,
       std::int64_t classes);

  // The epoch of the next batch, which goes to a lane. Errors are those of the loader and of check_labels() (evaluator.h).
  std::int64_t take(int lane);
  // At most once between two takes, of which the second is made when the device has finished.
  void prepare();
  // Bytes of device memory that the copies of batches of so many bytes take.
  static std::int64_t bytes(const runtime::Device &device, std::int64_t batch);

private:
  // One is filled while the other may still be read.
  using Copies = std::array<std::array<std::unique_ptr<runtime::Memory>, kMostFed>, 2>;

  const data::Batch &next();
  runtime::Binding copy_of(std::size_t port) const;

  data::Loader &loader_;
  runtime::Device &device_;
  const Gradients &gradients_;
  const std::int64_t classes_;
  Copies copies_; // where writes overlap
  std::size_t filled_ = 0;
  bool is_ahead_ = false;
  std::int64_t epoch_ = 0;     // of the batch that is ahead
  std::exception_ptr failure_; // of a batch that was to be ahead, for the take that wants it
};

} // namespace tilefuse::train
