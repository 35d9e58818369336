// SPDX-License-Identifier: Apache-2.0
#include "model/execution.h"

#include <algorithm>

#include "base/index.h"
#include "runtime/timeline.h"

namespace tilefuse::model {

using program::BufferId;
using program::TensorId;

namespace {

std::int64_t align_up(std::int64_t bytes, std::int64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

} // namespace

Execution::Execution(const Resident &resident, std::span<const PlacedPort> placed,
                     runtime::Memory *arena)
    : resident_(&resident), placed_(resident.plan().buffers.size()),
      uses_(resident.plan().buffers.size()) {
  for (const PlacedPort &each : placed) {
    TILEFUSE_CHECK(is_alone(each.port), "a port is placed that shares its buffer");
    placed_[at(buffer_of(each.port))] = each.place;
  }
  allocate(arena);
  load_kernels();
}

std::int64_t Execution::arena_bytes(const Resident &resident) {
  return resident.plan().activation_bytes - resident.plan().arena_begin;
}

// What has a place already needs none here. Ports, and what has to stay zero, lie in front of what is
// needed during a run alone.
void Execution::allocate(runtime::Memory *arena) {
  const Plan &plan = resident_->plan();
  runtime::Device &device = resident_->device();
  std::int64_t own = 0;
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    const PlacedBuffer &buffer = plan.buffers[b];
    if (!buffer.is_used || placed_[b].memory != nullptr)
      continue;
    placed_[b] = {nullptr, buffer.is_shared ? buffer.offset - plan.arena_begin : own, buffer.bytes};
    own += buffer.is_shared ? 0 : align_up(buffer.bytes, device.alignment());
  }
  bytes_ = own + (arena == nullptr ? arena_bytes(*resident_) : 0);
  activations_ = device.allocate(std::max<std::int64_t>(bytes_, 1));
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    if (!plan.buffers[b].is_used || placed_[b].memory != nullptr)
      continue;
    const bool is_shared = plan.buffers[b].is_shared;
    placed_[b].memory = is_shared && arena != nullptr ? arena : activations_.get();
    placed_[b].offset += is_shared && arena == nullptr ? own : 0;
    if (resident_->compiled().stored.buffers[b].needs_zero)
      device.fill_zero(placed_[b]);
  }
}

void Execution::load_kernels() {
  const Compiled &compiled = resident_->compiled();
  for (std::size_t k = 0; k < compiled.launches.size(); ++k) {
    std::vector<runtime::Binding> bindings;
    for (const PlannedArgument &argument : resident_->plan().launches[k]) {
      const bool is_constant = argument.constant >= 0;
      if (!is_constant)
        uses_[at(argument.buffer)].push_back({k, bindings.size()});
      bindings.push_back(is_constant ? resident_->constant(argument.constant)
                                     : place_of(argument.buffer));
    }
    loaded_.push_back(resident_->device().load(compiled.package(compiled.launches[k]), bindings));
    kernels_.push_back(loaded_.back().get());
  }
}

void Execution::add_to(runtime::Timeline &timeline) const {
  const std::size_t first = timeline.kernels.size();
  const std::vector<CompiledLaunch> &launches = resident_->compiled().launches;
  for (std::size_t k = 0; k < kernels_.size(); ++k) {
    timeline.kernels.push_back(kernels_[k]);
    if (launches[k].before)
      timeline.asides.push_back({first + k, first + *launches[k].before});
  }
}

BufferId Execution::buffer_of(Port port) const {
  const program::StoredProgram &stored = resident_->compiled().stored;
  const std::vector<TensorId> &ids =
      port.is_output ? stored.program.outputs : stored.program.inputs;
  return stored.windows[at(ids.at(port.position))].buffer;
}

runtime::Binding Execution::place_of(BufferId id) const { return placed_[at(id)]; }

runtime::Binding Execution::own(Port port) const { return place_of(buffer_of(port)); }

bool Execution::is_alone(Port port) const {
  const program::StoredProgram &stored = resident_->compiled().stored;
  const BufferId buffer = buffer_of(port);
  const program::HostTensor &tensor =
      (port.is_output ? resident_->outputs() : resident_->inputs()).at(port.position);
  const auto ports_there = [&](const std::vector<TensorId> &ids) {
    return std::count_if(ids.begin(), ids.end(),
                         [&](TensorId id) { return stored.windows[at(id)].buffer == buffer; });
  };
  return resident_->plan().buffers[at(buffer)].bytes ==
             program::elems(tensor.shape) * size_bytes(tensor.type) &&
         ports_there(stored.program.inputs) + ports_there(stored.program.outputs) == 1;
}

bool Execution::is_bindable(Port port) const {
  return is_alone(port) && !resident_->compiled().stored.buffers[at(buffer_of(port))].needs_zero;
}

void Execution::bind(Port port, const runtime::Binding &to) {
  const BufferId buffer = buffer_of(port);
  const runtime::Binding place = to.memory == nullptr ? place_of(buffer) : to;
  for (const Use &use : uses_[at(buffer)])
    resident_->device().rebind(*loaded_[use.launch], use.argument, place);
}

} // namespace tilefuse::model
