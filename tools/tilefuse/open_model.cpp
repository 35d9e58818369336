// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "base/error.h"
#include "base/stopwatch.h"
#include "differentiate.h"
#include "model/passes.h"
#include "onnx/import.h"
#include "open_model.h"
#include "pass_options.h"
#include "paths.h"
#include "precision.h"
#include "program/rewrite/rewrite.h"
#include "progress.h"
#include "runtime/make_device.h"
#include "search/forms/algorithms.h"
#include "search/network/layout_choice.h"
#include "table.h"
#include "target/device_rows.h"
#include "target/target.h"
#include "tile/tile.h"

namespace tilefuse::tool {
namespace {

model::Accuracy accuracy_of(model::Session &session, const model::Runs &inputs,
                            const model::Runs &f32) {
  model::Runs got;
  for (const std::vector<program::HostTensor> &run : inputs)
    got.push_back(session.run(run));
  return model::accuracy(got, f32);
}

OpenedModel open_on(const program::Program &program, const ModelOptions &options,
                    const std::string &selector, std::string choice) {
  OpenedModel opened;
  opened.choice = std::move(choice);
  opened.device = open_device(selector, options.threads);
  opened.cache = open_cache(options);
  opened.records = open_records(options, runtime::RecordStore::Mode::Existing);
  const Stopwatch calibration;
  const AppliedPrecision applied =
      options.precision == "int8" ? apply_int8(program, options.calibration, *opened.device,
                                               *opened.cache, options.passes.get())
                                  : apply_precision(program, options.precision,
                                                    opened.device->target(), options.passes.get());
  opened.precision = applied.summary;
  opened.calibration_seconds = applied.f32.empty() ? 0 : calibration.seconds();
  Progress progress("compiling");
  model::SessionOptions session = session_options(options, applied, opened.records.get());
  session.progress = [&](int done, int total) { progress.show(done, total); };
  opened.session =
      std::make_unique<model::Session>(applied.program, *opened.device, *opened.cache, session);
  if (!applied.f32.empty())
    opened.precision +=
        to_text(accuracy_of(*opened.session, options.calibration.runs, applied.f32));
  return opened;
}

// No wish: the CPU, where the cache has every kernel or code can be generated for it; else OpenCL.
OpenedModel open_anywhere(const program::Program &program, const ModelOptions &options) {
  std::string missing;
  try {
    return open_on(program, options, "cpu", "default");
  } catch (const Error &error) {
    if (error.code() != ErrorCode::Device)
      throw;
    missing = error.message();
  }
  try {
    return open_on(program, options, "opencl", "because of the cpu: " + missing);
  } catch (const Error &error) {
    if (error.code() != ErrorCode::Device)
      throw;
    throw Error(ErrorCode::Device, fmt::format("no device can run this model; cpu: {}; opencl: {}",
                                               missing, error.message()));
  }
}

} // namespace

void warn(const std::string &text) {
  std::fprintf(stderr, "tilefuse: warning: %s\n", printable(text).c_str());
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

void add_record_options(CLI::App &verb, ModelOptions &options) {
  auto *records =
      verb.add_option("--records", options.records, "Tuning records, a file")->type_name("PATH");
  verb.add_flag("--no-records", options.no_records, "Use no tuning records and keep none")
      ->excludes(records);
}

model::SessionOptions session_options(const ModelOptions &options, const AppliedPrecision &applied,
                                      runtime::RecordStore *records) {
  return {.algorithm = options.algorithm,
          .split = options.split,
          .layout = options.layout,
          .fusion = options.fusion,
          .tf32 = applied.tf32,
          .records = records,
          .is_simplified = applied.is_simplified,
          .passes = options.passes.get(),
          .dump_directory = options.dump,
          .warn = warn};
}

std::vector<std::string> algorithm_names() {
  std::vector<std::string> names = search::algorithm_names();
  for (std::string &name : program::rewrite_names())
    names.push_back(std::move(name));
  return names;
}

void add_split_option(CLI::App &verb, std::string &split) {
  verb.add_option("--split", split,
                  "Reductions in parts: auto (by the cost model), none, or parts of indices, "
                  "\"c:8 y:2\"; behind \"together\" the same launch joins them where it can, "
                  "behind \"two\" another one")
      ->type_name("SPLIT");
}

void add_layout_option(CLI::App &verb, std::string &layout) {
  verb.add_option("--activations", layout,
                  "How they lie between kernels: auto (by the cost model, for the whole network), "
                  "nhwc, nchw, "
                  "or blocked (channels in blocks of a vector)")
      ->check(CLI::IsMember(search::layout_names()))
      ->type_name("LAYOUT");
}

void add_model_options(CLI::App &verb, ModelOptions &options) {
  verb.add_option("model", options.model, "ONNX model")->required()->type_name("MODEL");
  verb.add_option("--device", options.device,
                  "cpu, cuda, cuda:N, opencl, opencl:P or opencl:P:D (numbers or parts of names)")
      ->type_name("DEVICE");
  verb.add_option("--batch", options.batch, "Binds a symbolic first dimension; 1 when not said")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 32))
      ->type_name("N");
  verb.add_option("--threads", options.threads, "Threads of the cpu device; 0: one per core")
      ->check(CLI::Range(0, 1024))
      ->type_name("N");
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

std::unique_ptr<runtime::Device> open_device(const std::string &selector, int threads) {
  return runtime::make_device(selector, threads, read_targets(devices_directory()));
}

std::unique_ptr<runtime::KernelCache> open_cache(const ModelOptions &options) {
  const std::string path = options.cache.empty() ? runtime::default_cache_path() : options.cache;
  return std::make_unique<runtime::KernelCache>(options.no_cache ? "" : path, warn);
}

std::unique_ptr<runtime::RecordStore> open_records(const ModelOptions &options,
                                                   runtime::RecordStore::Mode mode) {
  std::string path = options.records;
  if (path.empty())
    path = runtime::default_records_path(options.cache.empty() ? runtime::default_cache_path()
                                                               : options.cache);
  return std::make_unique<runtime::RecordStore>(options.no_records ? "" : path, mode, warn);
}

program::Program import(const ModelOptions &options,
                        const std::map<std::string, program::Shape> &shapes) {
  const tile::Library ops = tile::read_library(ops_directory());
  const auto read = [&](const program::Program &) {
    return onnx_import::import_model(options.model, ops,
                                     {.batch = options.batch, .input_shapes = shapes});
  };
  const program::Program program = model::run_pass(model::kImport, {}, read, options.passes.get());
  return options.gradient.empty() ? program
                                  : differentiate(program, options.gradient, options.passes.get());
}

OpenedModel open_model(const program::Program &program, const ModelOptions &options) {
  return options.device.empty() ? open_anywhere(program, options)
                                : open_on(program, options, options.device, "asked for");
}

std::string describe(const OpenedModel &opened) {
  const model::SessionStats &stats = opened.session->stats();
  return opened.precision +
         fmt::format("device   {} ({}; {})\n"
                     "layout   {}, {} copies between layouts\n"
                     "kernels  {} per run{}, compiled {}, searched {}, ready in {:.3f} s, weights "
                     "{:.1f} MB, "
                     "activations {:.1f} MB\n"
                     "start    choices {:.3f} s, code {:.3f}, compiler {:.3f}, weights {:.3f}, "
                     "loading {:.3f}{}\n",
                     opened.device->name(), opened.device->target().name, opened.choice,
                     to_string(stats.layout), stats.conversions, stats.kernels,
                     stats.tuned > 0 ? fmt::format(", {} tuned", stats.tuned) : "", stats.compiled,
                     stats.searched, stats.compile_seconds,
                     static_cast<double>(stats.weight_bytes) * 1e-6,
                     static_cast<double>(stats.arena_bytes) * 1e-6, stats.start.choose,
                     stats.start.emit, stats.start.build, stats.start.weights, stats.start.load,
                     opened.calibration_seconds > 0
                         ? fmt::format("; calibration {:.3f}", opened.calibration_seconds)
                         : "");
}

std::string type_text(const program::HostTensor &tensor) {
  return fmt::format("{}[{}]", to_string(tensor.type), fmt::join(tensor.shape, ", "));
}

} // namespace tilefuse::tool
