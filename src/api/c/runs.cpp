// SPDX-License-Identifier: Apache-2.0
// The runs' part of tilefuse.h, and the work that is done at their shapes alone.
#include "api/c/objects.h"
#include "api/c/status.h"
#include "api/json.h"
#include "api/work.h"

using namespace tilefuse::api;
using namespace tilefuse::api::c;

namespace {

// What a function makes of a run's network at its shapes, as a text of the caller's.
template <class Make> tf_status text_of(tf_run *run, char **text, const Make &make) {
  return guarded([&] {
    const std::shared_ptr<RunObject> found = runs().find(run);
    need(text, "the place for the text");
    *text = copy_text(make(found->run.network(), found->run.types()));
  });
}

} // namespace

tf_status tf_run_create(tf_compiled *compiled, tf_run **run) {
  return guarded([&] {
    const std::shared_ptr<Compiled> found = compiled_models().find(compiled);
    need(run, "run");
    *run = runs().add(std::make_shared<RunObject>(found->network));
  });
}

tf_status tf_run_input(tf_run *run, size_t index, const DLTensor *tensor) {
  return guarded([&] {
    const std::shared_ptr<RunObject> found = runs().find(run);
    found->run.bind_input(index, to_place(tensor, found->run.network().engine()));
  });
}

tf_status tf_run_bind_output(tf_run *run, size_t index, const DLTensor *tensor) {
  return guarded([&] {
    const std::shared_ptr<RunObject> found = runs().find(run);
    if (tensor == nullptr)
      found->run.release_output(index);
    else
      found->run.bind_output(index, to_place(tensor, found->run.network().engine()));
  });
}

tf_status tf_run_prepare(tf_run *run, tf_progress progress, void *user, size_t *outputs) {
  return guarded([&] {
    const std::shared_ptr<RunObject> found = runs().find(run);
    found->run.prepare(to_progress(progress, user));
    if (outputs != nullptr)
      *outputs = found->run.outputs();
  });
}

tf_status tf_run_execute(tf_run *run) {
  return guarded([&] { runs().find(run)->run.execute(); });
}

tf_status tf_run_start(tf_run *run, tf_done done, void *user) {
  return guarded([&] {
    runs().find(run)->run.start([done, user](std::exception_ptr failure) {
      if (done != nullptr)
        done(user, guarded([&] {
               if (failure)
                 std::rethrow_exception(failure);
             }));
    });
  });
}

tf_status tf_run_enqueue(tf_run *run, void *queue, void **event) {
  return guarded([&] { runs().find(run)->run.enqueue(queue, event); });
}

tf_status tf_run_wait(tf_run *run) {
  return guarded([&] { runs().find(run)->run.wait(); });
}

tf_status tf_run_output(tf_run *run, size_t index, DLTensor *tensor) {
  return guarded([&] {
    const std::shared_ptr<RunObject> found = runs().find(run);
    need(tensor, "tensor");
    const TensorPlace place = found->run.output(index);
    if (found->shown.size() < found->run.outputs())
      found->shown.resize(found->run.outputs());
    found->shown[index] = place;
    *tensor = to_dltensor(found->shown[index], found->run.network().engine());
  });
}

tf_status tf_run_statistics(tf_run *run, double *seconds, int64_t *copies, int64_t *copied_bytes) {
  return guarded([&] {
    const std::shared_ptr<RunObject> found = runs().find(run);
    if (seconds != nullptr)
      *seconds = found->run.seconds();
    if (copies != nullptr)
      *copies = found->run.copies().count;
    if (copied_bytes != nullptr)
      *copied_bytes = found->run.copies().bytes;
  });
}

tf_status tf_explain(tf_run *run, const char *layer, char **text) {
  return text_of(run, text, [&](Network &network, const InputTypes &types) {
    return explain(network, types, layer == nullptr ? "" : layer);
  });
}

tf_status tf_tune(tf_run *run, double seconds, tf_progress progress, void *user, char **text) {
  return text_of(run, text, [&](Network &network, const InputTypes &types) {
    if (!(seconds > 0))
      throw BadArgument{"seconds is not above 0"};
    return summary(tune(network, types, seconds, to_progress(progress, user)));
  });
}
