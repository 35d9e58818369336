// SPDX-License-Identifier: Apache-2.0
// A device that notes what is asked of it and passes it on.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/device.h"

namespace tilefuse::testing {

class WatchedDevice final : public runtime::Device {
public:
  explicit WatchedDevice(runtime::Device &device) : device_(device) {}

  // "write", "read", "zero", "launch 3" (a list of three), "finish", "trace 3"; then forgets them.
  std::vector<std::string> calls() { return std::exchange(calls_, {}); }

  const Target &target() const override { return device_.target(); }
  const std::string &name() const override { return device_.name(); }
  const std::string &driver() const override { return device_.driver(); }
  std::int64_t alignment() const override { return device_.alignment(); }
  std::unique_ptr<runtime::Memory> allocate(std::int64_t bytes) override {
    return device_.allocate(bytes);
  }
  void write(const runtime::Binding &to, std::span<const std::byte> from) override {
    calls_.push_back("write");
    device_.write(to, from);
  }
  void read(const runtime::Binding &from, std::span<std::byte> to) override {
    calls_.push_back("read");
    device_.read(from, to);
  }
  void fill_zero(const runtime::Binding &to) override {
    calls_.push_back("zero");
    device_.fill_zero(to);
  }
  std::vector<Package> build(std::vector<Package> packages) override {
    return device_.build(std::move(packages));
  }
  std::unique_ptr<runtime::Launchable> load(const Package &built,
                                            std::span<const runtime::Binding> bindings) override {
    return device_.load(built, bindings);
  }
  void launch(runtime::Launchable &kernel) override {
    calls_.push_back("launch");
    device_.launch(kernel);
  }
  void launch_all(std::span<runtime::Launchable *const> kernels) override {
    calls_.push_back("launch " + std::to_string(kernels.size()));
    device_.launch_all(kernels);
  }
  void finish() override {
    calls_.push_back("finish");
    device_.finish();
  }
  std::vector<runtime::LaunchTime> trace(std::span<runtime::Launchable *const> kernels) override {
    calls_.push_back("trace " + std::to_string(kernels.size()));
    return device_.trace(kernels);
  }

private:
  runtime::Device &device_;
  std::vector<std::string> calls_;
};

} // namespace tilefuse::testing
