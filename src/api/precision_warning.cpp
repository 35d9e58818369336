// SPDX-License-Identifier: Apache-2.0
#include "api/precision_warning.h"

#include <fmt/format.h>

#include "cost/group_model.h"
#include "model/compile.h"

namespace tilefuse::api {
namespace {

constexpr double kClearlySlower = 1.05; // of predicted times: below it they may be equal

// Of all kernels together.
double predicted_seconds(const program::Program &program, const Engine &engine,
                         model::SessionOptions options) {
  options.passes = nullptr; // of the compilation behind it
  options.dump_directory.clear();
  const model::Compiled compiled = model::planned(program, *engine.device, *engine.cache, options);
  double seconds = 0;
  for (const model::CompiledLaunch &each : compiled.launches)
    for (const launch::Part &part : each.launch.parts)
      seconds += cost::predict(part.placed.group, part.schedule, engine.device->target()).seconds;
  return seconds;
}

} // namespace

std::string precision_warning(const program::Program &program,
                              const model::AppliedPrecision &applied, const Options &options,
                              const Engine &engine) {
  const bool is_narrow =
      options.precision == "f16" || options.precision == "bf16" || options.precision == "int8";
  if (!is_narrow)
    return "";
  runtime::RecordStore *records = engine.records.get();
  const double before =
      predicted_seconds(program, engine, session_options(options, {}, records, {}));
  const double after =
      predicted_seconds(applied.program, engine, session_options(options, applied, records, {}));
  if (before <= 0 || after < kClearlySlower * before)
    return "";
  return fmt::format("precision {} is predicted to be {:.1f}x slower than f32 on this device: "
                     "{:.2f} ms, not {:.2f}",
                     options.precision, after / before, after * 1e3, before * 1e3);
}

} // namespace tilefuse::api
