// SPDX-License-Identifier: Apache-2.0
#include "model/tune/tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <memory>

#include "base/error.h"
#include "base/index.h"
#include "emit/make_emitter.h"
#include "lower/pipeline.h"
#include "model/compile.h"
#include "model/passes.h"
#include "model/tune/tune_kernel.h"
#include "search/network/layout_choice.h"

namespace tilefuse::model {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kBatch = 10; // candidates of a round
constexpr double kLeastBatch = 2;
constexpr double kLeastFirstCost = 0.4; // seconds of a first round, until it is known
constexpr std::int64_t kMostBytesHeld = std::int64_t{1} << 30; // of buffers, between rounds

// A distinct group of the network.
struct Distinct {
  const poly::PlacedGroup *placed = nullptr;
  int number = 0;
  int launches = 0;
};

std::vector<Distinct> distinct_groups(const std::vector<poly::PlacedGroup> &groups,
                                      const std::vector<int> &only) {
  const int count = static_cast<int>(groups.size());
  for (const int number : only)
    if (number < 0 || number >= count)
      throw Error(ErrorCode::Unsupported,
                  fmt::format("there is no kernel {}, the model has {} from 0", number, count));
  std::map<std::string, std::size_t> known;
  std::vector<Distinct> all;
  std::vector<bool> is_wanted;
  for (int k = 0; k < count; ++k) {
    const poly::PlacedGroup &placed = groups[at(k)];
    const auto [found, is_new] = known.emplace(poly::to_text(placed.group), all.size());
    if (is_new) {
      all.push_back({&placed, k, 0});
      is_wanted.push_back(only.empty());
    }
    ++all[found->second].launches;
    if (std::find(only.begin(), only.end(), k) != only.end())
      is_wanted[found->second] = true;
  }
  std::vector<Distinct> wanted;
  for (std::size_t d = 0; d < all.size(); ++d)
    if (is_wanted[d])
      wanted.push_back(all[d]);
  return wanted;
}

std::int64_t bytes_of(const poly::Group &group) {
  std::int64_t bytes = 0;
  for (const nest::Slot &slot : group.anchor.slots)
    bytes += slot.elems * size_bytes(slot.type);
  return bytes;
}

class Tuning {
public:
  Tuning(std::vector<Distinct> kernels, const Workshop &shop)
      : shop_(shop), kernels_(std::move(kernels)), start_(Clock::now()) {
    std::int64_t bytes = 0;
    for (const Distinct &kernel : kernels_)
      bytes += bytes_of(kernel.placed->group);
    holds_buffers_ = bytes <= kMostBytesHeld;
  }

  TuneReport run() {
    make_tuners();
    for (std::size_t k = 0; k < tuners_.size() && (k == 0 || elapsed() < shop_.options.budget); ++k)
      begin(k);
    while (turn()) {
    }
    TuneReport report;
    for (std::size_t k = 0; k < stakes_.size(); ++k) {
      tuners_[k]->finish(shop_);
      report.kernels.push_back(tuners_[k]->report());
      report.kernels.back().number = kernels_[k].number;
      report.kernels.back().launches = kernels_[k].launches;
      report.kernels.back().origin = kernels_[k].placed->origin;
      report.wrong += tuners_[k]->wrong();
    }
    report.seconds = elapsed();
    return report;
  }

private:
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  void make_tuners() {
    tuners_.resize(kernels_.size());
    is_known_.resize(kernels_.size());
    shop_.pool.parallel_for(static_cast<std::int64_t>(kernels_.size()), [&](int, std::int64_t i) {
      const auto k = static_cast<std::size_t>(i);
      tuners_[k] = std::make_unique<KernelTuner>(kernels_[k].placed->group, shop_.device.target());
    });
  }

  // How long the first kernel takes to build tells how long a round may last.
  void begin(std::size_t k) {
    const double begun = elapsed();
    tuners_[k]->begin(shop_);
    release(k);
    stakes_.push_back({.seconds = tuners_[k]->best_seconds(),
                       .launches = static_cast<double>(kernels_[k].launches),
                       .fruitless = static_cast<double>(tuners_[k]->tried()) / kBatch,
                       .cost = std::max(kLeastFirstCost, kBatch / 2 * (elapsed() - begun))});
    show(k);
  }

  void release(std::size_t k) {
    if (!holds_buffers_)
      tuners_[k]->free_device_memory();
  }

  // A round of the kernel that promises most; false at the end.
  bool turn() {
    const std::size_t k = search::next_stake(stakes_);
    if (k == stakes_.size())
      return false;
    search::Stake &stake = stakes_[k];
    const double begun = elapsed();
    double fits = (shop_.options.budget - begun) / (stake.cost / kBatch);
    if (rounds_++ == 0)
      fits = std::max(fits, kLeastBatch); // however small the budget, something comes of it
    if (fits < kLeastBatch)
      return false;
    const auto count = static_cast<std::size_t>(std::min(fits, kBatch));
    const double before = tuners_[k]->best_seconds();
    stake.is_done = !tuners_[k]->round(count, shop_);
    release(k);
    const double scale = kBatch / static_cast<double>(count);
    const double after = tuners_[k]->best_seconds();
    learn(stake, before, after, (elapsed() - begun) * scale);
    is_known_[k] = true;
    for (std::size_t other = 0; other < stakes_.size(); ++other)
      if (!is_known_[other])
        stakes_[other].cost = stake.cost;
    show(k);
    return true;
  }

  void show(std::size_t k) const {
    if (!shop_.options.progress)
      return;
    TuneProgress progress;
    progress.elapsed = elapsed();
    progress.budget = shop_.options.budget;
    for (std::size_t t = 0; t < stakes_.size(); ++t) {
      progress.model_seconds += stakes_[t].launches * tuners_[t]->model_seconds();
      progress.best_seconds += stakes_[t].launches * tuners_[t]->best_seconds();
      progress.tried += tuners_[t]->tried();
    }
    progress.kernel = kernels_[k].placed->origin;
    shop_.options.progress(progress);
  }

  const Workshop &shop_;
  std::vector<Distinct> kernels_;
  std::vector<std::unique_ptr<KernelTuner>> tuners_; // by kernel
  std::vector<search::Stake> stakes_;                // of those that were begun
  Clock::time_point start_;
  bool holds_buffers_ = true;
  int rounds_ = 0;
  std::vector<bool> is_known_; // what a round of a kernel costs
};

} // namespace

TuneReport tune_model(const program::Program &program, runtime::Device &device,
                      runtime::KernelCache &cache, runtime::RecordStore &records,
                      const TuneOptions &options) {
  search::KeptChoices kept(&cache, device.target());
  const program::Program prepared = prepare(
      program, device.target(),
      {.is_simplified = options.is_simplified,
       .composes = options.fusion.level != poly::FuseLevel::None,
       .passes = options.passes});
  const search::LaidOut laid = search::lay_out(
      prepared, device.target(), {.layout = options.layout, .fusion = options.fusion}, &kept);
  kept.write();
  const std::vector<poly::PlacedGroup> &groups = laid.groups;
  const std::unique_ptr<emit::Emitter> emitter = make_emitter(device.target());
  ThreadPool pool(available_threads());
  records.forget_trials(device_key(device), std::string(lower::code_version()));
  const Workshop shop = {device, cache, records, *emitter, pool, options};
  return Tuning(distinct_groups(groups, options.kernels), shop).run();
}

double model_share(const TuneReport &report) {
  double sum = 0;
  int count = 0;
  for (const TunedKernel &kernel : report.kernels) {
    if (kernel.tried == 0 || kernel.model_seconds <= 0 || kernel.best_seconds <= 0)
      continue;
    sum += std::log(kernel.best_seconds / kernel.model_seconds);
    ++count;
  }
  return count > 0 ? std::exp(sum / count) : 1;
}

} // namespace tilefuse::model
