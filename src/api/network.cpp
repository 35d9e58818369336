// SPDX-License-Identifier: Apache-2.0
#include "api/network.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/stopwatch.h"

namespace tilefuse::api {
namespace {

using onnx_import::Declared;

bool is_open(const Declared &input) {
  return !input.is_shaped || !input.is_typed ||
         std::any_of(input.dims.begin(), input.dims.end(), [](std::int64_t d) { return d < 0; });
}

// The names of inputs with an open size.
std::string open_inputs(const std::vector<Declared> &inputs) {
  std::string names;
  for (const Declared &input : inputs)
    if (is_open(input))
      names += (names.empty() ? "" : ", ") + input.name;
  return names;
}

Declared describe(const program::Tensor &tensor) {
  return {.name = tensor.name,
          .type = tensor.type,
          .dims = tensor.shape,
          .symbols = std::vector<std::string>(tensor.shape.size())};
}

// What options say of an input.
void bind(Declared &input, const Options &options) {
  const onnx_import::Options &sizes = options.sizes;
  const auto type = options.types.find(input.name);
  if (!input.is_typed && type != options.types.end()) {
    input.type = type->second;
    input.is_typed = true;
  }
  const auto shape = sizes.input_shapes.find(input.name);
  if (!input.is_shaped && shape != sizes.input_shapes.end()) {
    input.dims = shape->second;
    input.symbols.resize(input.dims.size());
    input.is_shaped = true;
  }
  for (std::size_t d = 0; d < input.dims.size(); ++d) {
    if (input.dims[d] >= 0)
      continue;
    const auto named = sizes.dims.find(input.symbols[d]);
    if (shape != sizes.input_shapes.end() && d < shape->second.size())
      input.dims[d] = shape->second[d];
    else if (named != sizes.dims.end())
      input.dims[d] = named->second;
    else if (d == 0 && sizes.batch)
      input.dims[d] = *sizes.batch;
  }
}

} // namespace

std::string to_text(const std::vector<Declared> &inputs, const InputTypes &types) {
  std::string text;
  for (std::size_t i = 0; i < types.size(); ++i)
    text += fmt::format("{}{} {}[{}]", i == 0 ? "" : ", ", inputs.at(i).name,
                        to_string(types[i].first), fmt::join(types[i].second, ", "));
  return text;
}

Network::Network(std::shared_ptr<Engine> engine, std::shared_ptr<const Source> source,
                 Options options, model::CalibrationInputs calibration, const Progress &progress)
    : engine_(std::move(engine)), source_(std::move(source)), options_(std::move(options)),
      calibration_(std::move(calibration)), inputs_(source_->inputs(options_)),
      outputs_(source_->outputs()), loaded_(static_cast<std::size_t>(options_.kept)) {
  for (Declared &input : inputs_)
    bind(input, options_);
  if (const std::string open = open_inputs(inputs_); !open.empty()) {
    if (!options_.gradient.empty())
      throw Error(ErrorCode::Shape, "a gradient needs every size of the model", {},
                  {"those of these inputs are open: " + open});
    return;
  }
  const std::lock_guard lock(engine_->mutex);
  InputTypes types;
  for (const Declared &input : inputs_)
    types.emplace_back(input.type, input.dims);
  const program::Program program = source_->program(options_, given(types));
  fix(program);
  loaded_.insert(fixed_types_, load(program, fixed_types_, progress));
}

Network::~Network() {
  const std::lock_guard lock(engine_->mutex);
  loaded_.clear();
}

// The ports are those of the program, which a gradient has more of.
void Network::fix(const program::Program &program) {
  inputs_.clear();
  outputs_.clear();
  for (const program::TensorId id : program.inputs) {
    inputs_.push_back(describe(program[id]));
    fixed_types_.emplace_back(program[id].type, program[id].shape);
  }
  for (const program::TensorId id : program.outputs)
    outputs_.push_back(describe(program[id]));
  is_fixed_ = true;
}

Given Network::given(const InputTypes &types) const {
  Given named;
  for (const Declared &input : source_->inputs(options_))
    for (std::size_t i = 0; i < types.size(); ++i)
      if (inputs_.at(i).name == input.name)
        named[input.name] = types[i];
  return named;
}

model::AppliedPrecision Network::prepare(const InputTypes &types) const {
  return with_precision(*source_, source_->program(options_, given(types)), options_, calibration_,
                        *engine_);
}

std::shared_ptr<const Loaded> Network::at(const InputTypes &types, const Progress &progress) {
  if (const auto *known = loaded_.find(types))
    return *known;
  return loaded_.insert(types, load(source_->program(options_, given(types)), types, progress));
}

std::shared_ptr<const Loaded> Network::load(const program::Program &program,
                                            const InputTypes &types, const Progress &progress) {
  const Stopwatch watch;
  const model::AppliedPrecision applied =
      with_precision(*source_, program, options_, calibration_, *engine_);
  model::SessionOptions session =
      session_options(options_, applied, engine_->records.get(),
                      [this](const std::string &text) { engine_->warn(text); });
  session.progress = checked(progress);
  auto loaded = std::make_shared<Loaded>(
      Loaded{applied.summary,
             model::Resident(applied.program, *engine_->device, *engine_->cache, session)});
  const model::SessionStats &stats = loaded->resident.stats();
  engine_->log(LogLevel::Info,
               fmt::format("compiled for {} in {:.3f} s: {} kernels, {} of them new",
                           to_text(inputs_, types), watch.seconds(), stats.kernels,
                           stats.compiled));
  return loaded;
}

void Network::forget() {
  loaded_.clear();
  ++edition_;
}

} // namespace tilefuse::api
