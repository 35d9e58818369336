// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/error.h"
#include "base/stopwatch.h"
#include "model/execution.h"
#include "model/profile.h"
#include "model/resident.h"
#include "model/session.h"

namespace tilefuse::model {
namespace {

using program::HostTensor;

std::string shape_text(const program::Shape &shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

void check_input(const HostTensor &expected, const HostTensor &given) {
  if (given.type != expected.type)
    throw Error(ErrorCode::Type, fmt::format("input '{}' is {}, the model takes {}", expected.name,
                                             to_string(given.type), to_string(expected.type)));
  if (given.shape != expected.shape)
    throw Error(ErrorCode::Shape, fmt::format("input '{}' is {}, the model takes {}", expected.name,
                                              shape_text(given.shape), shape_text(expected.shape)));
}

} // namespace

struct Session::State {
  State(const program::Program &program, runtime::Device &device, runtime::KernelCache &cache,
        const SessionOptions &options)
      : resident(program, device, cache, options), stats(resident.stats()), execution(resident) {
    stats.start.load = load.seconds();
    stats.compile_seconds += stats.start.load;
  }

  Resident resident;
  SessionStats stats;
  Stopwatch load;
  Execution execution;
};

Session::Session(const program::Program &program, runtime::Device &device,
                 runtime::KernelCache &cache, const SessionOptions &options)
    : state_(std::make_unique<State>(program, device, cache, options)) {}

Session::~Session() = default;

const std::vector<HostTensor> &Session::inputs() const { return state_->resident.inputs(); }
const std::vector<HostTensor> &Session::outputs() const { return state_->resident.outputs(); }
const SessionStats &Session::stats() const { return state_->stats; }
std::string Session::plan_text() const {
  return to_text(state_->resident.plan(), state_->resident.compiled());
}

std::vector<HostTensor> Session::run(std::span<const HostTensor> inputs) {
  State &s = *state_;
  const std::vector<HostTensor> &forms = s.resident.inputs();
  if (inputs.size() != forms.size())
    throw Error(ErrorCode::Shape, fmt::format("{} inputs were given, the model takes {}",
                                              inputs.size(), forms.size()));
  for (std::size_t i = 0; i < inputs.size(); ++i)
    check_input(forms[i], inputs[i]);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    s.resident.device().write(s.execution.own({.position = i}), inputs[i].data);
  s.execution.launch();
  std::vector<HostTensor> outputs;
  for (const HostTensor &form : s.resident.outputs()) {
    const Port port{.is_output = true, .position = outputs.size()};
    outputs.push_back(program::make_host_tensor(form.name, form.type, form.shape));
    s.resident.device().read(s.execution.own(port), outputs.back().data);
  }
  return outputs;
}

double Session::run_again() {
  const Stopwatch watch;
  state_->execution.launch();
  state_->resident.device().finish();
  return watch.seconds();
}

Profile Session::profile(int passes) {
  return model::profile(state_->resident, state_->execution, passes);
}

const Compiled &Session::compiled() const { return state_->resident.compiled(); }
const Plan &Session::plan() const { return state_->resident.plan(); }

} // namespace tilefuse::model
