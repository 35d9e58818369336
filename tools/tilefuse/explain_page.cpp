// SPDX-License-Identifier: Apache-2.0
#include "explain_page.h"

#include <fmt/format.h>

#include <filesystem>

#include "model/compile.h"
#include "model/plan/plan.h"
#include "report/html/kernel_html.h"
#include "report/html/network_html.h"
#include "report/layers.h"
#include "report/page/kernel_detail.h"
#include "runtime/target_device.h"
#include "search/network/kept_choices.h"
#include "timed_session.h"

namespace tilefuse::tool {
namespace {

constexpr int kRuns = 20;
constexpr std::size_t kCandidates = 5; // of one kernel

std::string name_of(const ModelOptions &options) {
  const std::filesystem::path path(options.model);
  const bool is_called_model = path.stem() == "model" && path.has_parent_path();
  return is_called_model ? (path.parent_path().filename() / path.filename()).string()
                         : path.filename().string();
}

// A page weighs the choices alone: searching again for each kernel would take as long as compiling.
report::ScheduleOptions how_for(const Target &target) {
  return {.target = target, .candidates = 0, .sections = {}};
}

report::ScheduleOptions how_on(const api::Engine &engine) {
  report::ScheduleOptions how = how_for(engine.device->target());
  how.device = engine.device.get();
  how.records = engine.records.get();
  return how;
}

ExplainedPage explained(report::NetworkPage page, const model::Compiled &compiled,
                        report::ScheduleOptions how, const std::string &kernel) {
  std::string html;
  if (kernel.empty()) {
    html = report::html::network_html(page);
  } else {
    std::vector<std::string> origins;
    for (const report::KernelPage &each : page.kernels)
      origins.push_back(each.origin);
    const report::KernelPage &one = page.kernels[report::find_kernel(origins, kernel)];
    how.candidates = kCandidates;
    html = report::html::kernel_html(page, one, report::kernel_detail(compiled, page, one, how));
  }
  return {std::move(page), std::move(html)};
}

} // namespace

ExplainedPage measured_page(const program::Program &program, const ModelOptions &options,
                            const std::string &kernel) {
  const OpenedModel opened = open_model(program, options);
  model::Session &session = *opened.session;
  report::Timing timing = time_runs(session, random_inputs(session), kRuns);
  report::NetworkPage page = report::network_page(
      session.compiled(), session.plan(), session.profile(kMostProfiled), how_on(*opened.engine));
  page.model = name_of(options);
  page.device =
      fmt::format("{} ({})", opened.engine->device->name(), opened.engine->device->target().name);
  page.summary = describe(opened);
  report::add_timing(page.summary, timing, page.profile.kernels);
  page.timing = std::move(timing);
  return explained(std::move(page), session.compiled(), how_on(*opened.engine), kernel);
}

ExplainedPage predicted_page(const program::Program &program, const ModelOptions &options,
                             const Target &target, const std::string &kernel) {
  const runtime::TargetDevice device(target);
  const model::AppliedPrecision applied =
      model::apply_precision(program, options.precision, target, options.passes.get());
  search::KeptChoices kept(nullptr, target);
  const model::Compiled compiled = model::choose_kernels(
      applied.program, device, kept, api::session_options(options, applied, nullptr, warn));
  report::NetworkPage page =
      report::network_page(compiled, model::make_plan(compiled, device.alignment()),
                           model::predicted_profile(compiled, target), how_for(target));
  page.model = name_of(options);
  page.device = target.name + ", which nothing was run on";
  if (!applied.text.empty())
    page.summary.text("precision", applied.text);
  page.summary.line("target", target.name, {{"target", target.name}});
  page.summary.line(
      "layout", fmt::format("{}, {} copies between layouts", compiled.layout, compiled.conversions),
      {{"layout", compiled.layout}, {"layout_copies", std::int64_t{compiled.conversions}}});
  return explained(std::move(page), compiled, how_for(target), kernel);
}

} // namespace tilefuse::tool
