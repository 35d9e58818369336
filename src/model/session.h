// SPDX-License-Identifier: Apache-2.0
// A model on a device: compiled (from cache where possible), planned, its constants packed and
// resident, ready to run.
//
//   Session session(import_model(…), device, options);
//   std::vector<HostTensor> outputs = session.run(inputs);
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/profile.h"
#include "model/session_options.h"
#include "model/session_stats.h"
#include "program/host_tensor.h"
#include "program/program.h"
#include "runtime/device.h"
#include "runtime/store/kernel_cache.h"

namespace tilefuse::model {

class Session {
public:
  Session(const program::Program &program, runtime::Device &device, runtime::KernelCache &cache,
          const SessionOptions &options);
  ~Session();
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;

  // Descriptions without data.
  const std::vector<program::HostTensor> &inputs() const;
  const std::vector<program::HostTensor> &outputs() const;

  // Inputs in order; Error{Shape|Type} when one does not match. Blocks until the outputs are there.
  std::vector<program::HostTensor> run(std::span<const program::HostTensor> inputs);
  // Runs once more on what is in the input buffers and returns wall seconds from first launch to
  // finish, no copies.
  double run_again();

  const SessionStats &stats() const;
  // Times every kernel of a run by the device's clock: of `passes` runs, that of median length.
  Profile profile(int passes = 1);
  const Compiled &compiled() const;
  const Plan &plan() const;
  // The plan as text: buffers, arena offsets, launches.
  std::string plan_text() const;

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace tilefuse::model
