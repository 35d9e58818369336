// SPDX-License-Identifier: Apache-2.0
// The kernels of a Work on a device under several schedules: built, bound to shared buffers of
// random numbers, timed, their results compared with the evaluator.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpu_work.h"
#include "launch/launch.h"
#include "runtime/device.h"
#include "schedule/schedule.h"

namespace tilefuse::bench {

// One way to compute a Work:
//
//   picked                   as search decides
//   whole                    the same without splitting reductions
//   picked:c2x1              as picked, on clusters of 2 x 1 blocks
//   core#3, wgmma#3, tf32#3  the third schedule with such matrix instructions by predicted time, in
//                            every kernel that has as many
//   wgmma:128x64             that tile of wgmma
//   wgmma:128x64t            the same, taken in turns
//   wgmma:128x64c2x1         the same on clusters of 2 x 1 blocks
//   wgmma:128x64p4           the same in four parts
//   wgmma:128x64r4           the same with a ring of four buffers
//   NAME                     a named algorithm
//
// Behind "c:8/" reductions are split as that says, and as "together/" and "two/" say
// (search/network/split_groups.h); behind "apart/" every kernel is a launch of its own.
struct Way {
  std::string name;
  std::string refusal;                // why there is none
  std::vector<launch::Launch> joined; // the launches
  std::vector<Package> packages;      // by launch
  std::vector<std::unique_ptr<runtime::Memory>> packed;
  std::vector<std::unique_ptr<runtime::Launchable>> launchables;
  std::vector<double> seconds;

  // "mma:128x128x64r4 x4": the schedule of the largest kernel, and how many launches there are;
  // "4 in 1" where several kernels are one launch.
  std::string schedule_text() const;
  double predicted_seconds = 0; // by the cost model, each kernel alone
  // All scheduled groups.
  std::vector<const launch::Part *> parts() const;
  std::vector<runtime::Launchable *> launches() const;
};

// Buffers between kernels are added to the work's.
Way make_way(Work &work, const std::string &name, const Target &target);
// Builds all; a way that cannot be built says so.
void build(std::vector<Way *> ways, runtime::Device &device);

// Buffers of a Work in device memory; those that are read hold random values.
class WorkData {
public:
  // Both must outlive it.
  WorkData(const Work &work, runtime::Device &device);
  void load(Way &way);
  // Runs it once and compares sampled results: what is wrong, if anything. `largest_share` is
  // raised to the largest error as a share of its bound.
  std::optional<std::string> check(const Way &way, double &largest_share);

private:
  runtime::Binding binding(program::BufferId id) const;
  void read_temporaries();
  std::optional<std::string> compare(const poly::PlacedGroup &placed, double input_roundoff,
                                     double &largest_share);

  const Work &work_;
  runtime::Device &device_;
  std::vector<program::Bytes> bytes_;                    // by buffer; of those that are read
  std::vector<std::unique_ptr<runtime::Memory>> memory_; // by buffer
};

} // namespace tilefuse::bench
