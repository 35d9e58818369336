// SPDX-License-Identifier: Apache-2.0
// A device with its kernel cache and tuning records: what models are compiled for. One thread at a
// time works with it; who does holds its mutex.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/options.h"
#include "runtime/device.h"
#include "runtime/hooks.h"
#include "runtime/store/kernel_cache.h"
#include "runtime/store/record_store.h"

namespace tilefuse::api {

// Told of what is done; false ends the work with Error{Cancelled}.
using Progress = std::function<bool(int done, int total)>;
// Throws Error{Cancelled} where the function says so; fine where there is none.
std::function<void(int, int)> checked(const Progress &progress);

enum class LogLevel { Info, Warning };
using Log = std::function<void(LogLevel, const std::string &)>;

// The device that a selector names, "cpu", "cuda:0", …. Error{Device} says what there is.
std::unique_ptr<runtime::Device> open_device(const std::string &selector, int threads,
                                             const runtime::Hooks &hooks = {});
// The kernel cache in force.
std::unique_ptr<runtime::KernelCache> open_cache(const EngineOptions &options, const Log &log);
// The tuning records in force, or a store without any.
std::unique_ptr<runtime::RecordStore> open_records(const EngineOptions &options,
                                                   runtime::RecordStore::Mode mode, const Log &log);

struct DeviceChoice {
  std::string selector;
  std::string why; // for people
};
// The one named; without a name the cpu, or the first OpenCL device where no code can be generated
// for the cpu.
DeviceChoice choose_device(const std::string &named);

struct Engine {
  // Of the device that choose_device() says.
  Engine(const std::string &selector, const EngineOptions &options, Log log,
         const runtime::Hooks &hooks = {});

  // Members are in the order in which they must be made; they go in the opposite one.
  std::mutex mutex;
  Log log;
  EngineOptions options;
  DeviceChoice choice;
  std::unique_ptr<runtime::Device> device;
  std::unique_ptr<runtime::KernelCache> cache;
  std::unique_ptr<runtime::RecordStore> records;

  void warn(const std::string &text) const { log(LogLevel::Warning, text); }
};

// What was found on this machine, and what was rejected and why.
struct FoundDevice {
  std::string selector;
  std::string name;
  std::string state; // "usable", or what it lacks
  bool is_usable = false;
};
std::vector<FoundDevice> find_devices();

} // namespace tilefuse::api
