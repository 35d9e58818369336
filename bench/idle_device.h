// SPDX-License-Identifier: Apache-2.0
// A row of devices/ as a device that kernels are built, loaded and launched for, and that does none of
// it: what is left is the host's share of a start.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/target_device.h"

namespace tilefuse::bench {

class IdleDevice final : public runtime::TargetDevice {
public:
  using TargetDevice::TargetDevice;

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
};

} // namespace tilefuse::bench
