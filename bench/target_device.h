// SPDX-License-Identifier: Apache-2.0
// A row of devices/ as a device that nothing runs on.
#pragma once

#include <string>
#include <utility>

#include "base/error.h"
#include "runtime/cuda/cuda_build.h"
#include "runtime/device.h"
#include "target/device_rows.h"

namespace tilefuse::bench {

class TargetDevice final : public runtime::Device {
public:
  explicit TargetDevice(Target target) : target_(std::move(target)), name_(target_.name) {}

  const Target &target() const override { return target_; }
  const std::string &name() const override { return name_; }
  const std::string &driver() const override { return name_; }
  std::int64_t alignment() const override { return 256; }
  // CUDA's by NVRTC; those of others stay as they are.
  std::vector<Package> build(std::vector<Package> packages) override {
    return runtime::build_cuda(std::move(packages), target_.isa, nullptr);
  }

  std::unique_ptr<runtime::Memory> allocate(std::int64_t) override { absent(); }
  void write(const runtime::Binding &, std::span<const std::byte>) override { absent(); }
  void read(const runtime::Binding &, std::span<std::byte>) override { absent(); }
  void fill_zero(const runtime::Binding &) override { absent(); }
  std::unique_ptr<runtime::Launchable> load(const Package &,
                                            std::span<const runtime::Binding>) override {
    absent();
  }
  void launch(runtime::Launchable &) override { absent(); }
  void finish() override {}
  std::vector<runtime::LaunchTime> trace(std::span<runtime::Launchable *const>) override {
    absent();
  }

private:
  [[noreturn]] void absent() const {
    throw Error(ErrorCode::Device, name_ + " is a row of devices/, nothing runs on it");
  }

  Target target_;
  std::string name_;
};

// The row of that name in `folder`. Unsupported where there is none.
inline Target find_target(const std::string &folder, const std::string &name) {
  for (Target &target : read_targets(folder))
    if (target.name == name)
      return target;
  throw Error(ErrorCode::Unsupported, "there is no row '" + name + "' in " + folder);
}

} // namespace tilefuse::bench
