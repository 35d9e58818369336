// SPDX-License-Identifier: Apache-2.0
#include "model/tune/tune_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/error.h"
#include "base/index.h"
#include "lower/pipeline.h"
#include "model/compile.h"
#include "model/oracle/check.h"
#include "model/oracle/exact.h"
#include "schedule/members.h"

namespace tilefuse::model {
namespace {

using runtime::Trial;
using schedule::Schedule;
using search::Source;

constexpr double kWins = 0.985;           // of the time of the best so far: less is noise
constexpr double kFinalist = 1.08;        // of the fastest of a round: measured longer
constexpr double kTooSlow = 3;            // times the best so far: not measured at length
constexpr double kFirstSeconds = 0.06;    // of measuring all candidates, about
constexpr double kFinalSeconds = 0.1;     // of measuring the finalists
constexpr std::size_t kRoundsToDoubt = 3; // in which the best so far was slower than the model's
constexpr std::string_view kRecordSource = "record"; // of a best that was known before
constexpr int kLeastPasses = 5;
constexpr int kMostPasses = 101;
constexpr int kMostStarts = 2; // a schedule whose measuring killed the process this often is left
constexpr double kFullFlops = 4e6; // smaller kernels are verified at every result
constexpr std::int64_t kSamples = 256;

std::string utc_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  gmtime_r(&now, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", utc.tm_year + 1900, utc.tm_mon + 1,
                     utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

// How often to time what takes `once` seconds, odd, to spend about `seconds`.
int passes_in(double seconds, double once) {
  const double count = once > 0 ? seconds / once : kMostPasses;
  return static_cast<int>(std::clamp<double>(count, kLeastPasses, kMostPasses)) | 1;
}

std::int64_t samples_of(const poly::Group &group) {
  return nest::flops(group.anchor) <= kFullFlops ? 0 : kSamples;
}

} // namespace

KernelTuner::KernelTuner(const poly::Group &group, const Target &target)
    : group_(group), search_(group_, target), best_(search_.model_choice()) {}

std::string KernelTuner::text_of(const Schedule &schedule) const {
  return schedule::to_text(group_, schedule);
}

runtime::TrialKey KernelTuner::trial_key(const Workshop &shop) const {
  return {group_key(group_), device_key(shop.device), std::string(lower::code_version())};
}

void KernelTuner::begin(const Workshop &shop) {
  take_up_records(shop);
  take_up_trials(shop);
  make_timed(shop);
  const std::size_t both[] = {model_timed_, best_timed_};
  timed_->run(both);
  const std::vector<double> seconds = timed_->medians(both, kLeastPasses);
  model_seconds_ = seconds[0];
  if (best_timed_ == model_timed_)
    return;
  ratio_ = seconds[1] / seconds[0];
  search_.tell(best_, ratio_, Source::Start);
}

void KernelTuner::take_up_records(const Workshop &shop) {
  const Recorded recorded = find_recorded(shop.records, group_, shop.device);
  if (recorded.tuned) {
    best_ = *recorded.tuned;
    best_source_ = best_ == search_.model_choice() ? "model" : kRecordSource;
    is_recorded_ = true;
  }
  if (recorded.own)
    in_store_ = recorded.own->schedule;
  starts_ = recorded.starts;
  for (const StartingPoint &start : starts_)
    search_.add_start(start.schedule);
}

// What was measured and would have won, had the process lived, is measured again.
void KernelTuner::take_up_trials(const Workshop &shop) {
  std::string why;
  for (const Trial &trial : shop.records.trials(trial_key(shop))) {
    const std::optional<Schedule> schedule =
        legal_schedule(group_, trial.schedule, shop.device.target(), &why);
    if (!schedule)
      continue;
    const bool was_cut_off = trial.state == Trial::State::Started && trial.starts < kMostStarts;
    if (was_cut_off) {
      starts_of_[trial.schedule] = trial.starts;
      continue;
    }
    ++tried_;
    const bool is_measured = trial.state == Trial::State::Measured;
    search_.tell(*schedule, is_measured ? trial.ratio : 0, Source::Neighbour);
  }
}

void KernelTuner::make_timed(const Workshop &shop) {
  const auto obtain = [&](const Schedule &schedule) {
    const std::string key = cache_key(group_, schedule, shop.device);
    if (std::optional<Package> cached = shop.cache.get(key))
      return *cached;
    std::optional<Package> built = build_schedules(group_, {schedule}, shop).front();
    if (!built)
      throw Error(ErrorCode::Device,
                  fmt::format("kernel '{}': its schedule cannot be built", group_.anchor.name));
    const std::pair<std::string, const Package *> row(key, &*built);
    shop.cache.put({&row, 1});
    return *built;
  };
  timed_ = std::make_unique<TimedGroup>(group_, shop.device);
  model_package_ = obtain(search_.model_choice());
  model_timed_ = timed_->add(search_.model_choice(), model_package_);
  best_package_ = model_package_;
  best_timed_ = model_timed_;
  if (best_ == search_.model_choice())
    return;
  best_package_ = obtain(best_);
  best_timed_ = timed_->add(best_, best_package_);
}

void KernelTuner::note(const std::vector<Candidate> &candidates, const Workshop &shop) {
  std::vector<Trial> trials;
  for (const Candidate &candidate : candidates)
    trials.push_back({candidate.text, candidate.state,
                      candidate.state == Trial::State::Started ? ++starts_of_[candidate.text] : 1,
                      candidate.ratio});
  shop.records.note(trial_key(shop), trials);
}

std::vector<KernelTuner::Candidate> KernelTuner::make_candidates(std::size_t count,
                                                                 const Workshop &shop) {
  std::vector<Candidate> candidates;
  for (search::Proposal &proposal : search_.propose(count)) {
    Candidate candidate;
    candidate.text = text_of(proposal.schedule);
    candidate.proposal = std::move(proposal);
    candidates.push_back(std::move(candidate));
  }
  if (!candidates.empty())
    note(candidates, shop);
  return candidates;
}

void KernelTuner::load(std::vector<Candidate> &candidates, const Workshop &shop) {
  std::vector<Schedule> schedules;
  for (const Candidate &candidate : candidates)
    schedules.push_back(candidate.proposal.schedule);
  std::vector<std::optional<Package>> built = build_schedules(group_, schedules, shop);
  for (std::size_t k = 0; k < candidates.size(); ++k) {
    Candidate &candidate = candidates[k];
    candidate.state = Trial::State::Failed;
    if (!built[k])
      continue;
    candidate.package = std::move(*built[k]);
    try {
      candidate.timed = timed_->add(candidate.proposal.schedule, candidate.package);
      candidate.state = Trial::State::Measured;
    } catch (const Error &) { // the driver refuses what it built
    }
  }
}

bool KernelTuner::round(std::size_t count, const Workshop &shop) {
  if (!timed_)
    make_timed(shop);
  if (!is_recorded_ && !is_checked_)
    verify_model_choice(shop);
  std::vector<Candidate> candidates = make_candidates(count, shop);
  if (candidates.empty())
    return false;
  load(candidates, shop);
  measure(candidates);
  adopt_best(candidates, shop);
  for (const Candidate &candidate : candidates) {
    const bool is_measured = candidate.state == Trial::State::Measured;
    search_.tell(candidate.proposal.schedule, is_measured ? candidate.ratio : 0,
                 candidate.proposal.source);
    if (candidate.timed && *candidate.timed != best_timed_)
      timed_->drop(*candidate.timed);
  }
  tried_ += candidates.size();
  note(candidates, shop);
  return true;
}

// Medians of the model's choice, the best so far and the candidates, in rounds that last about
// `seconds`; sets the candidates' ratios.
std::vector<double> KernelTuner::compare(const std::vector<Candidate *> &candidates,
                                         double seconds) {
  std::vector<std::size_t> kernels = {model_timed_, best_timed_};
  for (const Candidate *candidate : candidates)
    kernels.push_back(*candidate->timed);
  double once = 0;
  for (const double spent : timed_->run(kernels))
    once += spent;
  std::vector<double> medians = timed_->medians(kernels, passes_in(seconds, once));
  for (std::size_t k = 0; k < candidates.size(); ++k)
    candidates[k]->ratio = medians[k + 2] / medians[0];
  return medians;
}

// The first launch warms up, the second sorts out what is hopeless.
void KernelTuner::measure(std::vector<Candidate> &candidates) {
  std::vector<Candidate *> alive;
  for (Candidate &candidate : candidates) {
    if (candidate.state != Trial::State::Measured)
      continue;
    const std::size_t only[] = {*candidate.timed};
    double seconds = timed_->run(only).front();
    if (seconds < kTooSlow * 2 * best_seconds())
      seconds = timed_->run(only).front();
    candidate.ratio = seconds / model_seconds_;
    if (seconds < kTooSlow * best_seconds())
      alive.push_back(&candidate);
  }
  compare(alive, kFirstSeconds * (1 + static_cast<double>(alive.size()) / 4));
}

// Of a round: those about as fast as the fastest.
std::vector<KernelTuner::Candidate *>
KernelTuner::finalists_of(std::vector<Candidate> &candidates) const {
  double least = ratio_;
  for (const Candidate &candidate : candidates)
    if (candidate.state == Trial::State::Measured)
      least = std::min(least, candidate.ratio);
  std::vector<Candidate *> finalists;
  for (Candidate &candidate : candidates)
    if (candidate.state == Trial::State::Measured && candidate.ratio <= least * kFinalist)
      finalists.push_back(&candidate);
  return finalists;
}

// The finalists are measured longer; the fastest that computes what it should becomes the best.
void KernelTuner::adopt_best(std::vector<Candidate> &candidates, const Workshop &shop) {
  std::vector<Candidate *> finalists = finalists_of(candidates);
  const std::vector<double> medians = compare(finalists, kFinalSeconds);
  model_rounds_.push_back(medians[0]);
  model_seconds_ = median(model_rounds_);
  ratios_.push_back(best_timed_ == model_timed_ ? 1 : medians[1] / medians[0]);
  ratio_ = median(ratios_);
  if (ratio_ > 1 && ratios_.size() >= kRoundsToDoubt)
    give_up_best(shop);
  std::sort(finalists.begin(), finalists.end(),
            [](const Candidate *a, const Candidate *b) { return a->ratio < b->ratio; });
  for (Candidate *candidate : finalists) {
    if (candidate->ratio > kWins * ratios_.back() && !model_is_wrong_)
      return;
    const std::optional<std::string> fault =
        fault_of(candidate->proposal.schedule, candidate->package, shop);
    if (!fault)
      return adopt(*candidate, shop);
    candidate->state = Trial::State::Wrong;
    complain(fmt::format("a schedule of kernel '{}' computes something wrong ({}) and is not used; "
                         "please report it:\n{}",
                         group_.anchor.name, *fault, candidate->text),
             shop);
  }
}

void KernelTuner::complain(const std::string &text, const Workshop &shop) {
  ++wrong_;
  if (shop.options.warn)
    shop.options.warn(text);
}

void KernelTuner::adopt(const Candidate &candidate, const Workshop &shop) {
  if (best_timed_ != model_timed_)
    timed_->drop(best_timed_);
  best_ = candidate.proposal.schedule;
  best_package_ = candidate.package;
  best_timed_ = *candidate.timed;
  best_source_ = std::string(to_string(candidate.proposal.source));
  for (const StartingPoint &start : starts_)
    if (candidate.proposal.source == Source::Start && start.schedule == best_)
      best_source_ = "start from " + start.from;
  ratio_ = candidate.ratio;
  ratios_ = {ratio_};
  model_is_wrong_ = false;
  record(shop);
}

// What seemed to win was luck, or what made it win is gone: the model's choice is the best again.
void KernelTuner::give_up_best(const Workshop &shop) {
  if (!is_checked_)
    verify_model_choice(shop);
  if (!trusts_model_)
    return;
  if (timed_)
    timed_->drop(best_timed_);
  best_ = search_.model_choice();
  best_package_ = model_package_;
  best_timed_ = model_timed_;
  best_source_ = "model";
  ratio_ = 1;
  ratios_ = {1};
  record(shop);
}

// Small integers must come out as the model's choice gave them, to the bit, where they are exact;
// both these and reals must agree with the evaluator.
std::optional<std::string> KernelTuner::fault_of(const Schedule &schedule, const Package &built,
                                                 const Workshop &shop) {
  for (const Values values : {Values::Reals, Values::Integers}) {
    if (!is_checked_)
      verify_model_choice(shop);
    KernelCase of;
    of.group = group_;
    of.schedule = schedule;
    of.target = shop.device.target();
    of.values = values;
    const Reference reference(of, samples_of(group_));
    Slots after;
    if (const auto divergence = check_built(reference, built, shop.device, &after))
      return divergence->stage + ": " + divergence->what;
    program::Bytes &stored = after[at(group_.anchor.out.slot)];
    if (values != Values::Integers || !is_exact(of))
      continue;
    if (trusted_.empty())
      trusted_ = std::move(stored);
    else if (stored != trusted_)
      return "it stores other numbers than the cost model's choice";
  }
  return std::nullopt;
}

void KernelTuner::verify_model_choice(const Workshop &shop) {
  is_checked_ = true;
  if (const auto fault = fault_of(search_.model_choice(), model_package_, shop)) {
    model_is_wrong_ = best_ == search_.model_choice();
    trusted_.clear();
    return complain(fmt::format("the cost model's choice for kernel '{}' computes something wrong "
                                "({}); please report it",
                                group_.anchor.name, *fault),
                    shop);
  }
  trusts_model_ = true;
  if (!is_recorded_)
    record(shop);
}

// In the place of what was in the store: it was measured beside this, or cannot be used.
void KernelTuner::record(const Workshop &shop) {
  const runtime::TuningRecord record = {.group = group_key(group_),
                                        .device = device_key(shop.device),
                                        .device_name = shop.device.name(),
                                        .driver = shop.device.driver(),
                                        .code = std::string(lower::code_version()),
                                        .kernel = best_package_.name,
                                        .schedule = text_of(best_),
                                        .seconds = best_seconds(),
                                        .model_seconds = model_seconds_,
                                        .is_verified = true,
                                        .date = utc_now()};
  is_recorded_ = shop.records.replace(record, in_store_);
  is_unwritten_ = !is_recorded_;
  if (is_recorded_)
    in_store_ = record.schedule;
  const std::pair<std::string, const Package *> row(cache_key(group_, best_, shop.device),
                                                    &best_package_);
  shop.cache.put({&row, 1});
}

void KernelTuner::finish(const Workshop &shop) {
  if (ratio_ > 1 && best_source_ != kRecordSource) // a win of this run that did not last
    give_up_best(shop);
  if (is_unwritten_)
    record(shop);
  timed_.reset();
}

TunedKernel KernelTuner::report() const {
  return {.name = best_package_.name,
          .tried = tried_,
          .model_seconds = model_seconds_,
          .best_seconds = best_seconds(),
          .source = best_source_,
          .is_recorded = is_recorded_};
}

} // namespace tilefuse::model
