// SPDX-License-Identifier: Apache-2.0
#include "api/engine.h"

#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "emit/emitter.h"
#include "emit/llvm/llvm_module.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/make_device.h"
#include "runtime/opencl/opencl_device.h"
#include "target/device_rows.h"
#include "target/measured_rows.h"
#include "target/target.h"

namespace tilefuse::api {
namespace {

std::string cache_path(const EngineOptions &options) {
  return options.cache.empty() ? runtime::default_cache_path() : options.cache;
}

std::function<void(const std::string &)> warnings(const Log &log) {
  return [log](const std::string &text) { log(LogLevel::Warning, text); };
}

FoundDevice find_cpu() {
  try {
    const std::unique_ptr<runtime::Device> device = runtime::make_cpu_device(0);
    std::string why;
    const bool generates = emit::make_llvm_emitter(&why) != nullptr;
    const std::string state = generates ? "usable" : "only kernels that are in the cache: " + why;
    return {"cpu", device->name(), fmt::format("{} ({})", state, device->target().isa), true};
  } catch (const Error &error) {
    return {"cpu", "", "rejected: " + error.message(), false};
  }
}

} // namespace

std::function<void(int, int)> checked(const Progress &progress) {
  return [progress](int done, int total) {
    if (progress && !progress(done, total))
      throw Error(ErrorCode::Cancelled, "cancelled by the caller");
  };
}

std::unique_ptr<runtime::Device> open_device(const std::string &selector, int threads,
                                             const runtime::Hooks &hooks) {
  return runtime::make_device(selector, threads, builtin_targets(), hooks,
                              read_measured_rows(measured_folder()));
}

std::unique_ptr<runtime::KernelCache> open_cache(const EngineOptions &options, const Log &log) {
  return std::make_unique<runtime::KernelCache>(options.no_cache ? "" : cache_path(options),
                                                warnings(log));
}

std::unique_ptr<runtime::RecordStore>
open_records(const EngineOptions &options, runtime::RecordStore::Mode mode, const Log &log) {
  const std::string path = options.records.empty()
                               ? runtime::default_records_path(cache_path(options))
                               : options.records;
  return std::make_unique<runtime::RecordStore>(options.no_records ? "" : path, mode,
                                                warnings(log));
}

DeviceChoice choose_device(const std::string &named) {
  if (!named.empty())
    return {named, "asked for"};
  std::string missing;
  if (emit::make_llvm_emitter(&missing) != nullptr)
    return {"cpu", "default"};
  for (const runtime::DeviceEntry &entry : runtime::list_opencl_devices())
    if (entry.rejected.empty())
      return {entry.selector, "because of the cpu: " + missing};
  return {"cpu", "default"};
}

Engine::Engine(const std::string &named, const EngineOptions &given, Log told,
               const runtime::Hooks &hooks)
    : log(std::move(told)), options(given), choice(choose_device(named)),
      device(open_device(choice.selector, given.threads, hooks)), cache(open_cache(given, log)),
      records(open_records(given, runtime::RecordStore::Mode::Existing, log)) {}

std::vector<FoundDevice> find_devices() {
  std::vector<FoundDevice> found = {find_cpu()};
  for (const auto &entries : {runtime::list_opencl_devices(), runtime::list_cuda_devices()})
    for (const runtime::DeviceEntry &entry : entries) {
      const bool is_usable = entry.rejected.empty();
      found.push_back({entry.selector, entry.name,
                       is_usable ? "usable" : "rejected: " + entry.rejected, is_usable});
    }
  return found;
}

} // namespace tilefuse::api
