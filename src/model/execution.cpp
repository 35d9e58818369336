// SPDX-License-Identifier: Apache-2.0
#include "model/execution.h"

#include <algorithm>

#include "base/index.h"

namespace tilefuse::model {

using program::BufferId;
using program::TensorId;

Execution::Execution(const Resident &resident, std::span<const PlacedPort> placed)
    : resident_(&resident), placed_(resident.plan().buffers.size()),
      uses_(resident.plan().buffers.size()) {
  for (const PlacedPort &each : placed) {
    TILEFUSE_CHECK(is_alone(each.port), "a port is placed that shares its buffer");
    placed_[at(buffer_of(each.port))] = each.place;
  }
  allocate();
  load_kernels();
}

void Execution::allocate() {
  const Plan &plan = resident_->plan();
  activations_ = resident_->device().allocate(std::max<std::int64_t>(plan.activation_bytes, 1));
  for (std::size_t b = 0; b < plan.buffers.size(); ++b)
    if (plan.buffers[b].is_used && resident_->compiled().stored.buffers[b].needs_zero)
      resident_->device().fill_zero(place_of(static_cast<BufferId>(b)));
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

BufferId Execution::buffer_of(Port port) const {
  const program::StoredProgram &stored = resident_->compiled().stored;
  const std::vector<TensorId> &ids =
      port.is_output ? stored.program.outputs : stored.program.inputs;
  return stored.windows[at(ids.at(port.position))].buffer;
}

runtime::Binding Execution::place_of(BufferId id) const {
  if (placed_[at(id)].memory != nullptr)
    return placed_[at(id)];
  const PlacedBuffer &placed = resident_->plan().buffers[at(id)];
  return {activations_.get(), placed.offset, placed.bytes};
}

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
  return is_alone(port) &&
         !resident_->compiled().stored.buffers[at(buffer_of(port))].needs_zero;
}

void Execution::bind(Port port, const runtime::Binding &to) {
  const BufferId buffer = buffer_of(port);
  const runtime::Binding place = to.memory == nullptr ? place_of(buffer) : to;
  for (const Use &use : uses_[at(buffer)])
    resident_->device().rebind(*loaded_[use.launch], use.argument, place);
}

} // namespace tilefuse::model
