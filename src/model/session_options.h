// SPDX-License-Identifier: Apache-2.0
// How a model is compiled.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/pass_context.h"
#include "runtime/store/record_store.h"
#include "search/network/fusion.h"
#include "search/network/launches.h"

namespace tilefuse::model {

struct SessionOptions {
  std::string algorithm;       // forced on every kernel that it fits, when not empty
  std::string split = "auto";  // of reductions (search/network/split_groups.h)
  std::string layout = "auto"; // of activations (search/network/layout_choice.h)
  search::FusionSettings fusion;
  search::Sharing sharing = search::Sharing::Any; // of launches, by several kernels
  // Whether launches that nothing waits for soon run beside others (search/network/asides.h), for who runs
  // a timeline of them; under a limit of memory where it suffices, since they keep more for longer.
  bool has_asides = false;
  // That buffers alive during a run alone may need; what would be too much is computed again
  // (model/plan/recompute.h). 0: any.
  std::int64_t arena_bytes = 0;
  runtime::RecordStore *records = nullptr; // tuned schedules, when given
  bool is_simplified = false;              // nothing is left for simplify to do (model/passes.h)
  PassContext *passes = nullptr;           // of programs (model/passes.h), when given
  std::string dump_directory;              // every level's text of every kernel, when not empty
  std::function<void(int done, int total)> progress; // kernels compiled
  std::function<void(const std::string &)> warn;     // a decision the user should know of
};

} // namespace tilefuse::model
