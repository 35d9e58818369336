// SPDX-License-Identifier: Apache-2.0
#include "report/chrome_trace.h"

#include <nlohmann/json.hpp>

namespace tilefuse::report {
namespace {

using nlohmann::ordered_json;

constexpr int kProcess = 1;
constexpr int kQueue = 1;
constexpr double kMicroseconds = 1e6;

ordered_json named(const char *what, const std::string &name) {
  return {
      {"name", what}, {"ph", "M"}, {"pid", kProcess}, {"tid", kQueue}, {"args", {{"name", name}}}};
}

ordered_json event(const model::KernelReport &kernel) {
  const double rate = kernel.seconds > 0 ? 1e-9 / kernel.seconds : 0;
  return {{"name", kernel.origin.empty() ? kernel.name : kernel.origin},
          {"cat", "kernel"},
          {"ph", "X"},
          {"pid", kProcess},
          {"tid", kQueue},
          {"ts", kernel.begin * kMicroseconds},
          {"dur", kernel.seconds * kMicroseconds},
          {"args",
           {{"kernel", kernel.name},
            {"origin", kernel.origin},
            {"schedule", kernel.schedule},
            {"chosen by", kernel.chosen_by},
            {"operations", kernel.flops},
            {"bytes", kernel.bytes},
            {"GFLOP/s", kernel.flops * rate},
            {"GB/s", kernel.bytes * rate},
            {"roofline", kernel.roofline},
            {"limit", kernel.limit}}}};
}

} // namespace

std::string chrome_trace(const std::string &device, std::span<const model::KernelReport> kernels) {
  ordered_json events = ordered_json::array();
  events.push_back(named("process_name", device));
  events.push_back(named("thread_name", "queue"));
  for (const model::KernelReport &kernel : kernels)
    events.push_back(event(kernel));
  const ordered_json trace = {{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}};
  return trace.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

} // namespace tilefuse::report
