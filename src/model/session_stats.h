// SPDX-License-Identifier: Apache-2.0
// What compiling a model did, and what its kernels take.
#pragma once

#include <cstdint>
#include <string>

namespace tilefuse::model {

// One line of --verbose.
struct KernelReport {
  int number = 0;        // of the first kernel of the launch, counted as every verb does
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
  int kernels = 0;             // launches per run
  int tuned = 0;               // of these, by a tuning record
  int compiled = 0;            // packages that were not in the cache
  int searched = 0;            // choices of schedules, splits and layouts that were not
  std::string layout = "nhwc"; // of activations, one of search::layout_names()
  int conversions = 0;         // statements that only copy from one layout to another
  double import_seconds = 0;
  double compile_seconds = 0;
  StartSeconds start;
  std::int64_t weight_bytes = 0;
  std::int64_t arena_bytes = 0;
};

} // namespace tilefuse::model
