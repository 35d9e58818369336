// SPDX-License-Identifier: Apache-2.0
#include "model_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <map>

#include "api/sizes.h"
#include "base/error.h"
#include "base/nearest.h"
#include "pass_options.h"
#include "program/rewrite/rewrite.h"
#include "search/forms/algorithms.h"
#include "search/network/layout_choice.h"

namespace tilefuse::tool {

void add_size_options(CLI::App &verb, onnx_import::Options &sizes) {
  verb.add_option("--batch", sizes.batch, "Binds a symbolic first dimension; 1 when not said")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 32))
      ->type_name("N");
  using Add = void (*)(onnx_import::Options &, const std::string &);
  const auto add = [&](const char *name, Add set, const char *help, const char *type) {
    verb.add_option_function<std::vector<std::string>>(
            name,
            [&sizes, set](const std::vector<std::string> &texts) {
              for (const std::string &text : texts)
                set(sizes, text);
            },
            help)
        ->allow_extra_args(false)
        ->type_name(type);
  };
  add("--dim", api::add_dim, "Binds a dimension by its name: height=320", "NAME=N");
  add("--shape", api::add_shape, "Binds an input's sizes: images=1,3,320,320", "INPUT=N,N");
  add("--value", api::add_values,
      "Gives an integer input that sizes are computed of its values: target=640,640", "INPUT=N,N");
}

void add_fusion_options(CLI::App &verb, search::FusionSettings &settings) {
  verb.add_option_function<std::string>(
          "--fuse",
          [&settings](const std::string &level) {
            settings.level = poly::parse_fuse_level(level).value_or(settings.level);
          },
          "What joins in one kernel: none, pointwise (followers), all (producers too)")
      ->check(CLI::IsMember({"none", "pointwise", "all"}))
      ->type_name("LEVEL");
  verb.add_option("--fuse-quota", settings.quota,
                  "Integer set operations that one decision may spend")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->type_name("N");
}

void add_record_options(CLI::App &verb, api::EngineOptions &options) {
  auto *records =
      verb.add_option("--records", options.records, "Tuning records, a file")->type_name("PATH");
  verb.add_flag("--no-records", options.no_records, "Use no tuning records and keep none")
      ->excludes(records);
}

std::vector<std::string> algorithm_names() {
  std::vector<std::string> names = search::algorithm_names();
  for (std::string &name : program::rewrite_names())
    names.push_back(std::move(name));
  return names;
}

void add_split_option(CLI::App &verb, std::string &split) {
  verb.add_option(
          "--split", split,
          "Whether a sum is computed in parts: auto (by the cost model), none, or so many "
          "parts of an index, \"c:8 y:2\". \"together c:8\": the same launch adds the parts "
          "where it can; \"two c:8\": a second launch does")
      ->type_name("SPLIT");
}

void add_layout_option(CLI::App &verb, std::string &layout) {
  verb.add_option(
          "--activations", layout,
          "Memory layout of activations: auto (chosen for the whole network), nhwc, nchw, "
          "blocked (channels in blocks of a vector), or padded (nhwc, rows at whole vectors)")
      ->check(CLI::IsMember(search::layout_names()))
      ->type_name("LAYOUT");
}

namespace {

// Other tools' words for the same types.
std::string canonical_precision(const std::string &said) {
  static const std::map<std::string, std::string> kAliases = {
      {"fp16", "f16"},  {"half", "f16"}, {"float16", "f16"}, {"bfloat16", "bf16"}, {"i8", "int8"},
      {"INT8", "int8"}, {"FP16", "f16"}, {"BF16", "bf16"},   {"TF32", "tf32"}};
  static const std::vector<std::string> kNames = {"f16", "bf16", "tf32", "int8"};
  if (std::find(kNames.begin(), kNames.end(), said) != kNames.end())
    return said;
  const auto alias = kAliases.find(said);
  if (alias != kAliases.end())
    return alias->second;
  throw CLI::ValidationError(fmt::format("'{}' is none of {}{}", said, fmt::join(kNames, ", "),
                                         did_you_mean(said, kNames)));
}

} // namespace

void add_precision_option(CLI::App &verb, std::string &precision) {
  verb.add_option("--precision", precision,
                  "Store an f32 model in f16 or bf16, allow products in tf32 (CUDA), or compute "
                  "them in int8; as the model says when not given")
      ->transform(canonical_precision)
      ->type_name("TYPE:{f16,bf16,tf32,int8}");
}

void add_calibration_options(CLI::App &verb, std::vector<std::string> &files,
                             api::Options &options) {
  verb.add_option("--calibrate", files,
                  "Pictures or tensors (.npy, .pb) that scales of --precision int8 come from")
      ->type_name("FILE");
  auto *percentile =
      verb.add_option_function<double>(
              "--percentile",
              [&options](const double &value) {
                options.clip = {model::Clipping::Percentile, value};
              },
              "Percentile of |x| that ranges of int8 hold; larger values are clipped (100)")
          ->check(CLI::Range(50.0, 100.0))
          ->type_name("P");
  verb.add_flag_callback(
          "--entropy", [&options] { options.clip.by = model::Clipping::Entropy; },
          "Clip ranges of int8 where least information is lost")
      ->excludes(percentile);
  verb.add_option("--keep-f32", options.keep_f32, "Products that int8 leaves in f32, by node")
      ->type_name("NODE");
}

void check_calibration(const std::vector<std::string> &files, const api::Options &options) {
  if (options.precision == "int8")
    return;
  const char *said = options.clip.by == model::Clipping::Percentile ? "--percentile"
                     : options.clip.by == model::Clipping::Entropy  ? "--entropy"
                     : !options.keep_f32.empty()                    ? "--keep-f32"
                     : !files.empty()                               ? "--calibrate"
                                                                    : nullptr;
  if (said != nullptr)
    throw Error(ErrorCode::Unsupported, fmt::format("{} is for --precision int8", said));
}

void add_gradient_option(CLI::App &verb, std::string &names) {
  verb.add_flag("--gradient{*}", names,
                "Differentiate the program: by every floating input, --gradient=weights by every "
                "constant of several dimensions, or --gradient=A,B by these inputs and constants");
}

void add_threads_option(CLI::App &verb, int &threads) {
  verb.add_option("--threads", threads, "Threads of the cpu device; 0: one per core")
      ->check(CLI::Range(0, 1024))
      ->type_name("N");
}

void add_model_options(CLI::App &verb, ModelOptions &options) {
  verb.add_option("model", options.model, "ONNX model, or a Tile file (.tile)")
      ->required()
      ->type_name("MODEL");
  verb.add_option("--device", options.device,
                  "cpu, cpu:avx2 (or avx512: no more than these instructions), cuda, cuda:N, "
                  "opencl, opencl:P or opencl:P:D (numbers or parts of names)")
      ->type_name("DEVICE");
  add_size_options(verb, options.sizes);
  add_tile_options(verb, options.tile);
  add_threads_option(verb, options.threads);
  auto *cache = verb.add_option("--cache", options.cache, "Kernel cache file")->type_name("PATH");
  verb.add_flag("--no-cache", options.no_cache, "Neither read nor write a kernel cache")
      ->excludes(cache);
  add_record_options(verb, options);
  add_fusion_options(verb, options.fusion);
  verb.add_option("--algorithm", options.algorithm,
                  fmt::format("Force one where it fits: {}", fmt::join(algorithm_names(), ", ")));
  add_split_option(verb, options.split);
  add_layout_option(verb, options.layout);
  add_gradient_option(verb, options.gradient);
  add_precision_option(verb, options.precision);
  verb.add_option_function<std::string>(
          "--dump",
          [&options](const std::string &directory) {
            options.dump = directory;
            options.passes->dump_to(directory);
          },
          "Write the text of every level of every kernel there, and the program after every pass "
          "that changed it")
      ->type_name("DIR");
  add_pass_options(verb, *options.passes);
}

} // namespace tilefuse::tool
