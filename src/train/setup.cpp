// SPDX-License-Identifier: Apache-2.0
#include "train/setup.h"

#include <algorithm>
#include <filesystem>

#include "base/read_file.h"
#include "data/open.h"
#include "model/precision.h"
#include "onnx/head.h"
#include "train/initial_values.h"

namespace tilefuse::train {
namespace {

const Recipe &checked(const Recipe &recipe) {
  check(recipe);
  return recipe;
}

// The model that the recipe names, with a new head where it says so.
std::shared_ptr<const Buffer> model_bytes(const Recipe &recipe) {
  if (recipe.parameters.classes <= 0)
    return std::make_shared<const Buffer>(read_large_file(recipe.model));
  const std::string model =
      onnx_import::replace_head(recipe.model, recipe.parameters.classes, recipe.seed).model;
  Buffer bytes(model.size());
  std::copy(model.begin(), model.end(), bytes.chars().begin());
  return std::make_shared<const Buffer>(std::move(bytes));
}

std::string folder_of(const Recipe &recipe) {
  return std::filesystem::path(recipe.model).parent_path().string();
}

data::Mixing mixing_of(const Recipe &recipe) {
  return {.mixup = recipe.augment.mixup, .cutmix = recipe.augment.cutmix};
}

} // namespace

Task task_of(const Recipe &recipe, const data::Source &source) {
  return {.batch = recipe.steps.batch,
          .picture = source.form(),
          .mean = recipe.data.mean,
          .std = recipe.data.std,
          .loss = recipe.loss,
          .rounds_gradients = recipe.steps.parts == "bf16",
          .is_mixed = mixing_of(recipe).is_on(),
          .drops_paths = recipe.parameters.drop_path > 0,
          .lanes = recipe.parameters.batch_norm == "synced" ? recipe.steps.lanes : 1};
}

std::unique_ptr<data::Source> open_pictures(const Recipe &recipe, const std::string &text) {
  data::OpenOptions options;
  if (recipe.data.side > 0)
    options.side = static_cast<int>(recipe.data.side);
  return text.empty() ? nullptr : data::open_source(text, options);
}

Setup::Setup(const Recipe &given)
    : recipe(checked(given)), bytes(model_bytes(recipe)), model(bytes, folder_of(recipe)),
      teacher(recipe.loss.teacher.empty()
                  ? nullptr
                  : std::make_unique<onnx_import::Model>(recipe.loss.teacher)),
      training(open_pictures(recipe, recipe.data.train)),
      test(open_pictures(recipe, recipe.data.test)),
      pool(make_pool(chosen(model, recipe.parameters))), task(task_of(recipe, *training)) {
  task.teacher = teacher.get();
  step_program = gradients_program(model, pool, task);
  const std::string precision = recipe.precision == "f32" ? "" : recipe.precision;
  step_program.program =
      model::in_precision(step_program.program, precision, nullptr, true).program;
}

std::int64_t Setup::steps() const {
  const std::int64_t all = steps_per_epoch() * recipe.steps.epochs;
  return recipe.steps.limit > 0 ? std::min(all, recipe.steps.limit) : all;
}

std::string Setup::folder() const { return folder_of(recipe); }

program::HostTensor Setup::initial(const onnx_import::Parameter &parameter) const {
  if (!recipe.parameters.init.empty())
    return draw(parameter, recipe.seed);
  program::HostTensor value = model.parameter(parameter.name);
  if (value.type != DType::F32)
    value = program::convert(value, DType::F32);
  return value;
}

std::optional<std::span<const std::byte>>
Setup::initial_in_place(const onnx_import::Parameter &parameter) const {
  return recipe.parameters.init.empty() && parameter.type == DType::F32
             ? model.parameter_in_place(parameter.name)
             : std::nullopt;
}

data::LoaderOptions loader_options(const Recipe &recipe, const StepRange &range, int workers,
                                   int rank, std::int64_t branches) {
  const std::int64_t own = recipe.steps.lanes / workers;
  return {.batch = recipe.steps.batch,
          .is_training = true,
          .seed = recipe.seed,
          .augment = {.pad_crop = recipe.augment.pad_crop, .flip = recipe.augment.flip},
          .mixing = mixing_of(recipe),
          .paths = {.rate = recipe.parameters.drop_path, .branches = branches},
          .threads = recipe.data.threads,
          .first_step = range.first,
          .steps = range.steps,
          .share = {.round = recipe.steps.lanes, .first = rank * own, .count = own},
          .skip_damaged = recipe.data.skip_damaged};
}

} // namespace tilefuse::train
