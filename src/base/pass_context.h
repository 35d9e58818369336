// SPDX-License-Identifier: Apache-2.0
// What the passes of one compilation share: which of them are switched off, how long each took, and
// where the results of those that changed something are written.
//
//   PassContext passes;
//   passes.disable("fold_scales");
//   passes.dump_to("out");  // out/pass00.import.txt, out/pass03.fold_constants.txt, …
//
// The tables of passes stand where the passes are run (model/passes.h, lower/pipeline.h).
#pragma once

#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tilefuse {

struct PassTime {
  std::string name;
  int runs = 0;
  int changes = 0;    // runs whose result was not their input
  double seconds = 0; // of all runs; of runs on several threads, the sum
};

class PassContext {
public:
  PassContext() = default;
  PassContext(const PassContext &) = delete;
  PassContext &operator=(const PassContext &) = delete;

  // Leaves out every run of this pass.
  void disable(std::string name) { disabled_.insert(std::move(name)); }
  bool is_disabled(std::string_view name) const { return disabled_.find(name) != disabled_.end(); }

  // Asks for times, which are to be reported at the end.
  void time() { is_timed_ = true; }
  bool is_timed() const { return is_timed_; }
  // Writes results into this folder, which is created for the first.
  void dump_to(std::string directory) { directory_ = std::move(directory); }
  // Whether runs are to be noted.
  bool is_watched() const { return is_timed_ || !directory_.empty(); }

  // Counts a run of a pass over something that prints, and writes `result` where it is not
  // `before`. Error{Io} when that fails.
  void note(std::string_view name, double seconds, const std::string &before,
            const std::string &result);
  // Counts a run whose result is always another thing than its input. From any thread.
  void note(std::string_view name, double seconds);

  // In the order of first runs.
  std::vector<PassTime> times() const;

private:
  // The number of the run among all.
  int count(std::string_view name, double seconds, bool changed);

  std::set<std::string, std::less<>> disabled_;
  std::string directory_; // empty: nothing is written
  bool is_timed_ = false;
  mutable std::mutex mutex_; // of the members below
  std::vector<PassTime> times_;
  int runs_ = 0;
};

} // namespace tilefuse
