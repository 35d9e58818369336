// SPDX-License-Identifier: Apache-2.0
#include "timed_session.h"

#include <algorithm>
#include <random>

#include "api/work.h"
#include "progress.h"

namespace tilefuse::tool {

using program::HostTensor;

std::vector<HostTensor> random_inputs(const model::Session &session) {
  std::mt19937 random(1);
  std::vector<HostTensor> inputs;
  for (const HostTensor &form : session.inputs())
    inputs.push_back(api::random_input(form, random));
  return inputs;
}

std::int64_t batch_of(const model::Session &session) {
  const std::vector<HostTensor> &inputs = session.inputs();
  return inputs.empty() || inputs[0].shape.size() < 2 ? 1 : inputs[0].shape[0];
}

report::Timing time_runs(model::Session &session, const std::vector<HostTensor> &inputs,
                         int repeat) {
  constexpr int kWarmUps = 3;
  session.run(inputs);
  for (int i = 0; i < kWarmUps; ++i)
    session.run_again();
  report::Timing timing{.seconds = {}, .batch = batch_of(session)};
  Progress progress("timing");
  for (int i = 0; i < repeat; ++i) {
    progress.show(i, repeat);
    timing.seconds.push_back(session.run_again());
  }
  std::sort(timing.seconds.begin(), timing.seconds.end());
  return timing;
}

} // namespace tilefuse::tool
