// SPDX-License-Identifier: Apache-2.0
// What tuning found out, one SQLite file of its own: the best schedule of each kernel on each
// device, and every schedule that was tried, so that a tuning run goes on where it was killed. Safe
// for several processes at once; a damaged file is set aside and what can be read of it is kept.
//
// Texts are opaque here. A record carries a hash of its contents: one that is not what was written
// is not given out.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tilefuse::runtime {

// The best schedule known of one kernel on one device.
struct TuningRecord {
  std::string group;       // content hash of the group's text
  std::string device;      // content hash of what the device is
  std::string device_name; // for people
  std::string driver;
  std::string code;   // version of the code generator it was measured and verified with
  std::string kernel; // name of the kernel, for people
  std::string schedule;
  double seconds = 0;       // one launch, median
  double model_seconds = 0; // the same of the cost model's choice, measured side by side
  bool is_verified = false; // against the evaluator
  std::string date;         // UTC, "2026-11-21T23:59:00Z"
  friend bool operator==(const TuningRecord &, const TuningRecord &) = default;
};

// True when `a` is the one to keep of two records of one kernel and device: verified before not,
// then faster; the rest of the order only makes the choice the same whatever comes first.
bool is_better(const TuningRecord &a, const TuningRecord &b);

// A schedule that was tried. `Started` stays when the process died while measuring it.
struct Trial {
  enum class State { Started = 0, Measured = 1, Failed = 2, Wrong = 3 };
  std::string schedule;
  State state = State::Started;
  int starts = 1;   // how often it was begun
  double ratio = 0; // Measured: its time over that of the cost model's choice
  friend bool operator==(const Trial &, const Trial &) = default;
};

// Whose trials: one kernel on one device, built by one version of the code generator.
struct TrialKey {
  std::string group;
  std::string device;
  std::string code;
};

class RecordStore {
public:
  using Warn = std::function<void(const std::string &)>;
  enum class Mode {
    Existing, // no file: no records, and none is made
    Create
  };
  // An empty path keeps nothing.
  RecordStore(std::string path, Mode mode, Warn warn);
  ~RecordStore();
  RecordStore(const RecordStore &) = delete;
  RecordStore &operator=(const RecordStore &) = delete;

  // All records of a kernel, of every device; sorted by device.
  std::vector<TuningRecord> of_group(const std::string &group);
  // Sorted by group, then device.
  std::vector<TuningRecord> all();
  // Of all records: another one where any differs.
  std::string digest();

  // Keeps the better of the record and the one that is there. False when the store cannot be
  // written or another process holds it for long.
  bool merge(std::span<const TuningRecord> records); // one transaction
  // The same, but takes the place of a record whose schedule is `beaten`: measured beside it, and
  // better.
  bool replace(const TuningRecord &record, const std::string &beaten);

  std::vector<Trial> trials(const TrialKey &key); // sorted by schedule
  bool note(const TrialKey &key, std::span<const Trial> trials);
  // Forgets the device's trials of other versions of the code generator.
  void forget_trials(const std::string &device, const std::string &but_of_code);

private:
  struct State;
  std::unique_ptr<State> state_;
};

// $TILEFUSE_RECORDS, or records.sqlite beside the kernel cache; empty when that is.
std::string default_records_path(const std::string &cache_path);

} // namespace tilefuse::runtime
