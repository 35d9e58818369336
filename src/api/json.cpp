// SPDX-License-Identifier: Apache-2.0
#include "api/json.h"

#include <nlohmann/json.hpp>

namespace tilefuse::api {
namespace {

using nlohmann::ordered_json;

// Names that models give may be no UTF-8.
std::string text_of(const ordered_json &json) {
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

// Of sorted values: the smallest that `share` of them do not exceed.
double quantile(const std::vector<double> &sorted, double share) {
  const auto last = static_cast<double>(sorted.size() - 1);
  return sorted.empty() ? 0 : sorted[static_cast<std::size_t>(share * last + 0.5)];
}

ordered_json kernel_json(const model::KernelReport &kernel) {
  return {{"name", kernel.name},         {"origin", kernel.origin},
          {"schedule", kernel.schedule}, {"chosen_by", kernel.chosen_by},
          {"flops", kernel.flops},       {"bytes", kernel.bytes},
          {"begin", kernel.begin},       {"seconds", kernel.seconds},
          {"roofline", kernel.roofline}, {"limit", kernel.limit}};
}

ordered_json evaluation_json(const train::Evaluation &evaluation) {
  return {{"count", evaluation.count},
          {"hits", evaluation.hits},
          {"top1", evaluation.top1()},
          {"loss", evaluation.loss}};
}

ordered_json evaluation_json(const std::optional<train::Evaluation> &evaluation) {
  return evaluation ? evaluation_json(*evaluation) : ordered_json();
}

} // namespace

std::string to_json(std::span<const FoundDevice> devices) {
  ordered_json all = ordered_json::array();
  for (const FoundDevice &device : devices)
    all.push_back({{"device", device.selector},
                   {"name", device.name},
                   {"state", device.state},
                   {"usable", device.is_usable}});
  return text_of(all);
}

std::string to_json(std::span<const OptionRow> rows) {
  ordered_json all = ordered_json::array();
  for (const OptionRow &row : rows)
    all.push_back({{"name", row.key}, {"of", row.of}, {"help", row.help}});
  return text_of(all);
}

std::string to_json(std::span<const onnx_import::Gap> gaps) {
  ordered_json all = ordered_json::array();
  for (const onnx_import::Gap &gap : gaps)
    all.push_back({{"node", gap.name}, {"why", gap.why}});
  return text_of(all);
}

std::string to_json(const Engine &engine) {
  return text_of({{"device", engine.choice.selector},
                  {"name", engine.device->name()},
                  {"driver", engine.device->driver()},
                  {"target", engine.device->target().name},
                  {"alignment", engine.device->alignment()}});
}

std::string to_json(const Loaded &loaded, std::size_t kept) {
  const model::SessionStats &stats = loaded.resident.stats();
  return text_of({{"kernels", stats.kernels},
                  {"tuned", stats.tuned},
                  {"compiled", stats.compiled},
                  {"searched", stats.searched},
                  {"compile_seconds", stats.compile_seconds},
                  {"weight_bytes", stats.weight_bytes},
                  {"activation_bytes", stats.arena_bytes},
                  {"precision", loaded.precision},
                  {"shapes_kept", kept}});
}

std::string to_json(const Timing &timing) {
  ordered_json kernels = ordered_json::array();
  for (const model::KernelReport &kernel : timing.kernels)
    kernels.push_back(kernel_json(kernel));
  return text_of({{"seconds",
                   {{"median", quantile(timing.seconds, 0.5)},
                    {"p10", quantile(timing.seconds, 0.1)},
                    {"p90", quantile(timing.seconds, 0.9)}}},
                  {"runs", timing.seconds.size()},
                  {"kernels", kernels}});
}

std::string to_json(const StepSummary &steps) {
  const train::StepReport &last = steps.last;
  return text_of({{"step", last.step},
                  {"steps", last.steps},
                  {"epoch", last.epoch + 1},
                  {"made", steps.made},
                  {"loss", steps.loss},
                  {"top1", steps.top1},
                  {"rate", last.rate},
                  {"gradient_norm", last.gradient_norm},
                  {"scale", last.scale},
                  {"skipped", steps.skipped},
                  {"seconds", steps.seconds},
                  {"waited", steps.waited}});
}

std::string to_json(const train::Evaluation &evaluation) {
  return text_of(evaluation_json(evaluation));
}

std::string to_json(const train::RunResult &result) {
  return text_of({{"step", result.step},
                  {"complete", result.is_complete},
                  {"best_epoch", result.best_epoch},
                  {"before", evaluation_json(result.before)},
                  {"last", evaluation_json(result.last)},
                  {"best", evaluation_json(result.best)}});
}

std::string to_json(const Trainer::Info &info) {
  return text_of({{"step", info.step},
                  {"steps", info.steps},
                  {"steps_per_epoch", info.steps_per_epoch},
                  {"memory",
                   {{"activations", info.memory.activations},
                    {"parameters", info.memory.parameters},
                    {"constants", info.memory.constants}}},
                  {"text", info.text}});
}

} // namespace tilefuse::api
