// SPDX-License-Identifier: Apache-2.0
#include "api/int8.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "model/passes.h"
#include "model/session.h"
#include "program/precision/integer_share.h"

namespace tilefuse::api {
namespace {

Given given_of(const program::Program &program) {
  Given given;
  for (const program::TensorId id : program.inputs)
    given[program[id].name] = {program[id].type, program[id].shape};
  return given;
}

Options in_f32(Options options) {
  if (!options.gradient.empty())
    throw Error(ErrorCode::Unsupported, "precision int8 has no gradients", {},
                {"leave out the gradient, or the precision"});
  options.precision.clear();
  return options;
}

std::string clipped(const model::Clip &clip) {
  switch (clip.by) {
  case model::Clipping::None:
    return "the whole range of each tensor";
  case model::Clipping::Percentile:
    return fmt::format("the {:g}th percentile of each tensor's magnitudes", clip.percentile);
  case model::Clipping::Entropy:
    return "the range of each tensor that loses least information";
  }
  return "";
}

} // namespace

Int8::Int8(const Source &source, const program::Program &program, const Options &options,
           const model::CalibrationInputs &calibration, const Engine &engine)
    : from_(source.with_folded_weights()), engine_(engine), calibration_(calibration),
      options_(in_f32(options)), given_(given_of(program)),
      plan_(from_.plan_rounding(options.keep_f32)), source_(from_) {
  Options probe = options_;
  std::vector<std::string> &names = probe.sizes.outputs;
  for (const program::TensorId id : program.outputs)
    names.push_back(program[id].name);
  for (const std::string &value : plan_.values)
    if (std::find(names.begin(), names.end(), value) == names.end())
      names.push_back(value);
  model::Calibration found =
      model::calibrate(from_.program(probe, given_), program.outputs.size(), calibration.runs,
                       options.clip, *engine.device, *engine.cache);
  for (std::size_t k = 0; k < names.size(); ++k)
    ranges_[names[k]] = found.ranges[k];
  f32_ = std::move(found.outputs);
  source_ = from_.quantized(plan_, ranges_);
}

program::Program Int8::import(const Source &source) const {
  return source.program(options_, given_);
}

model::AppliedPrecision Int8::applied() const {
  model::AppliedPrecision applied{
      .program = model::simplify(import(source_), options_.passes.get()), .is_simplified = true};
  const program::IntegerShare share = program::integer_share(applied.program);
  const std::string scales = fmt::format("scales   from {}; {}, per channel of weights\n",
                                         calibration_.origin, clipped(options_.clip));
  applied.summary = "precision int8: " + program::summary(share) + scales;
  applied.text = "precision int8: " + program::to_text(share);
  for (const std::string &kept : plan_.kept)
    applied.text += "  f32: " + kept + "\n";
  applied.text += scales;
  applied.f32 = f32_;
  return applied;
}

model::Accuracy Int8::accuracy(const Source &source) const {
  model::Session session(import(source), *engine_.device, *engine_.cache, {});
  model::Runs got;
  for (const std::vector<program::HostTensor> &run : calibration_.runs)
    got.push_back(session.run(run));
  return model::accuracy(got, f32_);
}

model::Accuracy Int8::accuracy() const { return accuracy(source_); }

std::vector<Int8::Sensitivity> Int8::sensitivity(const Progress &progress) const {
  std::vector<Sensitivity> result;
  for (const std::string &product : plan_.products) {
    checked(progress)(static_cast<int>(result.size()), static_cast<int>(plan_.products.size()));
    std::set<std::string> others(plan_.products.begin(), plan_.products.end());
    others.insert(options_.keep_f32.begin(), options_.keep_f32.end());
    others.erase(product);
    const Source one = from_.quantized(from_.plan_rounding(others), ranges_);
    result.push_back({product, accuracy(one)});
  }
  return result;
}

model::AppliedPrecision with_precision(const Source &source, const program::Program &program,
                                       const Options &options,
                                       const model::CalibrationInputs &calibration,
                                       const Engine &engine) {
  return options.precision == "int8"
             ? Int8(source, program, options, calibration, engine).applied()
             : model::apply_precision(program, options.precision, engine.device->target(),
                                      options.passes.get());
}

} // namespace tilefuse::api
