// SPDX-License-Identifier: Apache-2.0
#include "model/oracle/measure_device.h"

#include <algorithm>

#include "cost/model.h"
#include "model/oracle/rate_nests.h"
#include "schedule/legal.h"
#include "schedule/text.h"
#include "search/forms/core_forms.h"

namespace tilefuse::model {
namespace {

using nest::Nest;

constexpr std::int64_t kProduct = 1024;       // rows, columns and depth
constexpr std::int64_t kMatrixProduct = 4096; // the same on matrix units
constexpr std::int64_t kCopied = 16 << 20;    // elements, at least
constexpr std::int64_t kChained = 4 << 20;    // elements
constexpr std::int64_t kChains = 16;          // of each
constexpr int kOperations = 128;              // of a chain
constexpr std::int64_t kWindowed = 8 << 20;   // elements
constexpr std::int64_t kWindow = 64;          // reads of local memory a result
constexpr double kCachePart = 0.25;           // of the last-level cache, that a copy reads
constexpr int kLaunches = 4;                  // of which the quickest counts
constexpr std::int64_t kLaunched = 16384;     // elements of a unit
constexpr double kEver = 1e9;                 // seconds
constexpr int kParts = 6;
constexpr const char *kFromLocal = "schedule window workitem\n  tile   i:256\n  lane   i:256\n"
                                   "  loop   i k\n  stage  0\n";
// Several vectors of a work-item under way together, which few other kernels need.
constexpr const char *kVectors = "schedule vectors workitem\n  tile   i:1024\n  lane   i:128\n"
                                 "  vec    i:4\n  reg    i:2\n  loop   i\n";

class Measuring {
public:
  Measuring(runtime::Device &device, const std::function<void(int, int)> &progress)
      : device_(device), stated_(device.target()), target_(stated_), progress_(progress) {}

  DeviceMeasurement run() {
    note("launch_us", target_.launch_us, launch() * 1e6);
    double peak = stated_.gflops_per_unit;
    note("gflops_per_unit", peak, flops() / units() * 1e-9);
    set_peak(target_, peak);
    // Twice what the last-level cache holds is read, and written.
    note("gbytes_per_s", target_.gbytes_per_s,
         copied(std::max(kCopied, stated_.l2_bytes / 2)) * 1e-9);
    if (target_.lanes == LaneKind::WorkItem)
      measure_rates();
    target_.name = measured_name(stated_, device_.name());
    return {{device_.name(), target_}, rates_of_row(), std::move(figures_)};
  }

private:
  double units() const { return std::max(1, target_.compute_units); }
  double clock_hz() const {
    const Rates &rates = stated_.rates;
    return target_.gflops_per_unit * 1e9 / (2 * rates.schedulers * rates.scheduler_lanes);
  }

  // Of the row that rates_like names: the device's own may have been measured before.
  Rates rates_of_row() const {
    for (const Target &row : builtin_targets())
      if (row.name == stated_.rates_like)
        return row.rates;
    return stated_.rates;
  }

  void note(std::string key, double &figure, double measured) {
    figures_.push_back({std::move(key), figure, measured});
    figure = measured;
    if (progress_)
      progress_(static_cast<int>(figures_.size()), kParts);
  }

  // Of a kernel without its launch, which is never most of it.
  double seconds(double with_launch) const {
    return std::max(with_launch - target_.launch_us * 1e-6, with_launch / 2);
  }
  double seconds(const Nest &nest) const { return seconds(best_seconds(device_, nest)); }

  // Of multiply-adds: what a product reaches, twice what a chain of single operations does, or what
  // the device's own loops reach, whichever is most.
  double flops() {
    const Nest product = product_nest(kProduct, DType::F32);
    double most = nest::flops(product) / seconds(product);
    const double chained = kOperations * static_cast<double>(kChains * kChained);
    most = std::max(most, 2.0 * chained / seconds(chain_nest(kChained, kChains, kOperations)));
    const Ceilings own = device_.ceilings();
    return own == stated_ceilings(stated_) ? most : std::max(most, own.flops_per_s);
  }

  // Of a copy with its launch, in the search's schedule or in whole vectors, several a work-item.
  double copy_seconds(std::int64_t elems) {
    const Nest nest = copy_nest(elems);
    const double picked = best_seconds(device_, nest);
    if (target_.lanes != LaneKind::WorkItem)
      return picked;
    const schedule::Schedule vectors = schedule::parse_schedule(nest, kVectors);
    return schedule::illegal(nest, vectors, stated_)
               ? picked
               : std::min(picked, best_seconds(device_, nest, vectors));
  }

  // Bytes per second, read and written.
  double copied(std::int64_t elems) {
    return 2.0 * sizeof(float) * static_cast<double>(elems) / seconds(copy_seconds(elems));
  }

  // What a copy that keeps all units busy takes, with the copied bytes taken off.
  double launch() {
    const auto elems = static_cast<std::int64_t>(units()) * kLaunched;
    double least = kEver, once = kEver, twice = kEver;
    for (int i = 0; i < kLaunches; ++i) {
      least = std::min(least, best_seconds(device_, copy_nest(1)));
      once = std::min(once, best_seconds(device_, copy_nest(elems)));
      twice = std::min(twice, best_seconds(device_, copy_nest(2 * elems)));
    }
    return std::max(least, 2 * once - twice);
  }

  void measure_rates() {
    Rates &rates = target_.rates;
    const auto elems =
        static_cast<std::int64_t>(kCachePart * static_cast<double>(stated_.l2_bytes)) / 4;
    note("l2_over_memory", rates.l2_over_memory,
         std::max(1.0, copied(std::max<std::int64_t>(elems, 1)) * 1e-9 / target_.gbytes_per_s));
    measure_local(rates);
    measure_matrix(rates);
  }

  void measure_local(Rates &rates) {
    const Nest nest = window_nest(kWindowed, kWindow);
    const schedule::Schedule schedule = schedule::parse_schedule(nest, kFromLocal);
    if (schedule::illegal(nest, schedule, stated_))
      return; // a device of small groups keeps the row's figure
    const double bytes = sizeof(float) * static_cast<double>(kWindow) * kWindowed;
    note("local_bytes_per_cycle", rates.local_bytes_per_cycle,
         bytes / seconds(best_seconds(device_, nest, schedule)) / units() / clock_hz());
  }

  void measure_matrix(Rates &rates) {
    const Nest nest = product_nest(kMatrixProduct, DType::F16);
    const std::vector<schedule::Schedule> forms = search::core_schedules(nest, stated_, false);
    if (forms.empty())
      return;
    const auto predicted = [&](const schedule::Schedule &one) {
      return cost::predict(nest, one, stated_).seconds;
    };
    const auto best =
        std::min_element(forms.begin(), forms.end(),
                         [&](const auto &a, const auto &b) { return predicted(a) < predicted(b); });
    const double rate = nest::flops(nest) / units() / clock_hz();
    note("mma_half_ops_per_cycle", rates.mma_half_ops_per_cycle,
         rate / seconds(best_seconds(device_, nest, *best)));
    rates.matrix_half_ops_per_cycle =
        std::max(rates.matrix_half_ops_per_cycle, rates.mma_half_ops_per_cycle);
  }

  runtime::Device &device_;
  const Target stated_;
  Target target_; // with what was measured so far
  const std::function<void(int, int)> &progress_;
  std::vector<MeasuredFigure> figures_;
};

} // namespace

DeviceMeasurement measure_device(runtime::Device &device,
                                 const std::function<void(int, int)> &progress) {
  return Measuring(device, progress).run();
}

} // namespace tilefuse::model
