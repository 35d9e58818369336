// SPDX-License-Identifier: Apache-2.0
#include "api/c/objects.h"

namespace tilefuse::api::c {

Handles<tf_device, Engine> &devices() {
  static auto *all = new Handles<tf_device, Engine>("tf_device");
  return *all;
}

Handles<tf_model, Model> &models() {
  static auto *all = new Handles<tf_model, Model>("tf_model");
  return *all;
}

Handles<tf_compiled, Compiled> &compiled_models() {
  static auto *all = new Handles<tf_compiled, Compiled>("tf_compiled");
  return *all;
}

Handles<tf_run, RunObject> &runs() {
  static auto *all = new Handles<tf_run, RunObject>("tf_run");
  return *all;
}

Handles<tf_trainer, Trainer> &trainers() {
  static auto *all = new Handles<tf_trainer, Trainer>("tf_trainer");
  return *all;
}

Progress to_progress(tf_progress progress, void *user) {
  if (progress == nullptr)
    return {};
  return [progress, user](int done, int total) { return progress(user, done, total) == 0; };
}

} // namespace tilefuse::api::c
