// SPDX-License-Identifier: Apache-2.0
#include "runtime/workers/host_workers.h"

#include <utility>
#include <vector>

namespace tilefuse::runtime {
namespace {

class HostWorkers final : public Workers {
public:
  HostWorkers(HostTransport transport, Device &device)
      : transport_(std::move(transport)), device_(device) {}

  int rank() const override { return transport_.rank; }
  int count() const override { return transport_.count; }

  void swap_parts(const Binding &from, const Binding &to) override {
    read(from);
    other_.resize(own_.size());
    transport_.swap_parts(std::as_bytes(std::span(own_)),
                          std::as_writable_bytes(std::span(other_)));
    device_.write(to, std::as_bytes(std::span(other_)));
  }
  void gather_parts(const Binding &all) override {
    read(all);
    transport_.gather_parts(std::as_writable_bytes(std::span(own_)));
    device_.write(all, std::as_bytes(std::span(own_)));
  }
  void sum(const Binding &all) override {
    read(all);
    transport_.sum(own_);
    device_.write(all, std::as_bytes(std::span(own_)));
  }

private:
  void read(const Binding &from) {
    own_.resize(static_cast<std::size_t>(from.bytes) / sizeof(float));
    device_.read(from, std::as_writable_bytes(std::span(own_)));
  }

  HostTransport transport_;
  Device &device_;
  std::vector<float> own_, other_; // copies of device memory
};

} // namespace

std::unique_ptr<Workers> make_host_workers(HostTransport transport, Device &device) {
  return std::make_unique<HostWorkers>(std::move(transport), device);
}

} // namespace tilefuse::runtime
