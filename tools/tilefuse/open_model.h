// SPDX-License-Identifier: Apache-2.0
// From a model file to a session: what every verb that runs a model shares. The device is the one
// asked for; without a wish it is the CPU, or OpenCL where this build cannot generate code for the
// CPU and its cache lacks a kernel.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/pass_context.h"
#include "model/session.h"
#include "precision.h"
#include "program/program.h"
#include "runtime/device.h"
#include "runtime/store/kernel_cache.h"
#include "runtime/store/record_store.h"

namespace CLI {
class App;
}

namespace tilefuse::tool {

struct ModelOptions {
  std::string model;
  std::string device; // empty: chosen
  std::string cache;  // empty: default_cache_path
  bool no_cache = false;
  std::string records; // empty: records.sqlite beside the cache
  bool no_records = false;
  std::string dump;
  std::shared_ptr<PassContext> passes = std::make_shared<PassContext>();
  std::string algorithm;
  std::string precision; // empty: as the model says
  std::string gradient;  // empty: the model itself (differentiate.h)
  CalibrationInputs calibration;
  std::string split = "auto";  // of reductions
  std::string layout = "auto"; // of activations
  search::FusionSettings fusion;
  std::optional<std::int64_t> batch;
  int threads = 0; // of the CPU device; 0: one per core
};

// Declares the options above on a verb. `options` must outlive parsing.
void add_model_options(CLI::App &verb, ModelOptions &options);

// --fuse and --fuse-quota alone.
void add_fusion_options(CLI::App &verb, search::FusionSettings &settings);

// --records and --no-records alone.
void add_record_options(CLI::App &verb, ModelOptions &options);

// What --algorithm takes.
std::vector<std::string> algorithm_names();
// --split and --activations alone.
void add_split_option(CLI::App &verb, std::string &split);
void add_layout_option(CLI::App &verb, std::string &layout);

// The model as a program; `shapes` bind symbolic dimensions of inputs.
program::Program import(const ModelOptions &options,
                        const std::map<std::string, program::Shape> &shapes);

// A warning on stderr.
void warn(const std::string &text);

// The device that a selector names. Error{Device} says what there is.
std::unique_ptr<runtime::Device> open_device(const std::string &selector, int threads);
// The kernel cache in force; warnings go to stderr.
std::unique_ptr<runtime::KernelCache> open_cache(const ModelOptions &options);
// The tuning records in force, or a store without any.
std::unique_ptr<runtime::RecordStore> open_records(const ModelOptions &options,
                                                   runtime::RecordStore::Mode mode);

// Members are in the order in which they must be made; they go in the opposite one.
struct OpenedModel {
  std::string choice;    // why this device
  std::string precision; // what was asked for and done; a line, or empty
  double calibration_seconds = 0;
  std::unique_ptr<runtime::Device> device;
  std::unique_ptr<runtime::KernelCache> cache;
  std::unique_ptr<runtime::RecordStore> records;
  std::unique_ptr<model::Session> session;
};

// What the options say of compiling; warnings go to stderr, `progress` is left empty.
model::SessionOptions session_options(const ModelOptions &options, const AppliedPrecision &applied,
                                      runtime::RecordStore *records);

// Compiles what the cache does not have. Shows progress; warnings go to stderr.
OpenedModel open_model(const program::Program &program, const ModelOptions &options);

// Two lines: the device and why it was chosen; launches, kernels compiled, seconds until ready,
// memory.
std::string describe(const OpenedModel &opened);

// "f32[1, 3, 224, 224]"
std::string type_text(const program::HostTensor &tensor);

} // namespace tilefuse::tool
