// SPDX-License-Identifier: Apache-2.0
// `tilefuse simulate`: kernels run on the host with every check, what they spent, and what the cost
// model says of it.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <limits>
#include <random>

#include "base/error.h"
#include "base/scanner.h"
#include "cost/group_model.h"
#include "exit_code.h"
#include "files.h"
#include "kernel/counts.h"
#include "kernel/simulate.h"
#include "kernel/text/text.h"
#include "kernel/verify.h"
#include "level_file.h"
#include "model/oracle/simulate_group.h"
#include "model_options.h"
#include "output.h"
#include "prose.h"
#include "report/figures.h"
#include "report/page/bank_patterns.h"
#include "verb.h"

namespace tilefuse::tool {
namespace {

constexpr std::size_t kIndent = 4; // of what goes on from the line before

struct Arguments {
  LevelFile in;
  std::string target;
  ScheduleChoice choice;
  std::string blocks = "all";
  double factor = 2;
  bool banks = false;
  std::string only; // a kernel's number or a node's name; empty: all
  OutputOptions out;
};

// "all", "3" or "0..3", the last block included.
std::vector<std::int64_t> parse_blocks(const std::string &text) {
  if (text == "all")
    return {};
  constexpr std::int64_t kMost = 1 << 20;
  Scanner scanner(text, "--blocks");
  const std::int64_t first = scanner.expect_integer("all, N or N..M");
  std::int64_t last = first;
  if (scanner.accept(".."))
    last = scanner.expect_integer("the last block");
  if (!scanner.at_end() || first < 0 || last < first || last - first >= kMost)
    throw Error(ErrorCode::Syntax,
                fmt::format("--blocks needs all, N or N..M with N up to M; got '{}'", text));
  std::vector<std::int64_t> blocks;
  for (std::int64_t block = first; block <= last; ++block)
    blocks.push_back(block);
  return blocks;
}

report::Table figure_table(const std::vector<report::Figure> &list, double factor) {
  report::Table table{.columns = {{"figure", "figure"},
                                  {"simulated", "simulated", true},
                                  {"model", "model", true},
                                  {"ratio", "ratio", true},
                                  {"", "mark"}},
                      .rows = {},
                      .sums = {}};
  for (const report::Figure &figure : list) {
    const bool has_ratio = figure.simulated > 0;
    std::string mark;
    if (report::differs(figure, factor))
      mark = figure.exact ? "differs" : fmt::format("differs by more than {:g}", factor);
    table.rows.push_back(
        {report::cell(figure.what),
         {fmt::format("{:.10g}", figure.simulated), figure.simulated},
         report::cell(figure.predicted, 0),
         has_ratio ? report::cell(figure.predicted / figure.simulated, 2) : report::cell("-"),
         report::cell(mark, report::Tone::Fair)});
  }
  return table;
}

[[noreturn]] void fault(const std::string &what, std::vector<std::string> notes = {}) {
  end_with_wrong_kernel(Error(ErrorCode::Limit, what, {}, std::move(notes)));
}

// "", "; 12 of them rounded otherwise, by at most 0.5 of their bound"
std::string rounded_text(const model::SimulatedGroup &result) {
  return result.rounded == 0
             ? ""
             : fmt::format("; {} of them are rounded otherwise, by at most {:.2g} of their bound",
                           result.rounded, result.largest_share);
}

std::string bank_section(const kernel::Counts &counts, const kernel::BankTrace &trace) {
  const std::string text = report::to_text(report::bank_accesses(counts, trace));
  return "banks of local memory: words that a warp's phase asks each for\n" +
         (text.empty() ? "no access of banked local memory\n" : text);
}

report::Document simulate_group(const poly::Group &group, const Arguments &args,
                                const Target &target) {
  const schedule::Schedule schedule = choose_schedule(group, args.choice, target);
  const model::SimulatedGroup result =
      model::simulate_group(group, schedule, target, parse_blocks(args.blocks));
  if (!result.fault.empty())
    fault(result.fault);
  if (result.different > 0)
    fault(fmt::format("kernel {}: {} of {} elements differ from the evaluator: {}",
                      result.kernel.name, result.different, result.compared,
                      result.first_difference));
  const cost::Estimate estimate = cost::predict(group, schedule, target);
  const std::vector<report::Figure> figures = report::compare_figures(
      result.counts, result.kernel, cost::figures(group.anchor, schedule, target));
  report::Document document;
  const auto fit = [&](const std::string &text) {
    return args.out.is_wide ? text : fitted(text, kIndent);
  };
  document.people(fit(fmt::format("kernel {}\n{} elements equal the evaluator's{}\n\n",
                                  result.kernel.name, result.compared, rounded_text(result))));
  document.line("kernel", "",
                {{"kernel", result.kernel.name},
                 {"compared", result.compared},
                 {"rounded", result.rounded},
                 {"largest_share_of_bound", result.largest_share},
                 {"predicted_seconds", estimate.seconds}});
  add_prose(document, "counts", kernel::to_text(result.counts) + "\n", kIndent, args.out.is_wide);
  if (args.banks)
    add_prose(document, "banks", bank_section(result.counts, result.banks) + "\n", kIndent,
              args.out.is_wide);
  document.table("figures", figure_table(figures, args.factor));
  document.people("\ncost model\n");
  document.text("cost", cost::explain(estimate));
  return document;
}

void check_size(const kernel::Kernel &kernel) {
  constexpr double kMostMib = 4096;
  double bytes = 0;
  for (const kernel::Buffer &buffer : kernel.buffers)
    if (buffer.space == kernel::Space::Global)
      bytes +=
          static_cast<double>(buffer.elems) * static_cast<double>(size_bytes(buffer.type.elem));
  if (const double mib = bytes * 0x1p-20; mib > kMostMib)
    throw Error(
        ErrorCode::Limit,
        fmt::format("the buffers of kernel {} have {:.0f} MiB, at most {:.0f} are simulated",
                    kernel.name, mib, kMostMib));
}

// A kernel's text alone: there is nothing to compare with.
report::Document simulate_kernel(const Arguments &args) {
  const kernel::Kernel kernel = kernel::parse_kernel(read_file(args.in.file), args.in.file);
  if (const std::string broken = kernel::check(kernel, false); !broken.empty())
    throw Error(ErrorCode::Type, broken, args.in.file);
  check_size(kernel);
  std::mt19937 random(1);
  std::vector<program::Bytes> data;
  for (const kernel::Buffer &buffer : kernel.buffers) {
    if (buffer.space != kernel::Space::Global)
      continue;
    const std::int64_t bytes = buffer.elems * size_bytes(buffer.type.elem);
    data.emplace_back(static_cast<std::size_t>(bytes));
    for (std::int64_t i = 0; i < buffer.elems; ++i)
      store_element(data.back().data(), buffer.type.elem, i, static_cast<double>(random() % 4));
  }
  kernel::SimulationOptions options;
  if (!args.target.empty())
    options.target = find_target(args.target);
  options.blocks = parse_blocks(args.blocks);
  kernel::BankTrace banks;
  options.banks = &banks;
  const std::vector<std::span<std::byte>> spans(data.begin(), data.end());
  const model::Simulated run = model::try_kernel(kernel, spans, options);
  if (!run.fault.empty())
    fault(run.fault);
  report::Document document;
  document.people(fmt::format("kernel {}\n", kernel.name));
  document.line("kernel", "", {{"kernel", kernel.name}});
  add_prose(document, "counts", kernel::to_text(run.counts), kIndent, args.out.is_wide);
  if (args.banks)
    add_prose(document, "banks", "\n" + bank_section(run.counts, banks), kIndent, args.out.is_wide);
  return document;
}

void simulate(const Arguments &args) {
  if (args.in.level == "kernel")
    return print(simulate_kernel(args), args.out);
  const Target target = find_target(args.target.empty() ? "cpu_avx2" : args.target);
  const std::vector<NumberedGroup> groups = chosen_kernels(args.in, args.choice, target, args.only);
  if (args.out.is_json && groups.size() != 1)
    throw Error(ErrorCode::Unsupported,
                fmt::format("--json is of one kernel, there are {}", groups.size()), {},
                {"--kernel N picks one"});
  for (const NumberedGroup &numbered : groups) {
    if (&numbered != &groups.front())
      std::fputs("\n", stdout);
    print(simulate_group(numbered.group, args, target), args.out);
  }
}

} // namespace

void add_simulate(CLI::App &app) {
  auto args = std::make_shared<Arguments>();
  CLI::App *verb = app.add_subcommand(
      "simulate", "Run kernels on the host with every check, and count what they spend");
  verb->footer("Example:\n"
               "  tilefuse simulate --from=tile relu.tile --tensor \"X=f32[1, 8]\" --target "
               "opencl_gpu\n"
               "  tilefuse simulate --from=kernel mine.kernel --blocks 0..3\n"
               "A fault (out of bounds, race, uninitialised read, …) ends it with an error that "
               "names the statement.");
  verb->add_option("file", args->in.file, "Text of the level, or an ONNX model")->required();
  add_size_options(*verb, args->in.sizes);
  verb->add_option("--from", args->in.level, "onnx, tile, program, simplified, group or kernel")
      ->required()
      ->check(CLI::IsMember({"onnx", "tile", "program", "simplified", "group", "kernel"}));
  verb->add_option("--target", args->target, "A row of devices/, by name (cpu_avx2)");
  add_schedule_options(*verb, args->choice);
  verb->add_option("--blocks", args->blocks, "all, N or N..M");
  verb->add_flag(
      "--banks", args->banks,
      "Show which bank of local memory each phase of a warp's accesses asks for how many words");
  verb->add_option("--factor", args->factor, "Mark figures that differ from the model's by more")
      ->check(CLI::Range(1.0, std::numeric_limits<double>::max()));
  add_tile_options(*verb, args->in.tile);
  add_kernel_option(*verb, args->only);
  add_output_options(*verb, args->out, false);
  verb->callback([args] { simulate(*args); });
}

} // namespace tilefuse::tool
