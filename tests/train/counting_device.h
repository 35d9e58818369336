// SPDX-License-Identifier: Apache-2.0
// A device that passes everything on to another and counts the memory that lives on it; its writes
// count as overlapping with kernels.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/device.h"

namespace tilefuse::train {

class CountingDevice final : public runtime::Device {
public:
  explicit CountingDevice(runtime::Device &on) : on_(on) {}
  std::int64_t live_bytes() const { return *live_; }

  const Target &target() const override { return on_.target(); }
  const std::string &name() const override { return on_.name(); }
  const std::string &driver() const override { return on_.driver(); }
  std::int64_t alignment() const override { return on_.alignment(); }
  Ceilings ceilings() override { return on_.ceilings(); }

  std::unique_ptr<runtime::Memory> allocate(std::int64_t bytes) override {
    return std::make_unique<Counted>(on_.allocate(bytes), live_);
  }
  std::unique_ptr<runtime::Memory> wrap(void *address, std::int64_t bytes) override {
    std::unique_ptr<runtime::Memory> memory = on_.wrap(address, bytes);
    return memory ? std::make_unique<Counted>(std::move(memory), nullptr) : nullptr;
  }
  void write(const runtime::Binding &to, std::span<const std::byte> from) override {
    on_.write(inner(to), from);
  }
  bool overlaps_writes() const override { return true; }
  void copy(const runtime::Binding &from, const runtime::Binding &to) override {
    std::vector<std::byte> bytes(static_cast<std::size_t>(from.bytes));
    read(from, bytes);
    write(to, bytes);
  }
  void read(const runtime::Binding &from, std::span<std::byte> to) override {
    on_.read(inner(from), to);
  }
  void fill_zero(const runtime::Binding &to) override { on_.fill_zero(inner(to)); }
  std::vector<Package> build(std::vector<Package> packages) override {
    return on_.build(std::move(packages));
  }
  std::unique_ptr<runtime::Launchable> load(const Package &built,
                                            std::span<const runtime::Binding> bindings) override {
    std::vector<runtime::Binding> unwrapped;
    for (const runtime::Binding &binding : bindings)
      unwrapped.push_back(inner(binding));
    return on_.load(built, unwrapped);
  }
  void rebind(runtime::Launchable &kernel, std::size_t argument,
              const runtime::Binding &to) override {
    on_.rebind(kernel, argument, inner(to));
  }
  void launch(runtime::Launchable &kernel) override { on_.launch(kernel); }
  void launch_all(std::span<runtime::Launchable *const> kernels) override {
    on_.launch_all(kernels);
  }
  void finish() override { on_.finish(); }
  std::vector<runtime::LaunchTime> trace(std::span<runtime::Launchable *const> kernels) override {
    return on_.trace(kernels);
  }

private:
  class Counted final : public runtime::Memory {
  public:
    Counted(std::unique_ptr<runtime::Memory> memory, std::shared_ptr<std::int64_t> live)
        : memory_(std::move(memory)), live_(std::move(live)) {
      if (live_)
        *live_ += memory_->bytes();
    }
    ~Counted() override {
      if (live_)
        *live_ -= memory_->bytes();
    }
    std::int64_t bytes() const override { return memory_->bytes(); }
    runtime::Memory *inner() const { return memory_.get(); }

  private:
    std::unique_ptr<runtime::Memory> memory_;
    std::shared_ptr<std::int64_t> live_;
  };

  static runtime::Binding inner(const runtime::Binding &binding) {
    if (binding.memory == nullptr)
      return binding;
    return {static_cast<Counted *>(binding.memory)->inner(), binding.offset, binding.bytes};
  }

  runtime::Device &on_;
  std::shared_ptr<std::int64_t> live_ = std::make_shared<std::int64_t>(0);
};

} // namespace tilefuse::train
