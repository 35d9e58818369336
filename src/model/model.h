// SPDX-License-Identifier: Apache-2.0
// A model on a device: compiled (from cache where possible), planned, its constants packed and
// resident, ready to run.
//
//   Session session(import_model(…), device, options);
//   std::vector<HostTensor> outputs = session.run(inputs);
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/pass_context.h"
#include "program/host_tensor.h"
#include "program/program.h"
#include "program/storage/layout.h"
#include "runtime/device.h"
#include "runtime/store/kernel_cache.h"
#include "runtime/store/record_store.h"
#include "search/network/fusion.h"

namespace tilefuse::model {

struct SessionOptions {
  std::string algorithm;       // forced on every kernel that it fits, when not empty
  std::string split = "auto";  // of reductions (search/network/split_groups.h)
  std::string layout = "auto"; // of activations (search/network/layout_choice.h)
  search::FusionSettings fusion;
  bool tf32 = false;        // products of f32 may be rounded to tf32
  bool side_by_side = true; // several kernels in a launch (search/network/launches.h)
  runtime::RecordStore *records = nullptr; // tuned schedules, when given
  bool is_simplified = false;              // precision was applied to what simplify gave
  PassContext *passes = nullptr;           // of programs (model/passes.h), when given
  std::string dump_directory;              // every level's text of every kernel, when not empty
  std::function<void(int done, int total)> progress; // kernels compiled
  std::function<void(const std::string &)> warn;     // a decision the user should know of
};

// One line of --verbose.
struct KernelReport {
  std::string name;      // by the kernel-name grammar
  std::string origin;    // ONNX nodes
  std::string schedule;  // its name
  std::string chosen_by; // "model", "tuned on this device", …
  double flops = 0;
  double bytes = 0;
  double begin = 0;    // device seconds since the first kernel of the run began
  double seconds = 0;  // on the device
  double roofline = 0; // share of what the target's peak and bandwidth allow, 0..1
  std::string limit;   // which of them is the lower: "arithmetic" or "memory"
};

// Where the time until a session is ready went.
struct StartSeconds {
  double choose = 0;  // layouts, groups, splits and schedules
  double emit = 0;    // lowering and code
  double build = 0;   // the driver's compiler
  double weights = 0; // packed and written
  double load = 0;    // of what is built
};

struct SessionStats {
  int kernels = 0;  // launches per run
  int tuned = 0;    // of these, by a tuning record
  int compiled = 0; // packages that were not in the cache
  int searched = 0; // choices of schedules, splits and layouts that were not
  program::Layout layout = program::Layout::Nhwc; // of activations
  int conversions = 0; // statements that only copy from one layout to another
  double import_seconds = 0;
  double compile_seconds = 0;
  StartSeconds start;
  std::int64_t weight_bytes = 0;
  std::int64_t arena_bytes = 0;
};

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
  std::vector<KernelReport> profile(int passes = 1);
  // The plan as text: buffers, arena offsets, launches.
  std::string plan_text() const;

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace tilefuse::model
