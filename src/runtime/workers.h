// SPDX-License-Identifier: Apache-2.0
// Processes that train together, one per device, and what they tell each other of device memory. One
// of the interfaces of tilefuse: it is input and output. Kinds: NCCL between CUDA devices
// (cuda/nccl_workers.h), and by way of the host's memory MPI or the sockets of a star
// (workers/host_workers.h).
//
// Every worker makes the same calls in the same order. A call is queued behind the device's work, or
// waits for it. One that fails, since a worker is gone say, throws Error{Device}.
#pragma once

#include "runtime/device.h"

namespace tilefuse::runtime {

class Workers {
public:
  virtual ~Workers() = default;

  virtual int rank() const = 0;
  virtual int count() const = 0;
  // Whether calls are queued, so that they can run beside the device's kernels.
  virtual bool overlaps() const { return false; }

  // `from` and `to` are count() equal parts. Part w of `from` goes to worker w, where it becomes
  // part rank() of `to`; a worker's own stays where it is.
  virtual void swap_parts(const Binding &from, const Binding &to) = 0;
  // Part w of `all` becomes that of worker w.
  virtual void gather_parts(const Binding &all) = 0;
  // `all`, f32, becomes the sum over the workers, in an order of the library's.
  virtual void sum(const Binding &all) = 0;
};

} // namespace tilefuse::runtime
