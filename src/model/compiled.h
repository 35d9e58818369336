// SPDX-License-Identifier: Apache-2.0
// What compiling a program for a device gives. All of it but packages and figures of the start is one
// text, which reads back:
//
//   compiled layout "nhwc" conversions 3
//   warning "kernel 'conv': ilpm does not compute producers; scheduled by the cost model"
//   program "resnet" {
//   …                           and its buffers and windows (program/storage/storage.h)
//   forms
//   launch                      as launch/text.h has it, each once: all buffers are number 0
//   …
//   launches
//   run 0 before 20             a launch of the form 0, an aside
//   part "model" "Conv conv1 + Relu relu1" statement 4 buffers 4 1 9
//   note "…"
//   waiting "Relu relu1" again bytes 205520896 freed 205520896 seconds 7.1e-05 "cheapest of 31"
//   end
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launch/launch.h"
#include "model/plan/waiting.h"
#include "model/session_stats.h"
#include "package/package.h"
#include "program/storage/storage.h"

namespace tilefuse::model {

// A launch and the package that its kernel is.
struct CompiledLaunch {
  launch::Launch launch;
  std::size_t package = 0; // position in Compiled::packages
  // Of an aside the number of the launch before which it has ended (search/network/asides.h).
  std::optional<std::size_t> before = std::nullopt;
};

struct Compiled {
  program::StoredProgram stored;
  std::string layout = "nhwc";          // of activations, one of search::layout_names()
  int conversions = 0;                  // statements that copy from one layout to another
  std::vector<CompiledLaunch> launches; // in order
  std::vector<Package> packages;        // built, ready to load
  int built = 0;                        // packages that were not in the cache
  int searched = 0;                     // choices that were not in the cache
  std::vector<WaitingTensor> waiting;   // under a limit of memory: first what is computed again
  std::vector<std::string> warnings;    // of decisions that the user should know of
  bool is_kept = false;                 // read back whole: nothing was chosen (plan/kept_plan.h)
  StartSeconds seconds;                 // of these parts
  const Package &package(const CompiledLaunch &launch) const { return packages[launch.package]; }
};

// A parsed one has no data of constants, but their hashes, and nothing that the text leaves out.
// Error{Syntax}, and what verifies programs, groups and their places throws.
std::string to_text(const Compiled &compiled);
Compiled parse_compiled(std::string_view text, const std::string &file = "<compiled>");

} // namespace tilefuse::model
