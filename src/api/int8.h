// SPDX-License-Identifier: Apache-2.0
// Precision int8 of an ONNX model: it is run in f32 on given inputs, written again with
// QuantizeLinear and DequantizeLinear where values are rounded (onnx/quantize.h), and from there on
// it is a quantised model like any other.
#pragma once

#include <string>
#include <vector>

#include "api/engine.h"
#include "api/options.h"
#include "api/source.h"
#include "model/calibrate.h"
#include "model/precision.h"

namespace tilefuse::api {

class Int8 {
public:
  // Calibrates with inputs of the sizes that `program`, the source's own, has. Error{Unsupported}
  // for a Tile function, a gradient, a model without products or one that is quantised already.
  Int8(const Source &source, const program::Program &program, const Options &options,
       const model::CalibrationInputs &calibration, const Engine &engine);

  // The quantised model.
  const Source &source() const { return source_; }
  model::AppliedPrecision applied() const;

  // How far results are from f32 where one product alone is quantised, for each of them.
  struct Sensitivity {
    std::string product;
    model::Accuracy accuracy;
  };
  std::vector<Sensitivity> sensitivity(const Progress &progress) const;
  // Of all products together.
  model::Accuracy accuracy() const;

private:
  program::Program import(const Source &source) const;
  model::Accuracy accuracy(const Source &source) const;

  Source from_;
  const Engine &engine_;
  const model::CalibrationInputs &calibration_;
  Options options_; // in f32
  Given given_;
  onnx_import::RoundingPlan plan_;
  Ranges ranges_;
  model::Runs f32_;
  Source source_;
};

// A program in the arithmetic that options ask for; `program` is the source's. int8 takes its scales
// from `calibration`.
model::AppliedPrecision with_precision(const Source &source, const program::Program &program,
                                       const Options &options,
                                       const model::CalibrationInputs &calibration,
                                       const Engine &engine);

} // namespace tilefuse::api
