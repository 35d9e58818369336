// SPDX-License-Identifier: Apache-2.0
// The training part of tilefuse.h.
#include "api/c/objects.h"
#include "api/c/status.h"
#include "api/json.h"

using namespace tilefuse::api;
using namespace tilefuse::api::c;

namespace {

Training training_of(const char *recipe, const tf_option *options, size_t count) {
  Training training;
  if (recipe != nullptr)
    training.recipe = read_recipe(recipe);
  set_all(training, options, count);
  return training;
}

} // namespace

tf_status tf_trainer_create(tf_device *device, const char *recipe, const tf_option *options,
                            size_t count, tf_progress progress, void *user, tf_trainer **trainer) {
  return guarded([&] {
    const std::shared_ptr<Engine> engine = devices().find(device);
    need(trainer, "trainer");
    *trainer = trainers().add(std::make_shared<Trainer>(engine, training_of(recipe, options, count),
                                                        to_progress(progress, user)));
  });
}

tf_status tf_trainer_step(tf_trainer *trainer, int64_t steps, tf_progress progress, void *user,
                          char **json) {
  return guarded([&] {
    const std::shared_ptr<Trainer> found = trainers().find(trainer);
    need(json, "json");
    if (steps < 1)
      throw BadArgument{"steps is below 1"};
    *json = copy_text(to_json(found->step(steps, to_progress(progress, user))));
  });
}

tf_status tf_trainer_evaluate(tf_trainer *trainer, tf_progress progress, void *user, char **json) {
  return guarded([&] {
    const std::shared_ptr<Trainer> found = trainers().find(trainer);
    need(json, "json");
    *json = copy_text(to_json(found->evaluate(to_progress(progress, user))));
  });
}

tf_status tf_trainer_save(tf_trainer *trainer, const char *path) {
  return guarded([&] {
    const std::shared_ptr<Trainer> found = trainers().find(trainer);
    need(path, "path");
    found->save(path);
  });
}

tf_status tf_trainer_restore(tf_trainer *trainer, const char *path) {
  return guarded([&] {
    const std::shared_ptr<Trainer> found = trainers().find(trainer);
    need(path, "path");
    found->restore(path);
  });
}

tf_status tf_train(tf_device *device, const char *recipe, const tf_option *options, size_t count,
                   tf_progress progress, void *user, char **json) {
  return guarded([&] {
    const std::shared_ptr<Engine> engine = devices().find(device);
    need(json, "json");
    *json = copy_text(to_json(
        run_to_end(*engine, training_of(recipe, options, count), to_progress(progress, user))));
  });
}
