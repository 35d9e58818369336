// SPDX-License-Identifier: Apache-2.0
// What is done with a network beside running it: timing, explaining, verifying, tuning. Each takes
// the types of all inputs and holds the engine's mutex.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "api/network.h"
#include "model/oracle/verify.h"
#include "model/session_stats.h"
#include "model/tune/tune.h"

namespace tilefuse::api {

// Uniform in [-1, 1) for float types, in [0, 16) for the others; bool is either.
program::HostTensor random_input(const program::HostTensor &form, std::mt19937 &random);

struct Timing {
  std::vector<double> seconds; // of runs on random input, sorted
  std::vector<model::KernelReport> kernels;
};
Timing time(Network &network, const InputTypes &types, int repeat, const Progress &progress);

// Why the kernel that `layer` names is what it is; a list of them where it is empty.
std::string explain(Network &network, const InputTypes &types, const std::string &layer);

// Kernel by kernel against the reference, on random input.
model::VerifyReport verify(Network &network, const InputTypes &types, std::int64_t samples,
                           const Progress &progress);
// Error{Device} that names the kernel where the report has a fault; else two lines.
std::string verdict(const model::VerifyReport &report, const std::string &device,
                    std::int64_t samples);

// Measures schedules and records the best, which everything compiled from then on takes.
model::TuneReport tune(Network &network, const InputTypes &types, double budget_seconds,
                       const Progress &progress);
// Three lines.
std::string summary(const model::TuneReport &report);

} // namespace tilefuse::api
