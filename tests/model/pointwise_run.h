// SPDX-License-Identifier: Apache-2.0
// One fused kernel of maps on chosen values, by everything that runs it: the evaluator, the
// simulator and each device.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "emit/emitter.h"
#include "emit/make_emitter.h"
#include "lower/pipeline.h"
#include "model/devices.h"
#include "model/oracle/simulate_group.h"
#include "nest/evaluate/evaluate.h"
#include "nest/flatten/flat_statement.h"
#include "poly/post_ops.h"
#include "program/host_tensor.h"
#include "runtime/opencl_fixture.h"
#include "search/pick.h"
#include "tile/tile.h"

namespace tilefuse::testing {

// A Tile function of tensors of one type and as many elements.
inline program::Program pointwise_program(const tile::Library &library, const std::string &function,
                                          std::size_t operands, DType type, std::int64_t elems) {
  program::Program program;
  for (std::size_t k = 0; k < operands; ++k)
    program.inputs.push_back(program.add({.name = "x" + std::to_string(k),
                                          .type = type,
                                          .shape = {elems},
                                          .role = program::Role::Input}));
  program.outputs = library.instantiate(function, program.inputs, {}, program, function);
  return program;
}

// The values again and again.
inline program::HostTensor repeated(const std::string &name, DType type,
                                    const std::vector<double> &values, std::int64_t elems) {
  program::HostTensor tensor = program::make_host_tensor(name, type, {elems});
  for (std::int64_t i = 0; i < elems; ++i)
    program::set(tensor, i, values[static_cast<std::size_t>(i) % values.size()]);
  return tensor;
}

class PointwiseRun {
public:
  // The program's maps must be one kernel.
  PointwiseRun(const program::Program &program, const std::vector<program::HostTensor> &inputs)
      : stored_(program::assign_storage(program)), inputs_(inputs) {
    const std::vector<poly::PlacedGroup> groups = poly::make_groups(stored_);
    EXPECT_EQ(groups.size(), 1u);
    placed_ = groups.at(0);
  }

  const nest::Nest &nest() const { return placed_.group.anchor; }
  DType type() const { return nest().slots[out()].type; }

  program::Bytes evaluated() const {
    std::vector<program::Bytes> all = slots();
    nest::evaluate(nest(), std::vector<std::span<std::byte>>(all.begin(), all.end()));
    return all[out()];
  }

  program::Bytes simulated(const Target &target) const {
    const schedule::Schedule schedule = search::pick(nest(), target);
    std::vector<program::Bytes> all = slots();
    std::vector<program::Bytes> packed;
    kernel::simulate(lower::lower({nest()}, schedule, target),
                     model::kernel_arguments(placed_.group, schedule, all, packed));
    return all[out()];
  }

  program::Bytes run(runtime::Device &device) const {
    const schedule::Schedule schedule = search::pick(nest(), device.target());
    const kernel::Kernel kernel = lower::lower({nest()}, schedule, device.target());
    std::string why;
    const auto emitter = emit::make_emitter(device.target(), &why);
    if (emitter == nullptr)
      throw Error(ErrorCode::Unsupported, why);
    const Package built = device.build({emitter->emit(kernel, device.target())})[0];
    std::vector<program::Bytes> all = slots();
    std::vector<program::Bytes> packed;
    runtime::run_package(device, built,
                         model::kernel_arguments(placed_.group, schedule, all, packed));
    return all[out()];
  }

private:
  std::size_t out() const { return static_cast<std::size_t>(nest().out.slot); }

  std::vector<program::Bytes> slots() const {
    std::vector<program::Bytes> all;
    for (std::size_t s = 0; s < nest().slots.size(); ++s) {
      const nest::Slot &slot = nest().slots[s];
      all.emplace_back(static_cast<std::size_t>(slot.elems * size_bytes(slot.type)));
      for (std::size_t k = 0; k < inputs_.size(); ++k) {
        const auto id = static_cast<std::size_t>(to_int(stored_.program.inputs[k]));
        if (stored_.windows[id].buffer == placed_.buffers[s])
          all.back() = inputs_[k].data;
      }
    }
    return all;
  }

  program::StoredProgram stored_;
  poly::PlacedGroup placed_;
  std::vector<program::HostTensor> inputs_;
};

// Elements as expected, again and again: exactly, or within `tolerance` of 1 + the value; NaN is
// NaN.
inline void expect_elements(const program::Bytes &got, DType type,
                            const std::vector<double> &expected, double tolerance,
                            const std::string &by) {
  const auto count = static_cast<std::int64_t>(got.size()) / size_bytes(type);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::size_t k = static_cast<std::size_t>(i) % expected.size();
    const double value = load_element(got.data(), type, i);
    const bool same = value == nearest(expected[k], type) ||
                      (std::isnan(value) && std::isnan(expected[k])) ||
                      std::fabs(value - expected[k]) <= tolerance * (1 + std::fabs(expected[k]));
    EXPECT_TRUE(same) << by << ": element " << k << " is " << value << ", not " << expected[k];
  }
}

// The same by all that can run the type.
inline void expect_everywhere(const PointwiseRun &run, const std::vector<double> &expected,
                              bool doubles, double tolerance = 0) {
  SCOPED_TRACE(nest::to_text(run.nest()));
  expect_elements(run.evaluated(), run.type(), expected, tolerance, "evaluator");
  for (const NamedDevice &device : devices()) {
    const Target &target = device.device->target();
    if (doubles && !target.fp64)
      continue;
    expect_elements(run.simulated(target), run.type(), expected, tolerance,
                    "simulator for " + device.name);
    expect_elements(run.run(*device.device), run.type(), expected, tolerance, device.name);
  }
}

} // namespace tilefuse::testing
