// SPDX-License-Identifier: Apache-2.0
// A device with a driver that is wrong: what tests of verify and doctor look for.
#pragma once

#include <functional>
#include <utility>

#include "base/error.h"
#include "runtime/device.h"

namespace tilefuse::testing {

// Passes everything on to a device of its own kind, and does two things wrong where it is told to:
// builds another package than it was given, and spoils one element of a kernel's result. Refuses
// packages where it is told to.
class FaultyDevice final : public runtime::Device {
public:
  explicit FaultyDevice(runtime::Device &device) : device_(device) {}

  std::function<Package(const Package &)> replace = [](const Package &package) { return package; };
  // Why a package is beyond what it runs; empty: it is not.
  std::function<std::string(const Package &)> load_refusal = [](const Package &) { return ""; };
  std::function<bool(const Package &)> spoils = [](const Package &) { return false; };

  const Target &target() const override { return device_.target(); }
  const std::string &name() const override { return device_.name(); }
  const std::string &driver() const override { return device_.driver(); }
  std::int64_t alignment() const override { return device_.alignment(); }
  std::unique_ptr<runtime::Memory> allocate(std::int64_t bytes) override {
    return device_.allocate(bytes);
  }
  void write(const runtime::Binding &to, std::span<const std::byte> from) override {
    device_.write(to, from);
  }
  void read(const runtime::Binding &from, std::span<std::byte> to) override {
    device_.read(from, to);
  }
  void fill_zero(const runtime::Binding &to) override { device_.fill_zero(to); }
  std::vector<Package> build(std::vector<Package> packages) override {
    for (Package &package : packages)
      package = replace(package);
    return device_.build(std::move(packages));
  }
  std::unique_ptr<runtime::Launchable> load(const Package &built,
                                            std::span<const runtime::Binding> bindings) override {
    if (const std::string why = load_refusal(built); !why.empty())
      throw Error(ErrorCode::Limit, why);
    auto kernel = std::make_unique<Kernel>();
    kernel->inner = device_.load(built, bindings);
    for (std::size_t i = 0; i < bindings.size() && spoils(built); ++i)
      if (built.args[i].written)
        kernel->spoilt = bindings[i];
    return kernel;
  }
  void launch(runtime::Launchable &kernel) override {
    auto &of = static_cast<Kernel &>(kernel);
    device_.launch(*of.inner);
    if (of.spoilt.memory == nullptr)
      return;
    const runtime::Binding last{of.spoilt.memory, of.spoilt.offset, of.spoilt.bytes};
    std::vector<std::byte> bytes(static_cast<std::size_t>(last.bytes));
    device_.read(last, bytes);
    bytes[bytes.size() - 2] ^= std::byte{0x40}; // of the last element, a float: a high bit
    device_.write(last, bytes);
  }
  void finish() override { device_.finish(); }
  std::vector<runtime::LaunchTime> trace(std::span<runtime::Launchable *const> kernels) override {
    std::vector<runtime::Launchable *> inner;
    for (runtime::Launchable *kernel : kernels)
      inner.push_back(static_cast<Kernel *>(kernel)->inner.get());
    return device_.trace(inner);
  }

private:
  struct Kernel final : runtime::Launchable {
    std::unique_ptr<runtime::Launchable> inner;
    runtime::Binding spoilt; // without memory: nothing
  };
  runtime::Device &device_;
};

} // namespace tilefuse::testing
