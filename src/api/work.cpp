// SPDX-License-Identifier: Apache-2.0
#include "api/work.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/stopwatch.h"
#include "model/execution.h"
#include "model/passes.h"
#include "model/profile.h"
#include "report/schedule_report.h"

namespace tilefuse::api {
namespace {

using program::HostTensor;

constexpr int kWarmUps = 3;
constexpr int kMostProfiled = 9; // runs

std::string how_many(std::int64_t samples) {
  return samples == 0 ? std::string("every result")
                      : fmt::format("at most {} results of each, fewer of long sums", samples);
}

} // namespace

HostTensor random_input(const HostTensor &form, std::mt19937 &random) {
  HostTensor tensor = program::make_host_tensor(form.name, form.type, form.shape);
  const std::int64_t count = program::elems(form.shape);
  const double scale = is_float(form.type) ? 0x1p-31 : 0x1p-28;
  const double base = is_float(form.type) ? -1 : 0;
  const bool is_bool = form.type == DType::Bool;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto bits = static_cast<double>(random());
    program::set(tensor, i, is_bool ? static_cast<double>(bits < 0x1p31) : base + bits * scale);
  }
  return tensor;
}

Timing time(Network &network, const InputTypes &types, int repeat, const Progress &progress) {
  const std::lock_guard lock(network.engine().mutex);
  const std::shared_ptr<const Loaded> loaded = network.at(types, {});
  runtime::Device &device = *network.engine().device;
  model::Execution execution(loaded->resident);
  std::mt19937 random(1);
  for (std::size_t i = 0; i < loaded->resident.inputs().size(); ++i)
    device.write(execution.own({false, i}),
                 random_input(loaded->resident.inputs()[i], random).data);
  Timing timing;
  for (int run = -kWarmUps; run < repeat; ++run) {
    checked(progress)(std::max(run, 0), repeat);
    const Stopwatch watch;
    execution.launch();
    device.finish();
    if (run >= 0)
      timing.seconds.push_back(watch.seconds());
  }
  std::sort(timing.seconds.begin(), timing.seconds.end());
  timing.kernels = model::profile(loaded->resident, execution, std::min(repeat, kMostProfiled)).kernels;
  return timing;
}

std::string explain(Network &network, const InputTypes &types, const std::string &layer) {
  const std::lock_guard lock(network.engine().mutex);
  const Engine &engine = network.engine();
  const Options &options = network.options();
  const model::AppliedPrecision applied = network.prepare(types);
  const Target &target = engine.device->target();
  const program::Program program =
      model::prepare(applied.program, target,
                     {.is_simplified = applied.is_simplified, .passes = options.passes.get()});
  report::ScheduleOptions how{.target = target,
                              .device = engine.device.get(),
                              .records = engine.records.get(),
                              .split = options.split,
                              .layout = options.layout,
                              .sections = report::parse_sections("")};
  return applied.text + report::text_of(report::explain_with_model(program, how), layer, false);
}

model::VerifyReport verify(Network &network, const InputTypes &types, std::int64_t samples,
                           const Progress &progress) {
  const std::lock_guard lock(network.engine().mutex);
  const Engine &engine = network.engine();
  const model::AppliedPrecision applied = network.prepare(types);
  return model::verify_model(
      applied.program, {}, *engine.device, *engine.cache,
      {.samples = samples,
       .session = session_options(network.options(), applied, engine.records.get(),
                                  [&](const std::string &text) { engine.warn(text); }),
       .progress = checked(progress)});
}

std::string verdict(const model::VerifyReport &report, const std::string &device,
                    std::int64_t samples) {
  if (report.fault)
    throw Error(ErrorCode::Device,
                report.fault->divergence.stage + ": " + report.fault->divergence.what,
                report.fault->origin,
                {fmt::format("kernel {} is {}", report.fault->kernel, report.fault->name),
                 report.fault->bisection});
  return fmt::format("device   {}\nkernels  {} agree with the reference; {} results compared ({}); "
                     "the largest error is {:.2g} of its bound\n",
                     device, report.kernels, report.compared, how_many(samples),
                     report.largest_share);
}

model::TuneReport tune(Network &network, const InputTypes &types, double budget_seconds,
                       const Progress &progress) {
  const std::lock_guard lock(network.engine().mutex);
  Engine &engine = network.engine();
  const Options &options = network.options();
  const model::AppliedPrecision applied = network.prepare(types);
  const auto records = open_records(engine.options, runtime::RecordStore::Mode::Create, engine.log);
  const auto told = checked(progress);
  const model::TuneReport report = model::tune_model(
      applied.program, *engine.device, *engine.cache, *records,
      {.budget = budget_seconds,
       .fusion = options.fusion,
       .layout = options.layout,
       .is_simplified = applied.is_simplified,
       .passes = options.passes.get(),
       .progress =
           [&](const model::TuneProgress &now) {
             told(static_cast<int>(now.elapsed * 1e3), static_cast<int>(now.budget * 1e3));
           },
       .warn = [&](const std::string &text) { engine.warn(text); }});
  engine.records = open_records(engine.options, runtime::RecordStore::Mode::Existing, engine.log);
  network.forget();
  return report;
}

std::string summary(const model::TuneReport &report) {
  double model_seconds = 0;
  double best_seconds = 0;
  std::size_t tried = 0;
  for (const model::TunedKernel &kernel : report.kernels) {
    model_seconds += kernel.launches * kernel.model_seconds;
    best_seconds += kernel.launches * kernel.best_seconds;
    tried += kernel.tried;
  }
  return fmt::format(
      "tuned    {} kernels in {:.1f} s, {} schedules tried\n"
      "time     kernels alone {:.3f} ms, the cost model's choices {:.3f} ms: {:.2f}x\n"
      "search   the cost model's choices reach {:.0f}% of the best known (geometric mean)\n",
      report.kernels.size(), report.seconds, tried, best_seconds * 1e3, model_seconds * 1e3,
      best_seconds > 0 ? model_seconds / best_seconds : 1, 100 * model_share(report));
}

} // namespace tilefuse::api
