// SPDX-License-Identifier: Apache-2.0
#include "train/step_program.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/index.h"
#include "model/passes.h"
#include "program/append.h"
#include "program/gradient/gradient.h"
#include "program/host_tensor.h"
#include "tile/tile.h"
#include "train/residual.h"

namespace tilefuse::train {
namespace {

using onnx_import::Declared;
using program::Program;
using program::TensorId;

TensorId add_constant(Program &program, const std::string &name,
                      const std::vector<double> &values) {
  program::HostTensor tensor =
      program::make_host_tensor(name, DType::F32, {static_cast<std::int64_t>(values.size())});
  for (std::size_t i = 0; i < values.size(); ++i)
    program::set(tensor, static_cast<std::int64_t>(i), values[i]);
  return program.add({name, DType::F32, tensor.shape, program::Role::Constant,
                      std::make_shared<const program::Bytes>(std::move(tensor.data))});
}

// The one input of a model that takes pictures.
const Declared &picture_input(const onnx_import::Model &model) {
  if (model.inputs().size() != 1)
    throw Error(ErrorCode::Unsupported,
                fmt::format("training takes models of one input, pictures; this one has {}",
                            model.inputs().size()));
  const Declared &input = model.inputs().front();
  if (input.dims.size() != 4 || !is_float(input.type))
    throw Error(ErrorCode::Unsupported,
                fmt::format("training takes pictures, 4 dimensions of a float type; input '{}' "
                            "has {} of {}",
                            input.name, input.dims.size(), to_string(input.type)));
  return input;
}

bool has_channels_last(const Declared &input, const data::PictureForm &form) {
  return input.dims[1] != form.channels && input.dims[3] == form.channels;
}

program::Shape picture_shape(const Declared &input, const Task &task) {
  const data::PictureForm &form = task.picture;
  const bool last = has_channels_last(input, form);
  const program::Shape shape =
      last ? program::Shape{task.batch, form.height, form.width, form.channels}
           : program::Shape{task.batch, form.channels, form.height, form.width};
  for (std::size_t d = 1; d < shape.size(); ++d)
    if (input.dims[d] > 0 && input.dims[d] != shape[d])
      throw Error(ErrorCode::Shape,
                  fmt::format("input '{}' of the model takes [{}]; batches are [{}]", input.name,
                              fmt::join(input.dims, ", "), fmt::join(shape, ", ")),
                  {}, {"-1 is any size"});
  return shape;
}

std::vector<double> per_channel(const std::vector<double> &given, int channels, double otherwise,
                                const char *what) {
  if (given.empty())
    return std::vector<double>(static_cast<std::size_t>(channels), otherwise);
  if (given.size() != static_cast<std::size_t>(channels))
    throw Error(ErrorCode::Shape, fmt::format("data.{} has {} numbers; pictures have {} channels",
                                              what, given.size(), channels));
  return given;
}

class StepBuilder {
public:
  StepBuilder(const onnx_import::Model &model, const ParameterPool &pool, const Task &task)
      : model_(model), pool_(pool), task_(task) {}

  // The model on pictures, with its loss. Outputs: statistics of the batch, loss, hits, lane sums.
  StepProgram forward(bool is_training) {
    const Declared &input = picture_input(model_);
    onnx_import::Options options;
    options.input_shapes[input.name] = picture_shape(input, task_);
    options.rebinds_batch = true;
    options.outputs = {model_.logits()};
    options.uses_batch_statistics = is_training;
    options.lanes = is_training ? task_.lanes : 1;
    for (const PooledParameter &entry : pool_.entries)
      options.parameters.push_back(entry.parameter.name);
    program_ = model_.program(tile::operators(), options);
    is_mixed_ = is_training && task_.is_mixed;
    teacher_ = is_training ? task_.teacher : nullptr;
    const TensorId logits = program_.outputs.front();
    program_.outputs.erase(program_.outputs.begin());
    const std::size_t lane_sums = program_.inputs.size() - 1 - pool_.entries.size();
    if (is_training)
      add_drawn();
    read_pictures();
    add_loss(logits);
    auto &outputs = program_.outputs;
    std::rotate(outputs.end() - 2 - static_cast<std::ptrdiff_t>(lane_sums), outputs.end() - 2,
                outputs.end());
    program::verify(program_);
    return {.program = std::move(program_),
            .fed = drawn_ ? std::size_t{3} : std::size_t{2},
            .classes = classes_,
            .branches = branches_,
            .lane_sums = lane_sums};
  }

private:
  TensorId add_input(std::string name, DType type, program::Shape shape, std::size_t position) {
    const TensorId id =
        program_.add({std::move(name), type, std::move(shape), program::Role::Input, nullptr});
    program_.inputs.insert(program_.inputs.begin() + static_cast<std::ptrdiff_t>(position), id);
    return id;
  }

  std::vector<TensorId> apply(const std::string &function, const std::vector<TensorId> &args,
                              const tile::Attributes &attributes = {}) {
    return tile::operators().instantiate(function, args, attributes, program_, function);
  }

  // What the host draws for a batch, and the residual branches that some of it is for.
  void add_drawn() {
    std::vector<Branch> branches;
    if (task_.drops_paths) {
      branches = residual_branches(program_, program_.inputs.front());
      if (branches.empty())
        throw Error(ErrorCode::Unsupported, "'parameters.drop_path' leaves residual branches out; "
                                            "the model has no sum of one with what it skips");
    }
    branches_ = static_cast<std::int64_t>(branches.size());
    const std::int64_t mix = is_mixed_ ? task_.picture.height + task_.picture.width : 0;
    if (mix + branches_ == 0)
      return;
    drawn_ = add_input("drawn", DType::F32, {mix + task_.batch * branches_}, 1);
    for (std::int64_t path = branches_ - 1; path >= 0; --path) // those in front stay in place
      drop(branches[at(path)], {{"AT", mix}, {"PATHS", branches_}, {"PATH", path}});
  }

  void drop(const Branch &branch, const tile::Attributes &path) {
    std::vector<program::Statement> &statements = program_.statements;
    const std::size_t before = statements.size();
    const TensorId whole =
        std::get<program::Map>(statements[branch.statement].body).operands[branch.operand];
    const TensorId dropped = apply("drop_path", {whole, *drawn_}, path).front();
    std::get<program::Map>(statements[branch.statement].body).operands[branch.operand] = dropped;
    const auto sum = statements.begin() + static_cast<std::ptrdiff_t>(branch.statement);
    std::rotate(sum, statements.begin() + static_cast<std::ptrdiff_t>(before), statements.end());
  }

  // What was the model's input is computed of bytes.
  void read_pictures() {
    const TensorId image = program_.inputs.front();
    const data::PictureForm &form = task_.picture;
    program_.inputs.erase(program_.inputs.begin());
    const TensorId pictures =
        add_input("pictures", DType::U8, {task_.batch, form.height, form.width, form.channels}, 0);
    const std::size_t before = program_.statements.size();
    numbers_ = pictures;
    if (is_mixed_) {
      const std::vector<TensorId> mixed = apply("mixed", {pictures, *drawn_});
      numbers_ = mixed.front();
      own_share_ = mixed.back();
    }
    add_image(picture_input(model_));
    define(image, before);
  }

  // The pictures as the input of a model has them, but for its type.
  TensorId add_image(const Declared &input) {
    const data::PictureForm &form = task_.picture;
    std::vector<double> factor = per_channel(task_.std, form.channels, 1, "std");
    std::vector<double> addend = per_channel(task_.mean, form.channels, 0, "mean");
    for (std::size_t c = 0; c < factor.size(); ++c) {
      addend[c] = -addend[c] / factor[c];
      factor[c] = 1 / (255 * factor[c]);
    }
    return apply(has_channels_last(input, form) ? "pictures" : "pictures_by_channel",
                 {numbers_, add_constant(program_, "picture factor", factor),
                  add_constant(program_, "picture addend", addend)})
        .front();
  }

  // What the teacher makes of the same pictures, as it is at inference.
  TensorId add_teacher() {
    const Declared &input = picture_input(*teacher_);
    onnx_import::Options options;
    options.input_shapes[input.name] = picture_shape(input, task_);
    options.rebinds_batch = true;
    options.outputs = {teacher_->logits()};
    const Program whole = teacher_->program(tile::operators(), options);
    TensorId image = add_image(input);
    if (input.type != DType::F32)
      image = apply(fmt::format("cast_{}", to_string(input.type)), {image}).front();
    const TensorId scores =
        as_scores(program::append(program_, whole, std::span(&image, 1)).front());
    if (program_[scores].shape.back() != classes_)
      throw Error(ErrorCode::Shape, fmt::format("the teacher tells {} classes apart, the model {}",
                                                program_[scores].shape.back(), classes_));
    return scores;
  }

  // The last statement makes `id`, and those from `begin` on come first.
  void define(TensorId id, std::size_t begin) {
    std::vector<program::Statement> &statements = program_.statements;
    program::Tensor &tensor = program_[id];
    tensor.role = program::Role::Temporary;
    if (tensor.type == DType::F32) {
      statements.back().out = id;
    } else {
      const program::Expr leaf = program::operand(0, DType::F32);
      statements.push_back(
          {id, program::Map{program::cast(leaf, tensor.type), {statements.back().out}}, "cast"});
    }
    std::rotate(statements.begin(), statements.begin() + static_cast<std::ptrdiff_t>(begin),
                statements.end());
  }

  // Logits as f32[batch, classes].
  TensorId as_scores(TensorId logits) {
    const program::Shape shape = program_[logits].shape;
    if ((shape.size() != 2 && shape.size() != 4) || shape.front() != task_.batch ||
        !is_float(program_[logits].type))
      throw Error(ErrorCode::Shape,
                  fmt::format("the model's first output is [{}]; the loss takes [batch, classes] "
                              "of a float type",
                              fmt::join(shape, ", ")));
    TensorId scores = logits;
    if (shape.size() == 4)
      scores = apply("as_rows", {logits}).front();
    return program_[scores].type == DType::F32 ? scores : apply("cast_f32", {scores}).front();
  }

  void add_loss(TensorId logits) {
    const TensorId scores = as_scores(logits);
    classes_ = program_[scores].shape.back();
    const TensorId labels = add_input("labels", DType::I32, {task_.batch}, 1);
    tile::Attributes attributes;
    if (task_.loss.kind == "cross_entropy")
      attributes["SMOOTH"] = task_.loss.smoothing;
    const auto loss_by = [&](TensorId targets) {
      return apply("loss_" + task_.loss.kind, {scores, targets}, attributes).front();
    };
    TensorId loss = loss_by(labels);
    if (is_mixed_) {
      const TensorId others = loss_by(apply("labels_of_others", {labels}).front());
      loss = apply("mixed_loss", {loss, others, own_share_}).front();
    }
    if (teacher_ != nullptr) {
      const TensorId taught =
          apply("teacher_loss", {scores, add_teacher()}, {{"TEMPERATURE", task_.loss.temperature}})
              .front();
      loss = apply("taught_loss", {loss, taught}, {{"SHARE", task_.loss.teacher_share}}).front();
    }
    const TensorId hits = apply("count_hits", {scores, labels}).front();
    program_[loss].name = "loss";
    program_[hits].name = "hits";
    program_.outputs.push_back(loss);
    program_.outputs.push_back(hits);
  }

  const onnx_import::Model &model_;
  const ParameterPool &pool_;
  const Task &task_;
  Program program_;
  bool is_mixed_ = false;
  const onnx_import::Model *teacher_ = nullptr;
  TensorId numbers_{};   // of pictures, mixed where they are
  TensorId own_share_{}; // of a label, where they are mixed
  std::optional<TensorId> drawn_;
  std::int64_t branches_ = 0;
  std::int64_t classes_ = 0;
};

// Gradients come first, those by sums over all lanes last, then what was an output before, statistics
// first: into the pool's order.
void order_outputs(Program &program, const ParameterPool &pool, std::size_t trained,
                   std::size_t lane_sums) {
  const auto begin = program.outputs.begin() + static_cast<std::ptrdiff_t>(trained);
  std::rotate(begin, begin + static_cast<std::ptrdiff_t>(lane_sums), program.outputs.end());
  std::vector<TensorId> ordered;
  std::size_t gradient = 0, statistic = trained;
  for (const PooledParameter &entry : pool.entries)
    ordered.push_back(
        program.outputs.at(is_statistic(entry.parameter.kind) ? statistic++ : gradient++));
  ordered.insert(ordered.end(), program.outputs.begin() + static_cast<std::ptrdiff_t>(statistic),
                 program.outputs.end());
  program.outputs = std::move(ordered);
}

// Each gradient, the first outputs in the pool's order.
void round_gradients(Program &program, const ParameterPool &pool) {
  for (std::size_t p = 0; p < pool.entries.size(); ++p) {
    if (is_statistic(pool.entries[p].parameter.kind))
      continue;
    program::Tensor tensor = program[program.outputs[p]];
    const program::Expr rounded =
        program::call(ScalarOp::RoundBF16, {program::operand(0, tensor.type)});
    const TensorId id = program.add(std::move(tensor));
    program.statements.push_back(
        {id, program::Map{rounded, {std::exchange(program.outputs[p], id)}}, "part"});
  }
}

} // namespace

StepProgram gradients_program(const onnx_import::Model &model, const ParameterPool &pool,
                              const Task &task) {
  const StepProgram step = StepBuilder(model, pool, task).forward(true);
  const Program &forward = step.program;
  const auto sums = static_cast<std::ptrdiff_t>(step.lane_sums);
  program::GradientRequest request{.outputs = {forward.outputs.end()[-2 - sums]},
                                   .keep_outputs = true};
  request.outputs.insert(request.outputs.end(), forward.outputs.end() - sums,
                         forward.outputs.end());
  for (std::size_t p = 0; p < pool.entries.size(); ++p)
    if (!is_statistic(pool.entries[p].parameter.kind))
      request.by.push_back(forward.inputs.at(p + step.fed));
  const std::size_t trained = request.by.size();
  request.by.insert(request.by.end(), forward.inputs.end() - sums, forward.inputs.end());
  const auto differentiate = [&](const Program &in) { return program::gradient(in, request); };
  Program program = model::run_pass(model::kGradient, forward, differentiate);
  order_outputs(program, pool, trained, step.lane_sums);
  // Behind the parameters stood the sums over all lanes.
  const auto scale = program.inputs.end() - 1 - sums;
  std::rotate(scale - sums, scale, scale + 1);
  if (task.rounds_gradients)
    round_gradients(program, pool);
  program.name += " gradients";
  return {.program = model::simplify(std::move(program)),
          .fed = step.fed,
          .classes = step.classes,
          .branches = step.branches,
          .lane_sums = 2 * step.lane_sums};
}

StepProgram evaluation_program(const onnx_import::Model &model, const ParameterPool &pool,
                               const Task &task) {
  return StepBuilder(model, pool, task).forward(false);
}

} // namespace tilefuse::train
