// SPDX-License-Identifier: Apache-2.0
// A compiled program whose constants lie in device memory: what all of its executions share. It
// does not change once it is made.
#pragma once

#include <memory>
#include <vector>

#include "model/compiled.h"
#include "model/plan/plan.h"
#include "model/session_options.h"
#include "model/session_stats.h"
#include "program/host_tensor.h"
#include "runtime/device.h"
#include "runtime/store/kernel_cache.h"

namespace tilefuse::model {

class Resident {
public:
  // Compiles what the cache does not have; the device outlives the result.
  Resident(const program::Program &program, runtime::Device &device, runtime::KernelCache &cache,
           const SessionOptions &options);

  runtime::Device &device() const { return *device_; }
  const Compiled &compiled() const { return compiled_; }
  const Plan &plan() const { return plan_; }
  // Descriptions without data.
  const std::vector<program::HostTensor> &inputs() const { return inputs_; }
  const std::vector<program::HostTensor> &outputs() const { return outputs_; }
  // Start.load is for who loads kernels to add.
  const SessionStats &stats() const { return stats_; }
  // Where a planned constant lies.
  runtime::Binding constant(int number) const;

private:
  const program::Bytes &constant_data(program::BufferId id) const;
  void upload_constants();
  void count();

  runtime::Device *device_;
  Compiled compiled_;
  Plan plan_;
  std::vector<program::HostTensor> inputs_;
  std::vector<program::HostTensor> outputs_;
  std::unique_ptr<runtime::Memory> weights_;
  SessionStats stats_;
};

} // namespace tilefuse::model
