// SPDX-License-Identifier: Apache-2.0
#include "model/oracle/verify.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/index.h"
#include "base/random.h"

namespace tilefuse::model {
namespace {

using program::Bytes;
using program::HostTensor;
using program::Role;

constexpr double kMostSimulatedFlops = 1e8;

Bytes random_bytes(DType type, std::int64_t elems, Random &random) {
  Bytes bytes(static_cast<std::size_t>(elems * size_bytes(type)));
  for (std::int64_t i = 0; i < elems; ++i) {
    const double value = is_float(type)
                             ? 2 * random.unit() - 1
                             : static_cast<double>(random.between(0, type == DType::Bool ? 1 : 4));
    store_element(bytes.data(), type, i, value);
  }
  return bytes;
}

// Every buffer of the program in host memory, in the state before the first kernel.
class HostBuffers {
public:
  HostBuffers(const program::StoredProgram &stored, const std::vector<HostTensor> &inputs) {
    for (const program::Buffer &buffer : stored.buffers)
      bytes_.emplace_back(static_cast<std::size_t>(buffer.elems * size_bytes(buffer.type)));
    for (std::size_t t = 0; t < stored.windows.size(); ++t) {
      const program::Tensor &tensor = stored.program.tensors[t];
      if (tensor.role == Role::Constant && tensor.data &&
          stored.windows[t].buffer != program::kNoBuffer)
        put(stored.windows[t].buffer, *tensor.data);
    }
    Random random(1);
    for (std::size_t i = 0; i < stored.program.inputs.size(); ++i) {
      const program::TensorId id = stored.program.inputs[i];
      const program::BufferId buffer = stored.windows[at(id)].buffer;
      if (buffer == program::kNoBuffer)
        continue;
      const program::Tensor &tensor = stored.program[id];
      put(buffer, inputs.empty() ? random_bytes(tensor.type, program::elems(tensor.shape), random)
                                 : inputs[i].data);
    }
  }

  // What a kernel reads and writes, by slot; it is not here until it is given back.
  Slots take(const poly::PlacedGroup &placed) {
    Slots slots;
    for (const poly::SlotId s : placed.buffers.ids())
      slots.push_back(first_slot(placed, s) == s ? std::move(bytes_[at(placed.buffers[s])])
                                                 : slots[at(first_slot(placed, s))]);
    return slots;
  }
  void give_back(const poly::PlacedGroup &placed, Slots before, Slots after) {
    const std::vector<poly::SlotId> written = written_slots(placed.group);
    for (const poly::SlotId s : placed.buffers.ids())
      if (first_slot(placed, s) == s)
        bytes_[at(placed.buffers[s])] = std::move(before[at(s)]);
    for (const poly::SlotId s : written)
      bytes_[at(placed.buffers[s])] = std::move(after[at(s)]);
  }

private:
  // That is bound to the buffer of a slot.
  static poly::SlotId first_slot(const poly::PlacedGroup &placed, poly::SlotId slot) {
    const auto found =
        std::find(placed.buffers.begin(), placed.buffers.end(), placed.buffers[slot]);
    return static_cast<poly::SlotId>(found - placed.buffers.begin());
  }

  void put(program::BufferId id, const Bytes &data) {
    std::copy_n(data.begin(), std::min(data.size(), bytes_[at(id)].size()), bytes_[at(id)].begin());
  }

  std::vector<Bytes> bytes_;
};

// Without the data, which a reference holds.
KernelCase case_of(const launch::Part &kernel, const Target &target) {
  return {.group = kernel.placed.group,
          .schedule = kernel.schedule,
          .target = target,
          .values = Values::Reals};
}

// Drawn data make a small file; the real ones are kept where only they show the fault.
KernelCase reproducer_of(const Reference &reference, const Package &built, runtime::Device &device,
                         std::int64_t samples) {
  KernelCase drawn = reference.kernel_case();
  if (check_built(Reference(drawn, samples), built, device))
    return drawn;
  KernelCase real = std::move(drawn);
  for (std::size_t s = 0; s < reference.before().size(); ++s)
    real.given[static_cast<poly::SlotId>(s)] = reference.before()[s];
  return real;
}

void check_inputs(const program::Program &program, const std::vector<HostTensor> &inputs) {
  if (!inputs.empty() && inputs.size() != program.inputs.size())
    throw Error(ErrorCode::Shape, fmt::format("{} inputs were given, the model takes {}",
                                              inputs.size(), program.inputs.size()));
}

} // namespace

std::string bisect(const Reference &reference, const Lowering &lowering) {
  const poly::Group &group = reference.kernel_case().group;
  double flops = 0;
  for (const poly::MemberId m : members(group))
    flops += nest::flops(member_nest(group, m));
  if (flops > kMostSimulatedFlops)
    return fmt::format("not simulated: {:.3g} operations, at most {:.3g} are", flops,
                       kMostSimulatedFlops);
  if (const std::optional<Divergence> divergence = check_simulated(reference, lowering))
    return divergence->stage + ": " + divergence->what;
  return "every pass is right in the simulator: the fault is in the code generator or the driver";
}

VerifyReport verify_model(const program::Program &program, const std::vector<HostTensor> &inputs,
                          runtime::Device &device, runtime::KernelCache &cache,
                          const VerifyOptions &options) {
  check_inputs(program, inputs);
  SessionOptions one_by_one = options.session;
  one_by_one.sharing = search::Sharing::None;
  const Compiled compiled = compile(program, device, cache, one_by_one);
  HostBuffers buffers(compiled.stored, inputs);
  VerifyReport report;
  const int total = static_cast<int>(compiled.launches.size());
  for (const CompiledLaunch &launch : compiled.launches) {
    const launch::Part &kernel = launch.launch.parts.front();
    if (options.progress)
      options.progress(report.kernels, total);
    const KernelCase real = case_of(kernel, device.target());
    const Package &built = compiled.package(launch);
    Reference reference(real, options.samples, buffers.take(kernel.placed));
    Slots after(reference.before().size());
    const std::optional<Divergence> divergence = check_built(reference, built, device, &after);
    report.compared += reference.compared();
    report.largest_share = std::max(report.largest_share, reference.largest_share());
    if (divergence) {
      report.fault = {.kernel = report.kernels,
                      .origin = kernel.placed.origin,
                      .name = built.name,
                      .divergence = *divergence,
                      .bisection = bisect(reference, options.lowering),
                      .reproducer = reproducer_of(reference, built, device, options.samples)};
      return report;
    }
    buffers.give_back(kernel.placed, std::move(reference).take_before(), std::move(after));
    ++report.kernels;
  }
  return report;
}

} // namespace tilefuse::model
