// SPDX-License-Identifier: Apache-2.0
// `tilefuse explain`: why the kernels of a Tile function or a layer of a model are what they are.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/error.h"
#include "base/scanner.h"
#include "cost/plaidml/plaidml_kernels.h"
#include "cost/plaidml/plaidml_settings.h"
#include "explain_page.h"
#include "explain_recipe.h"
#include "level_arguments.h"
#include "model/passes.h"
#include "model_options.h"
#include "nest/fold/fold.h"
#include "open_model.h"
#include "output.h"
#include "pass_options.h"
#include "recipe_options.h"
#include "report/layers.h"
#include "report/plaidml_report.h"
#include "report/schedule_report.h"
#include "report/schedule_tree_report.h"
#include "terminal.h"
#include "verb.h"

namespace tilefuse::tool {
namespace {

struct Arguments {
  std::string file;
  TileArguments tile;
  std::string kernel;
  std::string cost = "model";
  std::string target;
  ModelOptions on; // device and records
  std::string walk = "fast";
  std::string sections;
  std::vector<std::string> tiles;
  bool schedule_tree = false;
  std::vector<std::string> in_place;
  std::int64_t fuse_quota = poly::StoryOptions().quota;
  std::size_t candidates = 0; // 0: as many as the cost's report shows by itself
  std::string html;           // a file, or empty
  RecipeQuestions recipe;
  OutputOptions out;
};

bool is_model(const std::string &file) { return file.ends_with(".onnx"); }

// "8,32,2"
cost::plaidml::Tile parse_tile(const std::string &text) {
  Scanner scanner(text, "--tile");
  cost::plaidml::Tile tile;
  do
    tile.push_back(scanner.expect_integer("a size"));
  while (scanner.accept(","));
  if (!scanner.at_end())
    scanner.fail("',' or the end of the tile");
  return tile;
}

// What PlaidML has for the target in stock, else what it took for a device of that row.
cost::plaidml::Settings plaidml_settings(const std::string &target) {
  const std::string name = target.empty() ? "plaidml_test_gpu" : target;
  const auto stock = cost::plaidml::stock_settings(name);
  return stock ? *stock : cost::plaidml::default_settings(find_target(name));
}

report::Explanation explain_plaidml(const program::Program &program, const Arguments &args) {
  report::PlaidmlOptions options;
  options.settings = plaidml_settings(args.target);
  options.walk = args.walk == "full" ? cost::plaidml::Walk::Full : cost::plaidml::Walk::Fast;
  for (const std::string &tile : args.tiles)
    options.tiles.push_back(parse_tile(tile));
  if (args.candidates > 0)
    options.log_entries = args.candidates;
  options.sections = report::parse_sections(args.sections);
  return report::explain_with_plaidml(program, options);
}

// The device that is explained for, with its tuning records; none where a target is.
struct OnDevice {
  std::unique_ptr<runtime::Device> device;
  std::unique_ptr<runtime::RecordStore> records;
};

OnDevice open_asked(const Arguments &args) {
  const bool has_target = !args.target.empty() || args.cost != "model";
  if (has_target && args.on.device.empty())
    return {};
  if (has_target)
    throw Error(ErrorCode::Unsupported, "--device comes with its own target and the cost model", {},
                {"leave out --target and --cost, or --device"});
  return {api::open_device(api::choose_device(args.on.device).selector, args.on.threads),
          api::open_records(args.on, runtime::RecordStore::Mode::Existing, log_to_stderr())};
}

Target target_of(const Arguments &args, const OnDevice &on) {
  return on.device != nullptr ? on.device->target()
                              : find_target(args.target.empty() ? "cpu_avx2" : args.target);
}

report::Explanation explain_schedules(const program::Program &program, const Arguments &args,
                                      const OnDevice &on) {
  if (!args.tiles.empty())
    throw Error(ErrorCode::Unsupported, "--tile is for --cost plaidml", {},
                {"tilefuse opt --schedule FILE takes a schedule of your own"});
  report::ScheduleOptions options;
  options.target = target_of(args, on);
  options.device = on.device.get();
  options.records = on.records.get();
  if (args.candidates > 0)
    options.candidates = args.candidates;
  options.split = args.on.split;
  options.layout = args.on.layout;
  options.sections = report::parse_sections(args.sections);
  options.style = {.width = output_width(), .is_wide = args.out.is_wide};
  return report::explain_with_model(program, options);
}

program::Program read_program(const Arguments &args) {
  if (!is_model(args.file))
    return read_tile_program(args.file, args.tile);
  ModelOptions model = args.on;
  model.model = args.file;
  model.tile = args.tile;
  return import(model);
}

// The nests of the program as they would be fused, step by step.
std::string explain_tree(const Arguments &args) {
  poly::StoryOptions options{.in_place = args.in_place, .tile = {}, .quota = args.fuse_quota};
  if (args.tiles.size() > 1)
    throw Error(ErrorCode::Unsupported, "--schedule-tree takes one tile", {},
                {"its sizes stand behind one another, --tile 8,8"});
  if (!args.tiles.empty())
    options.tile = parse_tile(args.tiles.front());
  const program::Program program = model::simplify(read_program(args), args.on.passes.get());
  return report::to_text(poly::tell_fusion(program::assign_storage(program), options));
}

// The page of a whole model, and what to read of it at once.
void write_page(const Arguments &args) {
  if (args.cost != "model" || args.schedule_tree)
    throw Error(ErrorCode::Unsupported, "--html shows kernels by our own cost model", {},
                {"leave out --cost and --schedule-tree"});
  ModelOptions options = args.on;
  options.model = args.file;
  options.tile = args.tile;
  const program::Program program = read_program(args);
  const ExplainedPage explained =
      args.target.empty() ? measured_page(program, options, args.kernel)
                          : predicted_page(program, options, find_target(args.target), args.kernel);
  const report::NetworkPage &page = explained.page;
  OutputFile file{args.html, explained.html};
  report::Document document = page.summary;
  for (const std::string &sentence : page.advice)
    document.advise(sentence);
  document.line("wrote", fmt::format("{}, {:.1f} kB", file.path,
                                     static_cast<double>(file.bytes.size()) * 1e-3));
  print(document, args.out, {std::move(file)});
}

report::Document explain(const Arguments &args) {
  if (args.schedule_tree) {
    report::Document document;
    document.text("explanation", explain_tree(args));
    return document;
  }
  const OnDevice on = open_asked(args);
  program::Program program = read_program(args);
  model::AppliedPrecision applied{.program = {}};
  PassContext *passes = args.on.passes.get();
  if (!args.on.precision.empty() || args.cost == "model") {
    applied = model::apply_precision(program, args.on.precision, target_of(args, on), passes);
    program = std::move(applied.program);
  }
  if (args.cost == "model")
    program = model::prepare(program, target_of(args, on),
                             {.is_simplified = applied.is_simplified, .passes = passes});
  else if (is_model(args.file))
    program = nest::fold_constants(program);
  const report::Explanation explanation = args.cost == "plaidml"
                                              ? explain_plaidml(program, args)
                                              : explain_schedules(program, args, on);
  const std::vector<std::string> origins = report::origins_of(explanation);
  report::Document document;
  if (args.kernel.empty() && is_model(args.file)) {
    document.table("kernels", report::kernel_list(origins));
    document.line("next", "--kernel N explains one of them", {});
    return document;
  }
  const bool everything = args.kernel.empty();
  if (!everything) {
    const std::size_t number = report::find_kernel(origins, args.kernel);
    document.line("kernel", "",
                  {{"number", static_cast<std::int64_t>(number)}, {"origin", origins[number]}});
  }
  document.text("explanation",
                applied.text + report::text_of(explanation, args.kernel, everything));
  return document;
}

void add_recipe_questions(CLI::App &verb, RecipeQuestions &asked) {
  verb.add_option("--workers", asked.workers,
                  "Of a recipe: how its step grows with workers, up to so many, on paper")
      ->check(CLI::Range(1, 1 << 16));
  verb.add_option("--memory", asked.memory,
                  "Of a recipe: which tensors are computed again to keep to so many gigabytes, "
                  "and why (steps.memory_gb)")
      ->type_name("GB");
}

} // namespace

void add_explain(CLI::App &app) {
  auto args = std::make_shared<Arguments>();
  CLI::App *verb = app.add_subcommand(
      "explain", "Say why the kernels of a Tile function or of a model's layer are what they are");
  verb->footer("Examples:\n"
               "  tilefuse explain model.onnx --html page.html\n"
               "  tilefuse explain model.onnx --kernel 3\n"
               "  tilefuse explain recipe.toml --workers 1024\n"
               "  tilefuse explain recipe.toml --memory 5\n"
               "  tilefuse explain ops/gemm.tile --function gemm_nn --tensor \"A=f32[64, 32]\""
               " --tensor \"B=f32[32, 48]\"\n"
               "  tilefuse explain examples/plaidml_conv_relu.tile --cost plaidml --tensor"
               " \"D=f32[32, 224, 224, 64]\" --tensor \"K=f32[3, 3, 64, 64]\"");
  verb->add_option("file", args->file, "A Tile text, an ONNX model or a recipe of training")
      ->required();
  add_tile_options(*verb, args->tile);
  add_recipe_questions(*verb, args->recipe);
  verb->add_option("--kernel,--layer", args->kernel,
                   "Number of a kernel in launch order, or name of a node in it; the kernels are "
                   "listed if not given")
      ->type_name("N|NODE");
  verb->add_option("--cost", args->cost, "model (ours) or plaidml")
      ->check(CLI::IsMember({"model", "plaidml"}));
  verb->add_option(
      "--target", args->target,
      "Explain for a row of devices/; with --cost plaidml also for one of devices/plaidml/, "
      "plaidml_test_gpu if not given");
  verb->add_option(
          "--device", args->on.device,
          "Explain for this device, by its tuning records where there are any; the one that "
          "run takes if neither it nor --target is given")
      ->type_name("DEVICE");
  add_threads_option(*verb, args->on.threads);
  add_size_options(*verb, args->on.sizes);
  add_record_options(*verb, args->on);
  add_precision_option(*verb, args->on.precision);
  add_split_option(*verb, args->on.split);
  add_layout_option(*verb, args->on.layout);
  verb->add_option("--candidates", args->candidates, "How many candidates to print at most")
      ->check(CLI::PositiveNumber);
  verb->add_option(
      "--tile", args->tiles,
      "With plaidml: judge this tile, 8,32,2,3,16,2,2; with --schedule-tree: points of a tile");
  verb->add_option("--walk", args->walk, "With plaidml: fast, or full for every tile in reach")
      ->check(CLI::IsMember({"fast", "full"}));
  verb->add_option("--section", args->sections,
                   "program, flatten, candidates, layout, threads, kernel; all if not given");
  auto *tree = verb->add_flag("--schedule-tree", args->schedule_tree,
                              "How the producers of the last nest come to run in its tiles")
                   ->excludes("--kernel");
  verb->add_option("--in-place", args->in_place,
                   "A tensor that overwrites what it is computed from")
      ->needs(tree)
      ->type_name("TENSOR");
  verb->add_option("--fuse-quota", args->fuse_quota,
                   "Integer set operations that --schedule-tree may spend")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->needs(tree)
      ->type_name("N");
  add_output_options(*verb, args->out, false);
  add_pass_options(*verb, *args->on.passes);
  verb->add_option("--html", args->html,
                   "Write a page there: where the time goes, what the device allows, memory, every "
                   "kernel; one file that needs no other")
      ->type_name("FILE");
  verb->callback([args, verb] {
    if (is_recipe(args->file)) {
      static constexpr std::array kKnown = {"--workers", "--memory"};
      check_recipe_options(*verb, kKnown);
      print(explain_recipe(args->file, args->on, args->recipe), args->out);
    } else if (args->html.empty()) {
      print(explain(*args), args->out);
    } else {
      write_page(*args);
    }
    report_passes(*args->on.passes);
  });
}

} // namespace tilefuse::tool
