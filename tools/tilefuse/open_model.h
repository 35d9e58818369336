// SPDX-License-Identifier: Apache-2.0
// From a model file to a session: what every verb that runs a model shares, on top of src/api.
#pragma once

#include <memory>
#include <string>

#include "api/engine.h"
#include "api/options.h"
#include "api/source.h"
#include "level_arguments.h"
#include "model/precision.h"
#include "model/session.h"
#include "program/program.h"
#include "report/document.h"

namespace tilefuse::tool {

struct ModelOptions : api::Options, api::EngineOptions {
  std::string model;  // a file: ONNX, or Tile where it ends in .tile
  TileArguments tile; // of a Tile file
  std::string device; // empty: chosen
  model::CalibrationInputs calibration;
};

// The file that is asked for, read.
api::Source read_source(const ModelOptions &options);
// The model as a program; `given` binds open sizes of inputs.
program::Program import(const ModelOptions &options, const api::Given &given = {});

// A warning on stderr.
void warn(const std::string &text);
// Warnings on stderr; the rest is left to what the verbs print.
api::Log log_to_stderr();

// Members are in the order in which they must be made; they go in the opposite one.
struct OpenedModel {
  std::string precision; // what was asked for and done; a line, or empty
  double calibration_seconds = 0;
  std::unique_ptr<api::Engine> engine;
  std::unique_ptr<model::Session> session;
};

// Compiles what the cache does not have. Shows progress; warnings go to stderr.
OpenedModel open_model(const program::Program &program, const ModelOptions &options);

// What was done until it could run: precision, device, layout, kernels, where the start's time went.
report::Document describe(const OpenedModel &opened);

// "f32[1, 3, 224, 224]"
std::string type_text(const program::HostTensor &tensor);

} // namespace tilefuse::tool
