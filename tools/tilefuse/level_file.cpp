// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"
#include "files.h"
#include "level_file.h"
#include "model/compile.h"
#include "model/differentiate.h"
#include "model/passes.h"
#include "model_options.h"
#include "onnx/import.h"
#include "poly/group.h"
#include "report/layers.h"
#include "schedule/legal.h"
#include "schedule/text.h"
#include "search/forms/algorithms.h"
#include "search/forms/named_schedule.h"
#include "search/groups.h"
#include "search/network/layout_choice.h"
#include "search/network/split_groups.h"
#include "search/pick.h"
#include "tile/tile.h"

namespace tilefuse::tool {
namespace {

program::Program read_given_program(const LevelFile &in) {
  if (in.level == "onnx")
    return model::run_pass(
        model::kImport, {},
        [&](const program::Program &) {
          return onnx_import::import_model(in.file, tile::operators(), in.sizes);
        },
        in.passes.get());
  if (in.level == "tile")
    return read_tile_program(in.file, in.tile);
  return program::parse_program(read_file(in.file), in.file);
}

} // namespace

program::Program read_program(const LevelFile &in) {
  const program::Program program = read_given_program(in);
  if (in.gradient.empty())
    return program;
  return model::differentiate(program, in.gradient, in.passes.get());
}

std::vector<NumberedGroup> read_kernels(const LevelFile &in, const ScheduleChoice &choice,
                                        const Target &target, bool whole) {
  const std::string algorithm = model::schedule_algorithm(choice.algorithm);
  const bool by_model = choice.file.empty() && in.level != "group" && !whole;
  const search::SplitOptions split = {.split = choice.split.empty() ? (by_model ? "auto" : "none")
                                                                    : choice.split,
                                      .algorithm = algorithm};
  std::vector<NumberedGroup> kernels;
  if (in.level == "group") {
    const poly::Group group = poly::parse_group(read_file(in.file), in.file);
    for (poly::Group &part : search::split_group(group, target, split))
      kernels.push_back({kernels.size(), group.anchor.name, std::move(part)});
    return kernels;
  }
  program::Program program = read_program(in);
  if (in.level != "simplified")
    program =
        model::prepare(program, target, {.algorithm = choice.algorithm, .passes = in.passes.get()});
  search::LaidOut laid = search::lay_out(
      program, target, {.layout = choice.layout, .fusion = choice.fusion, .split = split});
  for (poly::PlacedGroup &placed : laid.groups)
    kernels.push_back({kernels.size(), std::move(placed.origin), std::move(placed.group)});
  return kernels;
}

std::vector<NumberedGroup> chosen_kernels(const LevelFile &in, const ScheduleChoice &choice,
                                          const Target &target, const std::string &only,
                                          bool whole) {
  std::vector<NumberedGroup> kernels = read_kernels(in, choice, target, whole);
  if (only.empty())
    return kernels;
  std::vector<std::string> origins;
  for (const NumberedGroup &kernel : kernels)
    origins.push_back(kernel.origin);
  return {std::move(kernels[report::find_kernel(origins, only)])};
}

void add_kernel_option(CLI::App &verb, std::string &kernel) {
  verb.add_option(
          "--kernel", kernel,
          "Only this kernel: its number in launch order, from 0, or the name of a node in it")
      ->type_name("N|NODE");
}

void add_schedule_options(CLI::App &verb, ScheduleChoice &choice) {
  auto *file =
      verb.add_option("--schedule", choice.file, "Use this schedule, not the model's choice")
          ->type_name("FILE");
  verb.add_option("--algorithm", choice.algorithm,
                  fmt::format("Force one: {}", fmt::join(algorithm_names(), ", ")))
      ->type_name("NAME")
      ->excludes(file);
  add_split_option(verb, choice.split);
  add_layout_option(verb, choice.layout);
  add_fusion_options(verb, choice.fusion);
}

schedule::Schedule choose_schedule(const poly::Group &group, const ScheduleChoice &choice,
                                   const Target &target) {
  const nest::Nest &nest = group.anchor;
  const std::string algorithm = model::schedule_algorithm(choice.algorithm);
  // What joins a split reduction is no product.
  const bool is_join = nest.inputs.size() == 1 && choice.split != "none";
  if (!algorithm.empty() && !is_join) {
    search::NamedSchedule named = search::named_schedule(algorithm, nest, target);
    if (!named.schedule)
      throw Error(ErrorCode::Unsupported, "nest '" + nest.name + "': " + named.refusal, {},
                  {"--kernel N picks one group of several"});
    return std::move(*named.schedule);
  }
  const schedule::Schedule schedule =
      choice.file.empty() ? search::pick(group, target)
                          : schedule::parse_schedule(group, read_file(choice.file), choice.file);
  if (const std::optional<std::string> reason = schedule::illegal(group, schedule, target))
    throw Error(ErrorCode::Unsupported, "the schedule is not legal: " + *reason, choice.file);
  return schedule;
}

} // namespace tilefuse::tool
