// SPDX-License-Identifier: Apache-2.0
#include "train/feed.h"

#include <span>
#include <utility>

#include "train/evaluator.h"

namespace tilefuse::train {
namespace {

std::span<const std::byte> bytes_of(const data::Batch &batch, std::size_t port) {
  if (port == 2)
    return std::as_bytes(std::span(batch.drawn));
  return port == 0 ? std::as_bytes(std::span(batch.pixels))
                   : std::as_bytes(std::span(batch.labels));
}

} // namespace

Feed::Feed(data::Loader &loader, runtime::Device &device, const Gradients &gradients,
           std::int64_t classes)
    : loader_(loader), device_(device), gradients_(gradients), classes_(classes) {
  if (device.overlaps_writes())
    for (auto &copy : copies_)
      for (std::size_t port = 0; port < gradients.fed(); ++port)
        copy[port] = device.allocate(gradients.input(0, port).bytes);
}

std::int64_t Feed::bytes(const runtime::Device &device, std::int64_t batch) {
  return device.overlaps_writes() ? static_cast<std::int64_t>(Copies().size()) * batch : 0;
}

const data::Batch &Feed::next() {
  const data::Batch &batch = loader_.next();
  check_labels(batch.labels, classes_);
  return batch;
}

runtime::Binding Feed::copy_of(std::size_t port) const {
  return {copies_[filled_][port].get(), 0, gradients_.input(0, port).bytes};
}

std::int64_t Feed::take(int lane) {
  if (failure_)
    std::rethrow_exception(std::exchange(failure_, nullptr));
  if (std::exchange(is_ahead_, false)) {
    for (std::size_t port = 0; port < gradients_.fed(); ++port)
      device_.copy(copy_of(port), gradients_.input(lane, port));
    return epoch_;
  }
  const data::Batch &batch = next();
  for (std::size_t port = 0; port < gradients_.fed(); ++port)
    device_.write(gradients_.input(lane, port), bytes_of(batch, port));
  return batch.epoch;
}

void Feed::prepare() {
  if (!device_.overlaps_writes() || !loader_.more())
    return;
  try {
    const data::Batch &batch = next();
    filled_ = 1 - filled_;
    for (std::size_t port = 0; port < gradients_.fed(); ++port)
      device_.write_beside(copy_of(port), bytes_of(batch, port));
    epoch_ = batch.epoch;
    is_ahead_ = true;
  } catch (...) { // the step that runs is not to be lost
    failure_ = std::current_exception();
  }
}

} // namespace tilefuse::train
