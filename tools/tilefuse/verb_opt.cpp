// SPDX-License-Identifier: Apache-2.0
// `tilefuse opt`: any level in, any later level out.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <optional>
#include <vector>

#include "base/error.h"
#include "emit/emitter.h"
#include "emit/make_emitter.h"
#include "files.h"
#include "kernel/text/text.h"
#include "level_arguments.h"
#include "level_file.h"
#include "lower/pipeline.h"
#include "model/passes.h"
#include "model_options.h"
#include "pass_options.h"
#include "poly/group.h"
#include "schedule/members.h"
#include "verb.h"

namespace tilefuse::tool {
namespace {

// Levels in the order data passes through them.
const std::vector<std::string> kLevels = {"onnx",  "tile",     "program", "simplified",
                                          "group", "schedule", "kernel",  "package"};

int rank(const std::string &level) {
  for (std::size_t i = 0; i < kLevels.size(); ++i)
    if (kLevels[i] == level)
      return static_cast<int>(i);
  throw Error(ErrorCode::Unsupported, fmt::format("there is no level '{}'", level), {},
              {fmt::format("levels are {}", fmt::join(kLevels, ", "))});
}

struct Arguments {
  LevelFile in;
  std::string to;
  std::string target = "cpu_avx2";
  ScheduleChoice choice;
  std::string only; // a kernel's number or a node's name; empty: all
};

std::string package_text(const kernel::Kernel &kernel, const Target &target) {
  std::string why;
  const std::unique_ptr<emit::Emitter> emitter = emit::make_emitter(target, &why);
  if (!emitter)
    throw Error(ErrorCode::Device, "no code generator for this target: " + why);
  return to_text(emitter->emit(kernel, target));
}

// One group from its schedule on, down to the level asked for.
std::string lower_group(const poly::Group &group, const Arguments &args, const Target &target) {
  const schedule::Schedule schedule = choose_schedule(group, args.choice, target);
  if (args.to == "schedule")
    return schedule::to_text(group, schedule);
  const kernel::Kernel kernel = lower::lower(group, schedule, target);
  return args.to == "kernel" ? kernel::to_text(kernel) : package_text(kernel, target);
}

std::string convert(const Arguments &args) {
  const int from = rank(args.in.level);
  const int to = rank(args.to);
  if (to <= from && !(args.in.level == args.to))
    throw Error(ErrorCode::Unsupported,
                fmt::format("level '{}' does not come after '{}'", args.to, args.in.level));
  if (!args.in.gradient.empty() && from > rank("program"))
    throw Error(ErrorCode::Unsupported,
                fmt::format("--gradient: level '{}' cannot be differentiated", args.in.level), {},
                {"start from onnx, tile or program"});
  if (args.in.level == "kernel") {
    const kernel::Kernel kernel = kernel::parse_kernel(read_file(args.in.file), args.in.file);
    return args.to == "kernel" ? kernel::to_text(kernel)
                               : package_text(kernel, find_target(args.target));
  }
  if (to <= rank("simplified") && !args.only.empty())
    throw Error(ErrorCode::Unsupported, fmt::format("--kernel: level '{}' has no kernels", args.to),
                {}, {"--to=group and later levels have"});
  if (from <= rank("simplified") && to <= rank("simplified")) {
    const program::Program program = read_program(args.in);
    program::verify(program);
    if (args.to != "simplified")
      return program::to_text(program);
    return program::to_text(
        model::prepare(program, find_target(args.target),
                       {.algorithm = args.choice.algorithm, .passes = args.in.passes.get()}));
  }
  const Target target = find_target(args.target);
  std::string text;
  const bool whole = args.to == "group" && args.choice.split.empty();
  for (const NumberedGroup &kernel : chosen_kernels(args.in, args.choice, target, args.only, whole))
    text +=
        (text.empty() ? "" : "\n") + (args.to == "group" ? poly::to_text(kernel.group)
                                                         : lower_group(kernel.group, args, target));
  return text;
}

} // namespace

void add_opt(CLI::App &app) {
  auto args = std::make_shared<Arguments>();
  CLI::App *verb = app.add_subcommand("opt", "Convert one level of the compiler into another");
  verb->footer("Example:\n"
               "  tilefuse opt --from=tile --to=kernel relu.tile --tensor \"X=f32[1, 8]\"\n"
               "  tilefuse opt --from=onnx --to=schedule model.onnx --kernel 3\n"
               "  tilefuse opt --from=onnx --to=program model.onnx --gradient=data");
  verb->add_option("file", args->in.file, "Text of the level, or an ONNX model")->required();
  verb->add_option("--from", args->in.level, fmt::format("{}", fmt::join(kLevels, ", ")))
      ->required();
  verb->add_option("--to", args->to, "A level at or after --from")->required();
  verb->add_option("--target", args->target, "A row of devices/, by name");
  add_schedule_options(*verb, args->choice);
  add_tile_options(*verb, args->in.tile);
  add_gradient_option(*verb, args->in.gradient);
  add_kernel_option(*verb, args->only);
  verb->add_option_function<std::string>(
          "--dump", [args](const std::string &directory) { args->in.passes->dump_to(directory); },
          "Write the program after every pass that changed it there")
      ->type_name("DIR");
  add_size_options(*verb, args->in.sizes);
  add_pass_options(*verb, *args->in.passes);
  verb->callback([args] {
    std::fputs(convert(*args).c_str(), stdout);
    report_passes(*args->in.passes);
  });
}

} // namespace tilefuse::tool
