// SPDX-License-Identifier: Apache-2.0
// `tilefuse opt`: any level in, any later level out.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/scanner.h"
#include "cost/model.h"
#include "emit/emitter.h"
#include "files.h"
#include "kernel/text.h"
#include "lower/pipeline.h"
#include "model/compile.h"
#include "onnx/import.h"
#include "paths.h"
#include "poly/group.h"
#include "search/pick.h"
#include "tile/tile.h"
#include "verbs.h"

namespace tilefuse::tool {
namespace {

// Levels in the order data passes through them.
const std::vector<std::string> kLevels = {"onnx",  "tile",     "program", "simplified",
                                          "group", "schedule", "kernel",  "package"};

int rank(const std::string& level) {
  for (std::size_t i = 0; i < kLevels.size(); ++i)
    if (kLevels[i] == level) return static_cast<int>(i);
  throw Error(ErrorCode::Unsupported, fmt::format("there is no level '{}'", level), {},
              {fmt::format("levels are {}", fmt::join(kLevels, ", "))});
}

struct Arguments {
  std::string file;
  std::string from;
  std::string to;
  std::string target = "cpu_avx2";
  std::string schedule_file;
  std::vector<std::string> tensors;
  std::vector<std::string> attributes;
  int only = -1;
};

// "I=f32[1, 3, 8, 8]"
std::pair<std::string, std::pair<DType, program::Shape>> parse_tensor(const std::string& text) {
  Scanner scanner(text, "--tensor");
  const std::string name = scanner.expect_name("a tensor's name");
  scanner.expect("=");
  const Token token = scanner.peek();
  const std::optional<DType> type = parse_dtype(scanner.expect_name("a type"));
  if (!type) throw Error(ErrorCode::Syntax, "there is no such type", scanner.where(token));
  program::Shape shape;
  scanner.expect("[");
  while (!scanner.accept("]")) {
    shape.push_back(scanner.expect_integer("a size"));
    if (!scanner.is("]")) scanner.expect(",");
  }
  return {name, {*type, shape}};
}

// "SY=1" or "ALPHA=0.5"
std::pair<std::string, tile::Attribute> parse_attribute(const std::string& text) {
  Scanner scanner(text, "--attr");
  const std::string name = scanner.expect_name("an attribute's name");
  scanner.expect("=");
  if (text.find_first_of(".e", text.find('=')) == std::string::npos)
    return {name, scanner.expect_integer("a number")};
  return {name, scanner.expect_number("a number")};
}

program::Program read_program(const Arguments& args) {
  if (args.from == "onnx")
    return onnx_import::import_model(args.file, tile::read_library(ops_directory()), {});
  const std::string text = read_file(args.file);
  if (args.from != "tile") return program::parse_program(text, args.file);
  std::map<std::string, std::pair<DType, program::Shape>> tensors;
  for (const std::string& tensor : args.tensors) tensors.insert(parse_tensor(tensor));
  tile::Attributes attributes;
  for (const std::string& attribute : args.attributes) attributes.insert(parse_attribute(attribute));
  return tile::to_program(text, args.file, tensors, attributes);
}

Target find_target(const std::string& name) {
  std::string names;
  for (const Target& target : read_targets(devices_directory())) {
    if (target.name == name) return target;
    names += (names.empty() ? "" : ", ") + target.name;
  }
  throw Error(ErrorCode::Unsupported, fmt::format("there is no target '{}'", name), {},
              {"targets are " + names});
}

std::string package_text(const kernel::Kernel& kernel, const Target& target) {
  std::string why;
  const std::unique_ptr<emit::Emitter> emitter =
      target.backend == "opencl" ? emit::make_opencl_emitter() : emit::make_llvm_emitter(&why);
  if (!emitter) throw Error(ErrorCode::Device, "no code generator for this target: " + why);
  return to_text(emitter->emit(kernel, target));
}

// One group from its schedule on, down to the level asked for.
std::string lower_group(const poly::Group& group, const Arguments& args, const Target& target) {
  const schedule::Schedule schedule =
      args.schedule_file.empty()
          ? search::pick(group.anchor, target)
          : schedule::parse_schedule(group.anchor, read_file(args.schedule_file),
                                     args.schedule_file);
  if (const std::optional<std::string> reason = schedule::illegal(group.anchor, schedule, target))
    throw Error(ErrorCode::Unsupported, "the schedule is not legal: " + *reason,
                args.schedule_file);
  if (args.to == "schedule") return schedule::to_text(group.anchor, schedule);
  const kernel::Kernel kernel = lower::lower(group, schedule, target);
  return args.to == "kernel" ? kernel::to_text(kernel) : package_text(kernel, target);
}

std::vector<poly::Group> read_groups(const Arguments& args) {
  if (args.from == "group") return {poly::parse_group(read_file(args.file), args.file)};
  program::Program program = read_program(args);
  if (args.from != "simplified") program = model::simplify(program);
  std::vector<poly::Group> groups;
  for (poly::PlacedGroup& placed : poly::make_groups(program::assign_storage(program)))
    groups.push_back(std::move(placed.group));
  return groups;
}

std::string convert(const Arguments& args) {
  const int from = rank(args.from);
  const int to = rank(args.to);
  if (to <= from && !(args.from == args.to))
    throw Error(ErrorCode::Unsupported,
                fmt::format("level '{}' does not come after '{}'", args.to, args.from));
  if (args.from == "kernel") {
    const kernel::Kernel kernel = kernel::parse_kernel(read_file(args.file), args.file);
    return args.to == "kernel" ? kernel::to_text(kernel)
                               : package_text(kernel, find_target(args.target));
  }
  if (from <= rank("simplified") && to <= rank("simplified")) {
    const program::Program program = read_program(args);
    program::verify(program);
    return program::to_text(args.to == "simplified" ? model::simplify(program) : program);
  }
  const Target target = find_target(args.target);
  std::string text;
  int number = 0;
  for (const poly::Group& group : read_groups(args)) {
    const bool wanted = args.only < 0 || args.only == number;
    ++number;
    if (!wanted) continue;
    if (!text.empty()) text += "\n";
    text += args.to == "group" ? poly::to_text(group) : lower_group(group, args, target);
  }
  return text;
}

}  // namespace

void add_opt(CLI::App& app) {
  auto args = std::make_shared<Arguments>();
  CLI::App* verb = app.add_subcommand("opt", "Convert one level of the compiler into another");
  verb->footer(
      "Example:\n"
      "  tilefuse opt --from=tile --to=kernel relu.tile --tensor \"X=f32[1, 8]\"\n"
      "  tilefuse opt --from=onnx --to=schedule model.onnx --kernel 3");
  verb->add_option("file", args->file, "Text of the level, or an ONNX model")->required();
  verb->add_option("--from", args->from, fmt::format("{}", fmt::join(kLevels, ", ")))->required();
  verb->add_option("--to", args->to, "A level at or after --from")->required();
  verb->add_option("--target", args->target, "A row of devices/, by name");
  verb->add_option("--schedule", args->schedule_file, "Use this schedule, not the model's choice");
  verb->add_option("--tensor", args->tensors, "Shape of a Tile parameter: I=f32[1, 3, 8, 8]");
  verb->add_option("--attr", args->attributes, "Value of a Tile attribute: SY=1");
  verb->add_option("--kernel", args->only, "Only the group with this number, from 0");
  verb->callback([args] { std::fputs(convert(*args).c_str(), stdout); });
}

}  // namespace tilefuse::tool
