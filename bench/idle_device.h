// SPDX-License-Identifier: Apache-2.0
// A row of devices/ as a device that kernels are built, loaded and launched for, and that does none of
// it: what is left is the host's share of a start.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/cuda/cuda_build.h"
#include "runtime/device.h"

namespace tilefuse::bench {

class IdleDevice final : public runtime::Device {
public:
  explicit IdleDevice(Target target) : target_(std::move(target)), name_(target_.name) {}

  const Target &target() const override { return target_; }
  const std::string &name() const override { return name_; }
  const std::string &driver() const override { return name_; }
  std::int64_t alignment() const override { return 256; }
  std::vector<Package> build(std::vector<Package> packages) override {
    return runtime::build_cuda(std::move(packages), target_.isa, nullptr);
  }
  std::unique_ptr<runtime::Memory> allocate(std::int64_t bytes) override {
    return std::make_unique<Nowhere>(bytes);
  }
  void write(const runtime::Binding &, std::span<const std::byte>) override {}
  void read(const runtime::Binding &, std::span<std::byte>) override {}
  void fill_zero(const runtime::Binding &) override {}
  std::unique_ptr<runtime::Launchable> load(const Package &,
                                            std::span<const runtime::Binding>) override {
    return std::make_unique<runtime::Launchable>();
  }
  void launch(runtime::Launchable &) override {}
  void finish() override {}
  std::vector<runtime::LaunchTime> trace(std::span<runtime::Launchable *const> kernels) override {
    return std::vector<runtime::LaunchTime>(kernels.size());
  }

private:
  class Nowhere final : public runtime::Memory {
  public:
    explicit Nowhere(std::int64_t bytes) : bytes_(bytes) {}
    std::int64_t bytes() const override { return bytes_; }

  private:
    std::int64_t bytes_;
  };

  Target target_;
  std::string name_;
};

} // namespace tilefuse::bench
