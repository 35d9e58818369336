// SPDX-License-Identifier: Apache-2.0
#include "open_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>

#include "api/network.h"
#include "base/stopwatch.h"
#include "progress.h"
#include "table.h"

namespace tilefuse::tool {
namespace {

model::Accuracy accuracy_of(model::Session &session, const model::Runs &inputs,
                            const model::Runs &f32) {
  model::Runs got;
  for (const std::vector<program::HostTensor> &run : inputs)
    got.push_back(session.run(run));
  return model::accuracy(got, f32);
}

} // namespace

void warn(const std::string &text) {
  std::fprintf(stderr, "tilefuse: warning: %s\n", printable(text).c_str());
}

api::Log log_to_stderr() {
  return [](api::LogLevel level, const std::string &text) {
    if (level == api::LogLevel::Warning)
      warn(text);
  };
}

program::Program import(const ModelOptions &options, const api::Given &given) {
  return api::Source::read(options.model).program(options, given);
}

OpenedModel open_model(const program::Program &program, const ModelOptions &options) {
  OpenedModel opened;
  opened.engine = std::make_unique<api::Engine>(options.device, options, log_to_stderr());
  const Stopwatch calibration;
  const model::AppliedPrecision applied =
      api::with_precision(program, options, options.calibration, *opened.engine);
  opened.precision = applied.summary;
  opened.calibration_seconds = applied.f32.empty() ? 0 : calibration.seconds();
  Progress progress("compiling");
  model::SessionOptions session =
      api::session_options(options, applied, opened.engine->records.get(), warn);
  session.progress = [&](int done, int total) { progress.show(done, total); };
  opened.session = std::make_unique<model::Session>(applied.program, *opened.engine->device,
                                                    *opened.engine->cache, session);
  if (!applied.f32.empty())
    opened.precision +=
        to_text(accuracy_of(*opened.session, options.calibration.runs, applied.f32));
  return opened;
}

std::string describe(const OpenedModel &opened) {
  const model::SessionStats &stats = opened.session->stats();
  return opened.precision +
         fmt::format("device   {} ({}; {})\n"
                     "layout   {}, {} copies between layouts\n"
                     "kernels  {} per run{}, compiled {}, searched {}, ready in {:.3f} s, weights "
                     "{:.1f} MB, "
                     "activations {:.1f} MB\n"
                     "start    choices {:.3f} s, code {:.3f}, compiler {:.3f}, weights {:.3f}, "
                     "loading {:.3f}{}\n",
                     opened.engine->device->name(), opened.engine->device->target().name,
                     opened.engine->choice.why, to_string(stats.layout), stats.conversions,
                     stats.kernels, stats.tuned > 0 ? fmt::format(", {} tuned", stats.tuned) : "",
                     stats.compiled, stats.searched, stats.compile_seconds,
                     static_cast<double>(stats.weight_bytes) * 1e-6,
                     static_cast<double>(stats.arena_bytes) * 1e-6, stats.start.choose,
                     stats.start.emit, stats.start.build, stats.start.weights, stats.start.load,
                     opened.calibration_seconds > 0
                         ? fmt::format("; calibration {:.3f}", opened.calibration_seconds)
                         : "");
}

std::string type_text(const program::HostTensor &tensor) {
  return fmt::format("{}[{}]", to_string(tensor.type), fmt::join(tensor.shape, ", "));
}

} // namespace tilefuse::tool
