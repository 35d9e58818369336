// SPDX-License-Identifier: Apache-2.0
// `tilefuse fusion`: kernels and bytes of a model at every level of fusion, what planning took, and
// what was decided for each producer and consumer.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <memory>

#include "level_arguments.h"
#include "model/passes.h"
#include "model_options.h"
#include "open_model.h"
#include "output.h"
#include "pass_options.h"
#include "poly/post_ops.h"
#include "program/pointwise_form.h"
#include "prose.h"
#include "search/network/fusion.h"
#include "verb.h"

namespace tilefuse::tool {
namespace {

struct FusionArguments {
  ModelOptions model;
  std::string target = "cpu_avx2";
  bool decisions = false;
  OutputOptions out;
};

struct Level {
  std::vector<poly::PlacedGroup> groups;
  poly::FuseReport report;
  double seconds = 0; // of grouping, planning and pricing included
};

Level plan(const program::StoredProgram &stored, const Target &target,
           search::FusionSettings settings, poly::FuseLevel level) {
  Level made;
  settings.level = level;
  const auto start = std::chrono::steady_clock::now();
  made.groups = search::make_groups(stored, settings, target, &made.report);
  made.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return made;
}

std::vector<report::Cell> row(poly::FuseLevel level, const Level &made,
                              const program::StoredProgram &stored) {
  std::int64_t producers = 0;
  for (const poly::PlacedGroup &placed : made.groups)
    producers += static_cast<std::int64_t>(placed.group.producers.size());
  return {report::cell(std::string(poly::to_string(level))),
          report::cell(static_cast<std::int64_t>(made.groups.size())),
          report::cell(producers),
          report::cell(search::bytes_moved(made.groups, stored) * 1e-6, 2),
          report::cell(made.report.seconds * 1e3, 1),
          report::cell((made.seconds - made.report.seconds) * 1e3, 1),
          report::cell(std::int64_t{made.report.isl_calls})};
}

// Statements of a Tile text that could join the kernel before them if they were written another way.
void advise_pointwise(report::Document &document, const program::Program &program) {
  for (const program::PointwiseForm &form : program::pointwise_forms(program))
    document.advise(
        fmt::format("{} is a kernel of its own because it is written with indices; as a "
                    "statement on whole tensors, of {}, it joins the one before it",
                    program.statements[form.statement].origin, fmt::join(form.operands, " and ")));
}

report::Document fusion(const FusionArguments &args) {
  const Target target = args.model.device.empty()
                            ? find_target(args.target)
                            : api::open_device(args.model.device, args.model.threads)->target();
  const program::Program imported = import(args.model);
  const program::StoredProgram stored =
      program::assign_storage(model::simplify(imported, args.model.passes.get()));
  report::Table table{.columns = {{"fuse", "fuse"},
                                  {"kernels", "kernels", true},
                                  {"producers", "producers", true},
                                  {"MB moved", "mbytes_moved", true},
                                  {"plan ms", "plan_ms", true},
                                  {"price ms", "price_ms", true},
                                  {"isl calls", "isl_calls", true}},
                      .rows = {},
                      .sums = {}};
  std::string decisions;
  for (const poly::FuseLevel level :
       {poly::FuseLevel::None, poly::FuseLevel::Pointwise, poly::FuseLevel::All}) {
    const Level made = plan(stored, target, args.model.fusion, level);
    table.rows.push_back(row(level, made, stored));
    for (const poly::FuseDecision &decision : made.report.decisions)
      decisions += poly::to_text(decision);
  }
  report::Document document;
  document.line("target", target.name, {{"target", target.name}});
  document.table("levels", std::move(table));
  if (args.decisions)
    add_prose(document, "decisions", decisions, 4, args.out.is_wide);
  if (args.model.model.ends_with(".tile"))
    advise_pointwise(document, imported);
  return document;
}

} // namespace

void add_fusion(CLI::App &app) {
  auto args = std::make_shared<FusionArguments>();
  CLI::App *verb = app.add_subcommand(
      "fusion", "Count a model's kernels and bytes at every level of fusion, and say what decided");
  verb->footer("Examples:\n  tilefuse fusion model.onnx --target cpu_avx2 --decisions\n"
               "  tilefuse fusion model.onnx --csv -");
  verb->add_option("model", args->model.model, "ONNX model, or a Tile file")
      ->required()
      ->type_name("MODEL");
  verb->add_option("--target", args->target, "A row of devices/; cpu_avx2 if not given");
  verb->add_option("--device", args->model.device, "Plan for this device instead")
      ->type_name("DEVICE");
  add_size_options(*verb, args->model.sizes);
  add_tile_options(*verb, args->model.tile);
  verb->add_option("--fuse-quota", args->model.fusion.quota,
                   "Integer set operations that one decision may spend")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->type_name("N");
  add_gradient_option(*verb, args->model.gradient);
  verb->add_flag("--decisions", args->decisions, "Every offer of a producer to a consumer");
  add_output_options(*verb, args->out, true);
  add_pass_options(*verb, *args->model.passes);
  verb->callback([args] {
    print(fusion(*args), args->out);
    report_passes(*args->model.passes);
  });
}

} // namespace tilefuse::tool
