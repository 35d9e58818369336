// SPDX-License-Identifier: Apache-2.0
#include "open_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "api/network.h"
#include "api/precision_warning.h"
#include "base/error.h"
#include "base/stopwatch.h"
#include "files.h"
#include "progress.h"
#include "prose.h"
#include "report/html/dump_index.h"

namespace tilefuse::tool {
namespace {

model::Accuracy accuracy_of(model::Session &session, const model::Runs &inputs,
                            const model::Runs &f32) {
  model::Runs got;
  for (const std::vector<program::HostTensor> &run : inputs)
    got.push_back(session.run(run));
  return model::accuracy(got, f32);
}

// The page that leads through a dump, written when all of it is there.
void write_dump_index(const ModelOptions &options, const model::Session &session) {
  std::vector<std::string> origins;
  for (const model::CompiledLaunch &launch : session.compiled().launches)
    origins.push_back(launch.launch.parts[0].placed.origin);
  std::vector<std::string> files;
  const std::filesystem::path folder(options.dump);
  for (const auto &entry : std::filesystem::directory_iterator(folder))
    if (entry.path().filename() != "index.html")
      files.push_back(entry.path().filename().string());
  const std::string name = std::filesystem::path(options.model).filename().string();
  write_files({{(folder / "index.html").string(),
                report::html::dump_index(name, origins, std::move(files))}});
}

} // namespace

void warn(const std::string &text) { tell("tilefuse: warning: " + text); }

api::Log log_to_stderr() {
  return [](api::LogLevel level, const std::string &text) {
    if (level == api::LogLevel::Warning)
      warn(text);
  };
}

api::Source read_source(const ModelOptions &options) {
  const bool is_tile = options.model.ends_with(".tile");
  const TileArguments &tile = options.tile;
  const bool has_tile_options =
      !tile.function.empty() || !tile.tensors.empty() || !tile.attributes.empty();
  if (!is_tile && has_tile_options)
    throw Error(ErrorCode::Unsupported, "--function, --tensor and --attr are for Tile files",
                options.model, {"this is read as an ONNX model"});
  return is_tile ? api::Source::tile(read_file(options.model), options.model, tile.function)
                 : api::Source::read(options.model);
}

program::Program import(const ModelOptions &options, const api::Given &given) {
  api::Given all = given;
  for (const auto &[name, tensor] : parse_tensors(options.tile))
    all[name] = tensor;
  api::Options with = options;
  with.attributes = parse_attributes(options.tile);
  return read_source(options).program(with, all);
}

OpenedModel open_model(const program::Program &program, const ModelOptions &options) {
  OpenedModel opened;
  opened.engine = std::make_unique<api::Engine>(options.device, options, log_to_stderr());
  const Stopwatch calibration;
  const model::AppliedPrecision applied = api::with_precision(
      read_source(options), program, options, options.calibration, *opened.engine);
  opened.precision = applied.summary;
  opened.calibration_seconds = applied.f32.empty() ? 0 : calibration.seconds();
  if (const std::string slower = api::precision_warning(program, applied, options, *opened.engine);
      !slower.empty())
    warn(slower);
  Progress progress("compiling");
  model::SessionOptions session =
      api::session_options(options, applied, opened.engine->records.get(), warn);
  session.progress = [&](int done, int total) { progress.show(done, total); };
  opened.session = std::make_unique<model::Session>(applied.program, *opened.engine->device,
                                                    *opened.engine->cache, session);
  if (!options.dump.empty())
    write_dump_index(options, *opened.session);
  if (!applied.f32.empty())
    opened.precision +=
        to_text(accuracy_of(*opened.session, options.calibration.runs, applied.f32));
  return opened;
}

report::Document describe(const OpenedModel &opened) {
  const model::SessionStats &stats = opened.session->stats();
  const api::Engine &engine = *opened.engine;
  const auto bytes = [](std::int64_t count) { return static_cast<double>(count) * 1e-6; };
  report::Document document;
  if (!opened.precision.empty())
    add_prose(document, "precision", opened.precision, kLabel, false);
  document.line("device",
                fmt::format("{} ({}; {})", engine.device->name(), engine.device->target().name,
                            engine.choice.why),
                {{"device", engine.device->name()},
                 {"selector", engine.choice.selector},
                 {"target", engine.device->target().name}});
  document.line("layout",
                fmt::format("{}, {} copies between layouts", stats.layout, stats.conversions),
                {{"layout", stats.layout}, {"layout_copies", std::int64_t{stats.conversions}}});
  document.line("kernels",
                fmt::format("{} per run{}, compiled {}, searched {}, ready in {:.3f} s, weights "
                            "{:.1f} MB as packed, activations {:.1f} MB",
                            stats.kernels,
                            stats.tuned > 0 ? fmt::format(", {} tuned", stats.tuned) : "",
                            stats.compiled, stats.searched, stats.compile_seconds,
                            bytes(stats.weight_bytes), bytes(stats.arena_bytes)),
                {{"launches", std::int64_t{stats.kernels}},
                 {"tuned", std::int64_t{stats.tuned}},
                 {"compiled", std::int64_t{stats.compiled}},
                 {"searched", std::int64_t{stats.searched}},
                 {"ready_seconds", stats.compile_seconds},
                 {"weight_bytes", stats.weight_bytes},
                 {"activation_bytes", stats.arena_bytes}});
  document.line("start",
                fmt::format("choosing schedules {:.3f} s, generating code {:.3f}, the driver's "
                            "compiler {:.3f}, weights {:.3f}, loading {:.3f}{}",
                            stats.start.choose, stats.start.emit, stats.start.build,
                            stats.start.weights, stats.start.load,
                            opened.calibration_seconds > 0
                                ? fmt::format("; calibration {:.3f}", opened.calibration_seconds)
                                : ""),
                {{"start_choices_seconds", stats.start.choose},
                 {"start_code_seconds", stats.start.emit},
                 {"start_compiler_seconds", stats.start.build},
                 {"start_weights_seconds", stats.start.weights},
                 {"start_loading_seconds", stats.start.load},
                 {"calibration_seconds", opened.calibration_seconds}});
  return document;
}

std::string type_text(const program::HostTensor &tensor) {
  return fmt::format("{}[{}]", to_string(tensor.type), fmt::join(tensor.shape, ", "));
}

} // namespace tilefuse::tool
