// SPDX-License-Identifier: Apache-2.0
// The tuning of one kernel: its search, its candidates on the device, its record.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/tune/records.h"
#include "model/tune/timed_group.h"
#include "model/tune/tune_build.h"
#include "search/tune.h"

namespace tilefuse::model {

class KernelTuner {
public:
  // Asks the cost model; may run on any thread. `group` must outlive it.
  KernelTuner(const poly::Group &group, const Target &target);

  // Takes up records and trials, builds and times the model's choice and the best known.
  void begin(const Workshop &shop);
  // Tries `count` more candidates. False when there are none left.
  bool round(std::size_t count, const Workshop &shop);
  // Writes a record that could not be written before; frees memory of the device.
  void finish(const Workshop &shop);
  void free_device_memory() { timed_.reset(); }

  const schedule::Schedule &model_choice() const { return search_.model_choice(); }
  const schedule::Schedule &best() const { return best_; }
  double model_seconds() const { return model_seconds_; }
  double best_seconds() const { return model_seconds_ * ratio_; }
  std::size_t tried() const { return tried_; }
  int wrong() const { return wrong_; }
  TunedKernel report() const;

private:
  struct Candidate {
    search::Proposal proposal;
    std::string text;
    Package package;
    std::optional<std::size_t> timed; // number in timed_, when it is loaded
    double ratio = 0;                 // to the model's choice; 0: not measured
    runtime::Trial::State state = runtime::Trial::State::Started;
  };

  runtime::TrialKey trial_key(const Workshop &shop) const;
  void take_up_records(const Workshop &shop);
  void take_up_trials(const Workshop &shop);
  void make_timed(const Workshop &shop);
  void note(const std::vector<Candidate> &candidates, const Workshop &shop);
  std::vector<Candidate> make_candidates(std::size_t count, const Workshop &shop);
  void load(std::vector<Candidate> &candidates, const Workshop &shop);
  void measure(std::vector<Candidate> &candidates);
  std::vector<double> compare(const std::vector<Candidate *> &candidates, double seconds);
  void adopt_best(std::vector<Candidate> &candidates, const Workshop &shop);
  std::vector<Candidate *> finalists_of(std::vector<Candidate> &candidates) const;
  void adopt(const Candidate &candidate, const Workshop &shop);
  void give_up_best(const Workshop &shop);
  void complain(const std::string &text, const Workshop &shop);
  void verify_model_choice(const Workshop &shop);
  std::optional<std::string> fault_of(const schedule::Schedule &schedule, const Package &built,
                                      const Workshop &shop);
  void record(const Workshop &shop);
  std::string text_of(const schedule::Schedule &schedule) const;

  const poly::Group &group_;
  search::KernelSearch search_;
  std::unique_ptr<TimedGroup> timed_;
  Package model_package_;
  schedule::Schedule best_;
  Package best_package_;
  std::string best_source_ = "model";
  std::vector<StartingPoint> starts_;
  std::size_t model_timed_ = 0;
  std::size_t best_timed_ = 0;
  double model_seconds_ = 0;
  double ratio_ = 1;           // best over model, median of the rounds since it was adopted
  std::vector<double> ratios_; // of those rounds
  std::vector<double> model_rounds_;
  program::Bytes trusted_;      // what the verified model's choice stores for small integers
  bool is_checked_ = false;     // the model's choice was verified, or found wrong
  bool trusts_model_ = false;   // the model's choice was verified
  bool model_is_wrong_ = false; // and there is no other yet
  bool is_recorded_ = false;
  bool is_unwritten_ = false; // a record could not be written yet
  std::string in_store_;      // schedule of this device's record there
  std::size_t tried_ = 0;
  int wrong_ = 0;
  std::map<std::string, int> starts_of_; // trials that were begun before and not finished
};

} // namespace tilefuse::model
