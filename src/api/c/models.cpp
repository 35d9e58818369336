// SPDX-License-Identifier: Apache-2.0
// The models' and compiling part of tilefuse.h.
#include "api/c/objects.h"
#include "api/c/status.h"
#include "api/json.h"

using namespace tilefuse::api;
using namespace tilefuse::api::c;

namespace {

void give(const InfoList &list, const tf_tensor_info **infos, size_t *count) {
  need(infos, "infos");
  need(count, "count");
  *infos = list.data();
  *count = list.size();
}

tf_model *add_model(Source source) {
  return models().add(std::make_shared<Model>(std::move(source)));
}

tilefuse::model::CalibrationInputs calibration_of(Model &model) {
  const std::lock_guard lock(model.mutex);
  return {model.calibration, std::to_string(model.calibration.size()) + " runs of calibration"};
}

} // namespace

tf_status tf_model_read(const char *path, tf_model **model) {
  return guarded([&] {
    need(path, "path");
    need(model, "model");
    *model = add_model(Source::read(path));
  });
}

tf_status tf_model_parse(const void *bytes, size_t size, const char *folder, tf_model **model) {
  return guarded([&] {
    need(bytes, "bytes");
    need(model, "model");
    *model = add_model(
        Source::parse({static_cast<const char *>(bytes), size}, folder == nullptr ? "" : folder));
  });
}

tf_status tf_model_from_tile(const char *text, const char *function, tf_model **model) {
  return guarded([&] {
    need(text, "text");
    need(model, "model");
    *model = add_model(Source::tile(text, "<tile>", function == nullptr ? "" : function));
  });
}

tf_status tf_model_inputs(tf_model *model, const tf_tensor_info **infos, size_t *count) {
  return guarded([&] { give(models().find(model)->inputs, infos, count); });
}

tf_status tf_model_check(tf_model *model, const tf_option *options, size_t count, char **json) {
  return guarded([&] {
    const std::shared_ptr<Model> found = models().find(model);
    need(json, "json");
    Options wanted;
    set_all(wanted, options, count);
    *json = copy_text(tilefuse::api::to_json(found->source->gaps(wanted)));
  });
}

tf_status tf_model_calibrate(tf_model *model, const DLTensor *inputs, size_t count) {
  return guarded([&] {
    const std::shared_ptr<Model> found = models().find(model);
    need(inputs, "inputs");
    if (count != found->inputs.size())
      throw BadArgument{std::to_string(count) + " inputs were given, the model takes " +
                        std::to_string(found->inputs.size())};
    std::vector<tilefuse::program::HostTensor> run;
    for (size_t i = 0; i < count; ++i)
      run.push_back(to_host_tensor(inputs[i], found->inputs.data()[i].name));
    const std::lock_guard lock(found->mutex);
    found->calibration.push_back(std::move(run));
  });
}

tf_status tf_compile(tf_model *model, tf_device *device, const tf_option *options, size_t count,
                     tf_progress progress, void *user, tf_compiled **compiled) {
  return guarded([&] {
    const std::shared_ptr<Model> from = models().find(model);
    const std::shared_ptr<Engine> engine = devices().find(device);
    need(compiled, "compiled");
    Options wanted;
    set_all(wanted, options, count);
    auto network = std::make_shared<Network>(engine, from->source, wanted, calibration_of(*from),
                                             to_progress(progress, user));
    *compiled = compiled_models().add(std::make_shared<Compiled>(std::move(network)));
  });
}

tf_status tf_compiled_inputs(tf_compiled *compiled, const tf_tensor_info **infos, size_t *count) {
  return guarded([&] { give(compiled_models().find(compiled)->inputs, infos, count); });
}

tf_status tf_compiled_outputs(tf_compiled *compiled, const tf_tensor_info **infos, size_t *count) {
  return guarded([&] { give(compiled_models().find(compiled)->outputs, infos, count); });
}
