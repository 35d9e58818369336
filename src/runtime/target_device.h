// SPDX-License-Identifier: Apache-2.0
// A target as a device that nothing runs on: it can be planned for, and its code built where that
// needs no driver.
#pragma once

#include <string>
#include <utility>

#include "base/error.h"
#include "runtime/cuda/cuda_build.h"
#include "runtime/device.h"

namespace tilefuse::runtime {

class TargetDevice : public Device {
public:
  explicit TargetDevice(Target target) : target_(std::move(target)), name_(target_.name) {}

  const Target &target() const override { return target_; }
  const std::string &name() const override { return name_; }
  const std::string &driver() const override { return name_; }
  std::int64_t alignment() const override { return 256; }
  // CUDA's by NVRTC; those of others stay as they are.
  std::vector<Package> build(std::vector<Package> packages) override {
    return build_cuda(std::move(packages), target_.isa, nullptr);
  }

  std::unique_ptr<Memory> allocate(std::int64_t) override { absent(); }
  void write(const Binding &, std::span<const std::byte>) override { absent(); }
  void read(const Binding &, std::span<std::byte>) override { absent(); }
  void fill_zero(const Binding &) override { absent(); }
  std::unique_ptr<Launchable> load(const Package &, std::span<const Binding>) override { absent(); }
  void launch(Launchable &) override { absent(); }
  void finish() override {}
  std::vector<LaunchTime> trace(std::span<Launchable *const>) override { absent(); }

private:
  [[noreturn]] void absent() const {
    throw Error(ErrorCode::Device, name_ + " is a row of devices/, nothing runs on it");
  }

  Target target_;
  std::string name_;
};

} // namespace tilefuse::runtime
