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
#include "poly/post_ops.h"
#include "schedule/legal.h"
#include "schedule/text.h"
#include "search/forms/algorithms.h"
#include "search/forms/named_schedule.h"
#include "search/groups.h"
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
          return onnx_import::import_model(in.file, tile::operator_library(), in.sizes);
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

std::vector<poly::Group> read_groups(const LevelFile &in, const std::string &algorithm,
                                     const Target &target) {
  if (in.level == "group")
    return {poly::parse_group(read_file(in.file), in.file)};
  program::Program program = read_program(in);
  if (in.level != "simplified")
    program = model::prepare(program, target, {.algorithm = algorithm, .passes = in.passes.get()});
  std::vector<poly::Group> groups;
  for (poly::PlacedGroup &placed : poly::make_groups(program::assign_storage(program)))
    groups.push_back(std::move(placed.group));
  return groups;
}

std::vector<poly::Group> read_kernels(const LevelFile &in, const ScheduleChoice &choice,
                                      const Target &target) {
  const bool by_model = choice.file.empty() && in.level != "group";
  const search::SplitOptions options = {.split = choice.split.empty() ? (by_model ? "auto" : "none")
                                                                      : choice.split,
                                        .algorithm = model::schedule_algorithm(choice.algorithm)};
  std::vector<poly::Group> kernels;
  for (const poly::Group &group : read_groups(in, choice.algorithm, target))
    for (poly::Group &part : search::split_group(group, target, options))
      kernels.push_back(std::move(part));
  return kernels;
}

void add_schedule_options(CLI::App &verb, ScheduleChoice &choice) {
  auto *file =
      verb.add_option("--schedule", choice.file, "Use this schedule, not the model's choice");
  verb.add_option("--algorithm", choice.algorithm,
                  fmt::format("Force one: {}", fmt::join(algorithm_names(), ", ")))
      ->excludes(file);
  add_split_option(verb, choice.split);
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
