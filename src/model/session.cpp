// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/index.h"
#include "base/stopwatch.h"
#include "base/thread_pool.h"
#include "cost/roofline.h"
#include "model/compile.h"
#include "model/dump.h"
#include "model/plan/pack.h"
#include "model/plan/plan.h"
#include "model/session.h"
#include "model/tune/records.h"

namespace tilefuse::model {
namespace {

using program::BufferId;
using program::HostTensor;
using program::TensorId;

constexpr int kRunsInFront = 3;
constexpr std::int64_t kLeastBytesToShare = 1 << 20; // of constants, that several threads pack

std::string shape_text(const program::Shape &shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

std::vector<HostTensor> describe(const program::Program &program,
                                 const std::vector<TensorId> &ids) {
  std::vector<HostTensor> tensors;
  for (TensorId id : ids)
    tensors.push_back({program[id].name, program[id].type, program[id].shape, {}});
  return tensors;
}

} // namespace

struct Session::State {
  State(runtime::Device &on) : device(on) {}

  runtime::Device &device;
  Compiled compiled;
  Plan plan;
  std::vector<HostTensor> inputs;
  std::vector<HostTensor> outputs;
  std::unique_ptr<runtime::Memory> weights;
  std::unique_ptr<runtime::Memory> activations;
  std::vector<std::unique_ptr<runtime::Launchable>> launches;
  SessionStats stats;

  void allocate();
  void upload_constants();
  void load_kernels();
  const program::Bytes &constant_data(BufferId id) const;
  runtime::Binding buffer_binding(BufferId id) const;
  runtime::Binding tensor_binding(TensorId id) const;
  void check_input(const HostTensor &expected, const HostTensor &given) const;
  std::vector<runtime::Launchable *> in_order() const;
  std::vector<runtime::LaunchTime> trace(int passes) const;
  const launch::Part &first_part(std::size_t launch) const;
  Ceilings ceilings(std::span<const runtime::LaunchTime> times);
};

void Session::State::allocate() {
  weights = device.allocate(std::max<std::int64_t>(plan.weight_bytes, 1));
  activations = device.allocate(std::max<std::int64_t>(plan.activation_bytes, 1));
  for (std::size_t b = 0; b < plan.buffers.size(); ++b)
    if (plan.buffers[b].is_used && compiled.stored.buffers[b].needs_zero)
      device.fill_zero(buffer_binding(static_cast<BufferId>(b)));
}

const program::Bytes &Session::State::constant_data(BufferId id) const {
  for (std::size_t t = 0; t < compiled.stored.windows.size(); ++t) {
    const program::Tensor &tensor = compiled.stored.program.tensors[t];
    if (compiled.stored.windows[t].buffer == id && tensor.role == program::Role::Constant) {
      if (tensor.data)
        return *tensor.data;
      throw Error(ErrorCode::Type, "a constant of the program has no data", tensor.name);
    }
  }
  internal_error("a constant buffer without a tensor", __FILE__, __LINE__);
}

// Constants are packed side by side, and written by the thread that the device knows.
void Session::State::upload_constants() {
  std::vector<program::Bytes> packed(plan.constants.size());
  ThreadPool pool(plan.weight_bytes < kLeastBytesToShare ? 1 : available_threads());
  pool.parallel_for(static_cast<std::int64_t>(packed.size()), [&](int, std::int64_t i) {
    const PlannedConstant &constant = plan.constants[at(i)];
    if (constant.launch < 0)
      return;
    const CompiledLaunch &launch = compiled.launches[at(constant.launch)];
    const launch::Part &part = launch.launch.parts[constant.packed.part];
    packed[at(i)] =
        pack(part.placed.group, part.schedule, constant.packed.arg, constant_data(constant.buffer));
  });
  for (std::size_t i = 0; i < packed.size(); ++i) {
    const PlannedConstant &constant = plan.constants[i];
    const std::int64_t bytes = constant.elems * size_bytes(constant.type);
    device.write({weights.get(), constant.offset, bytes},
                 constant.launch < 0 ? constant_data(constant.buffer) : packed[i]);
    packed[i] = {};
  }
}

runtime::Binding Session::State::buffer_binding(BufferId id) const {
  const PlacedBuffer &placed = plan.buffers[at(id)];
  return {activations.get(), placed.offset, placed.bytes};
}

runtime::Binding Session::State::tensor_binding(TensorId id) const {
  return buffer_binding(compiled.stored.windows[at(id)].buffer);
}

void Session::State::load_kernels() {
  for (std::size_t k = 0; k < compiled.launches.size(); ++k) {
    std::vector<runtime::Binding> bindings;
    for (const PlannedArgument &argument : plan.launches[k]) {
      if (argument.constant < 0) {
        bindings.push_back(buffer_binding(argument.buffer));
        continue;
      }
      const PlannedConstant &constant = plan.constants[at(argument.constant)];
      bindings.push_back(
          {weights.get(), constant.offset, constant.elems * size_bytes(constant.type)});
    }
    launches.push_back(device.load(compiled.package(compiled.launches[k]), bindings));
  }
}

std::vector<runtime::Launchable *> Session::State::in_order() const {
  std::vector<runtime::Launchable *> kernels;
  for (const auto &launch : launches)
    kernels.push_back(launch.get());
  return kernels;
}

// Runs in front keep the device busy while the timed launches are sent.
std::vector<runtime::LaunchTime> Session::State::trace(int passes) const {
  const std::vector<runtime::Launchable *> kernels = in_order();
  std::vector<std::vector<runtime::LaunchTime>> runs;
  for (int pass = 0; pass < passes; ++pass) {
    for (int i = 0; i < kRunsInFront; ++i)
      device.launch_all(kernels);
    runs.push_back(device.trace(kernels));
  }
  const auto seconds = [](const std::vector<runtime::LaunchTime> &run) {
    return run.empty() ? 0 : run.back().end - run.front().begin;
  };
  const auto middle = runs.begin() + passes / 2;
  std::nth_element(runs.begin(), middle, runs.end(),
                   [&](const auto &a, const auto &b) { return seconds(a) < seconds(b); });
  return std::move(*middle);
}

const launch::Part &Session::State::first_part(std::size_t launch) const {
  return compiled.launches[launch].launch.parts[0];
}

// The device's, and what these launches reached of it.
Ceilings Session::State::ceilings(std::span<const runtime::LaunchTime> times) {
  Ceilings reached = device.ceilings();
  for (std::size_t k = 0; k < times.size(); ++k) {
    const Package &package = compiled.package(compiled.launches[k]);
    const bool is_scalar =
        first_part(k).schedule.core.op == nullptr; // matrix units have another peak
    reached.raise_to(is_scalar ? package.flops : 0, package.bytes, times[k].seconds());
  }
  return reached;
}

void Session::State::check_input(const HostTensor &expected, const HostTensor &given) const {
  if (given.type != expected.type)
    throw Error(ErrorCode::Type, fmt::format("input '{}' is {}, the model takes {}", expected.name,
                                             to_string(given.type), to_string(expected.type)));
  if (given.shape != expected.shape)
    throw Error(ErrorCode::Shape, fmt::format("input '{}' is {}, the model takes {}", expected.name,
                                              shape_text(given.shape), shape_text(expected.shape)));
}

Session::Session(const program::Program &program, runtime::Device &device,
                 runtime::KernelCache &cache, const SessionOptions &options)
    : state_(std::make_unique<State>(device)) {
  State &s = *state_;
  const Stopwatch watch;
  s.inputs = describe(program, program.inputs);
  s.outputs = describe(program, program.outputs);
  s.compiled = compile(program, device, cache, options);
  s.plan = make_plan(s.compiled, device.alignment());
  if (!options.dump_directory.empty())
    dump_plan(options.dump_directory, plan_text());
  const Stopwatch weights;
  s.allocate();
  s.upload_constants();
  s.stats.start = s.compiled.seconds;
  s.stats.start.weights = weights.seconds();
  const Stopwatch load;
  s.load_kernels();
  s.stats.start.load = load.seconds();
  s.stats.kernels = static_cast<int>(s.launches.size());
  s.stats.compiled = s.compiled.built;
  s.stats.searched = s.compiled.searched;
  s.stats.layout = s.compiled.layout;
  s.stats.conversions = s.compiled.conversions;
  for (const CompiledLaunch &each : s.compiled.launches)
    for (const launch::Part &part : each.launch.parts)
      s.stats.tuned += part.chosen_by == kTuned ? 1 : 0;
  s.stats.weight_bytes = s.plan.weight_bytes;
  s.stats.arena_bytes = s.plan.activation_bytes;
  s.stats.compile_seconds = watch.seconds();
}

Session::~Session() = default;

const std::vector<HostTensor> &Session::inputs() const { return state_->inputs; }
const std::vector<HostTensor> &Session::outputs() const { return state_->outputs; }
const SessionStats &Session::stats() const { return state_->stats; }
std::string Session::plan_text() const { return to_text(state_->plan, state_->compiled); }

std::vector<HostTensor> Session::run(std::span<const HostTensor> inputs) {
  State &s = *state_;
  if (inputs.size() != s.inputs.size())
    throw Error(ErrorCode::Shape, fmt::format("{} inputs were given, the model takes {}",
                                              inputs.size(), s.inputs.size()));
  for (std::size_t i = 0; i < inputs.size(); ++i)
    s.check_input(s.inputs[i], inputs[i]);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    s.device.write(s.tensor_binding(s.compiled.stored.program.inputs[i]), inputs[i].data);
  s.device.launch_all(s.in_order());
  std::vector<HostTensor> outputs;
  for (std::size_t o = 0; o < s.outputs.size(); ++o) {
    const HostTensor &form = s.outputs[o];
    outputs.push_back(program::make_host_tensor(form.name, form.type, form.shape));
    s.device.read(s.tensor_binding(s.compiled.stored.program.outputs[o]), outputs.back().data);
  }
  return outputs;
}

double Session::run_again() {
  const Stopwatch watch;
  state_->device.launch_all(state_->in_order());
  state_->device.finish();
  return watch.seconds();
}

std::vector<KernelReport> Session::profile(int passes) {
  State &s = *state_;
  const std::vector<runtime::LaunchTime> times = s.trace(passes);
  const Target &target = s.device.target();
  const Ceilings ceilings = s.ceilings(times);
  std::vector<KernelReport> reports;
  for (std::size_t k = 0; k < times.size(); ++k) {
    const launch::Part &part = s.first_part(k);
    const Package &package = s.compiled.package(s.compiled.launches[k]);
    const cost::Roofline least =
        cost::roofline(package.flops, package.bytes, part.schedule, target, ceilings);
    const double seconds = times[k].seconds();
    reports.push_back({.name = package.name,
                       .origin = part.placed.origin,
                       .schedule = part.schedule.name,
                       .chosen_by = part.chosen_by,
                       .flops = package.flops,
                       .bytes = package.bytes,
                       .begin = times[k].begin,
                       .seconds = seconds,
                       .roofline = seconds > 0 ? least.seconds() / seconds : 0,
                       .limit = least.limit()});
  }
  return reports;
}

} // namespace tilefuse::model
