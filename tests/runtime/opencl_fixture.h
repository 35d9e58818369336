// SPDX-License-Identifier: Apache-2.0
// The OpenCL device that tests run on. Where there is none they say that they are skipped, and in
// CI (variable CI) fail.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/error.h"
#include "runtime/device.h"
#include "runtime/opencl/opencl_device.h"

namespace tilefuse::runtime {

// A folder of its own under the system's temporary one, removed with its owner.
class TemporaryFolder {
public:
  explicit TemporaryFolder(const std::string &name)
      : path_(std::filesystem::temp_directory_path() / (name + "_" + std::to_string(getpid()))) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;
  std::string operator/(const std::string &name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }

private:
  std::filesystem::path path_;
};

// Null, with the reason in `why`, where there is no usable device.
inline std::unique_ptr<Device> open_opencl(std::string *why) {
  try {
    return make_opencl_device("opencl", {});
  } catch (const Error &error) {
    *why = error.what();
    return nullptr;
  }
}

// Skips the test without a device; fails it in CI.
#define TILEFUSE_NEED_OPENCL(device)                                                               \
  std::string device##_why;                                                                        \
  const auto device = ::tilefuse::runtime::open_opencl(&device##_why);                             \
  if (device == nullptr && std::getenv("CI") != nullptr)                                           \
    FAIL() << "OpenCL is required in CI: " << device##_why;                                        \
  if (device == nullptr)                                                                           \
  GTEST_SKIP() << "no OpenCL device: " << device##_why

// A package with its arguments in memory of their own; run() launches once and reads everything
// back.
inline void run_package(Device &device, const Package &built,
                        std::span<const std::span<std::byte>> args) {
  std::vector<std::unique_ptr<Memory>> memory;
  std::vector<Binding> bindings;
  for (const std::span<std::byte> arg : args) {
    const auto bytes = static_cast<std::int64_t>(arg.size());
    memory.push_back(device.allocate(bytes));
    bindings.push_back({memory.back().get(), 0, bytes});
    device.write(bindings.back(), arg);
  }
  const auto launchable = device.load(built, bindings);
  device.launch(*launchable);
  for (std::size_t i = 0; i < args.size(); ++i)
    device.read(bindings[i], args[i]);
}

} // namespace tilefuse::runtime
