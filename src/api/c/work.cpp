// SPDX-License-Identifier: Apache-2.0
// The functions of tilefuse.h that work with handles of several kinds.
#include "api/work.h"
#include "api/c/objects.h"
#include "api/c/status.h"
#include "api/json.h"

using namespace tilefuse::api;
using namespace tilefuse::api::c;

namespace {

// What is made of a trainer, or of a run's network at its shapes, as a text of the caller's.
template <class OfTrainer, class OfRun>
tf_status text_of(void *handle, char **text, const OfTrainer &of_trainer, const OfRun &of_run) {
  return guarded([&] {
    const std::shared_ptr<Trainer> trainer = trainers().look(handle);
    const std::shared_ptr<RunObject> run =
        trainer ? nullptr : runs().find(static_cast<tf_run *>(handle));
    need(text, "the place for the text");
    *text =
        copy_text(trainer ? of_trainer(*trainer) : of_run(run->run.network(), run->run.types()));
  });
}

std::string info_of_run(Network &network, const InputTypes &types) {
  const std::lock_guard lock(network.engine().mutex);
  const std::shared_ptr<const Loaded> loaded = network.at(types, {});
  return to_json(*loaded, network.compiled());
}

} // namespace

tf_status tf_info(void *handle, char **json) {
  if (const std::shared_ptr<Engine> engine = devices().look(handle))
    return guarded([&] {
      need(json, "the place for the text");
      *json = copy_text(to_json(*engine));
    });
  return text_of(
      handle, json, [](Trainer &trainer) { return to_json(trainer.info()); }, info_of_run);
}

tf_status tf_time(void *handle, int repeat, tf_progress progress, void *user, char **json) {
  const auto check = [&] {
    if (repeat < 1)
      throw BadArgument{"repeat is below 1"};
  };
  return text_of(
      handle, json,
      [&](Trainer &trainer) {
        check();
        return to_json(trainer.time(repeat, to_progress(progress, user)));
      },
      [&](Network &network, const InputTypes &types) {
        check();
        return to_json(time(network, types, repeat, to_progress(progress, user)));
      });
}

tf_status tf_verify(void *handle, int64_t samples, tf_progress progress, void *user, char **text) {
  const auto check = [&] {
    if (samples < 0)
      throw BadArgument{"samples is below 0"};
  };
  return text_of(
      handle, text,
      [&](Trainer &trainer) {
        check();
        return trainer.verify(samples, to_progress(progress, user));
      },
      [&](Network &network, const InputTypes &types) {
        check();
        return verdict(verify(network, types, samples, to_progress(progress, user)),
                       network.engine().device->name(), samples);
      });
}
