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

} // namespace tilefuse::api
