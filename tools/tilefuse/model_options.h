// SPDX-License-Identifier: Apache-2.0
// The options of verbs that take a model, as command lines spell them. What is set must outlive
// parsing.
#pragma once

#include <string>
#include <vector>

#include "api/options.h"
#include "open_model.h"

namespace CLI {
class App;
}

namespace tilefuse::tool {

// The model and all options below.
void add_model_options(CLI::App &verb, ModelOptions &options);

// --batch, --dim, --shape and --value.
void add_size_options(CLI::App &verb, onnx_import::Options &sizes);
// --fuse and --fuse-quota.
void add_fusion_options(CLI::App &verb, search::FusionSettings &settings);
// --records and --no-records.
void add_record_options(CLI::App &verb, api::EngineOptions &options);
// What --algorithm takes.
std::vector<std::string> algorithm_names();
// --split, --activations, --precision, --gradient, --threads alone.
void add_split_option(CLI::App &verb, std::string &split);
void add_layout_option(CLI::App &verb, std::string &layout);
void add_precision_option(CLI::App &verb, std::string &precision);
// `names` is empty where it is not given, "*" where it is given without names.
void add_gradient_option(CLI::App &verb, std::string &names);
void add_threads_option(CLI::App &verb, int &threads);
// --calibrate, --percentile, --entropy and --keep-f32.
void add_calibration_options(CLI::App &verb, std::vector<std::string> &files,
                             api::Options &options);
// Error{Unsupported} where one of them is given without int8.
void check_calibration(const std::vector<std::string> &files, const api::Options &options);

} // namespace tilefuse::tool
