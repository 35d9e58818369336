// SPDX-License-Identifier: Apache-2.0
// What the handles of the C interface stand for.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "api/c/handles.h"
#include "api/c/status.h"
#include "api/c/tensors.h"
#include "api/network.h"
#include "api/run.h"
#include "api/training.h"

namespace tilefuse::api::c {

struct Model {
  explicit Model(Source from)
      : source(std::make_shared<const Source>(std::move(from))), inputs(source->inputs({})) {}
  std::shared_ptr<const Source> source;
  InfoList inputs;
  std::mutex mutex; // of calibration
  model::Runs calibration;
};

struct Compiled {
  explicit Compiled(std::shared_ptr<Network> of)
      : network(std::move(of)), inputs(network->inputs()), outputs(network->outputs()) {}
  std::shared_ptr<Network> network;
  InfoList inputs;
  InfoList outputs;
};

struct RunObject {
  explicit RunObject(std::shared_ptr<Network> network) : run(std::move(network)) {}
  Run run;
  std::vector<TensorPlace> shown; // whose shapes tf_run_output() gave
};

// Never destroyed: threads may outlive main.
Handles<tf_device, Engine> &devices();
Handles<tf_model, Model> &models();
Handles<tf_compiled, Compiled> &compiled_models();
Handles<tf_run, RunObject> &runs();
Handles<tf_trainer, Trainer> &trainers();

// Sets options from their texts.
template <class To> void set_all(To &to, const tf_option *options, std::size_t count) {
  if (count > 0)
    need(options, "options");
  for (std::size_t i = 0; i < count; ++i) {
    need(options[i].key, "an option's key");
    need(options[i].value, "an option's value");
    set(to, options[i].key, options[i].value);
  }
}

// The callback of C, or none.
Progress to_progress(tf_progress progress, void *user);

} // namespace tilefuse::api::c
