// SPDX-License-Identifier: Apache-2.0
#include "api/source.h"

#include "base/error.h"
#include "model/differentiate.h"
#include "model/passes.h"
#include "tile/tile.h"

namespace tilefuse::api {

using OnnxModel = std::shared_ptr<const onnx_import::Model>;

Source Source::read(const std::string &path) {
  return Source(std::make_shared<const onnx_import::Model>(path));
}

Source Source::parse(std::string_view bytes, const std::string &folder) {
  return Source(std::make_shared<const onnx_import::Model>(bytes, folder));
}

Source Source::tile(std::string text, std::string file, std::string function) {
  return Source(TileText{std::move(text), std::move(file), std::move(function)});
}

Source::Source(From from) : from_(std::move(from)) {
  if (const auto *model = std::get_if<OnnxModel>(&from_)) {
    inputs_ = (*model)->inputs();
    outputs_ = (*model)->outputs();
    return;
  }
  const TileText &of = std::get<TileText>(from_);
  for (const std::string &name : tile::parameters(of.text, of.file, of.function))
    inputs_.push_back(
        {.name = name, .dims = {}, .symbols = {}, .is_typed = false, .is_shaped = false});
}

std::vector<onnx_import::Declared> Source::inputs(const Options &options) const {
  std::vector<onnx_import::Declared> left;
  for (const onnx_import::Declared &input : inputs_)
    if (!options.sizes.input_values.contains(input.name))
      left.push_back(input);
  return left;
}

program::Program Source::undifferentiated(const Options &options, const Given &given) const {
  if (const auto *of = std::get_if<TileText>(&from_))
    return tile::to_program(of->text, of->file, given, options.attributes, of->function);
  onnx_import::Options sizes = options.sizes;
  for (const auto &[name, tensor] : given)
    sizes.input_shapes.emplace(name, tensor.second);
  return std::get<OnnxModel>(from_)->program(tile::operators(), sizes);
}

program::Program Source::program(const Options &options, const Given &given) const {
  const auto read = [&](const program::Program &) { return undifferentiated(options, given); };
  const program::Program program = model::run_pass(model::kImport, {}, read, options.passes.get());
  return options.gradient.empty()
             ? program
             : model::differentiate(program, options.gradient, options.passes.get());
}

std::vector<onnx_import::Gap> Source::gaps(const Options &options) const {
  if (const auto *model = std::get_if<OnnxModel>(&from_))
    return (*model)->gaps(tile::operators(), options.sizes);
  undifferentiated(options, {});
  return {};
}

const onnx_import::Model &Source::model_to_quantize() const {
  const auto *model = std::get_if<OnnxModel>(&from_);
  if (model == nullptr)
    throw Error(ErrorCode::Unsupported,
                "precision int8 is for ONNX models, this is a Tile function", {},
                {"a Tile function rounds by itself: ops/quantized.tile"});
  return **model;
}

Source Source::with_folded_weights() const {
  return Source(std::make_shared<const onnx_import::Model>(
      model_to_quantize().with_folded_weights(tile::operators())));
}

onnx_import::RoundingPlan Source::plan_rounding(const std::set<std::string> &keep) const {
  return model_to_quantize().plan_rounding(keep);
}

Source Source::quantized(const onnx_import::RoundingPlan &plan, const Ranges &ranges) const {
  return Source(
      std::make_shared<const onnx_import::Model>(model_to_quantize().quantized(plan, ranges)));
}

void Source::write(const std::string &path) const { model_to_quantize().write(path); }

} // namespace tilefuse::api
