// SPDX-License-Identifier: Apache-2.0
// A file that holds a level of the compiler, as the verbs opt and simulate take it, and what is
// made of it.
#pragma once

#include <CLI/CLI.hpp>

#include <memory>
#include <string>
#include <vector>

#include "base/pass_context.h"
#include "level_arguments.h"
#include "onnx/options.h"
#include "poly/group.h"
#include "program/program.h"
#include "schedule/schedule.h"
#include "search/network/fusion.h"
#include "target/target.h"

namespace tilefuse::tool {

struct LevelFile {
  std::string file;
  std::string level; // "onnx", "tile", "program", "simplified" or "group"
  TileArguments tile;
  std::string gradient;       // names of tensors to differentiate by, "*": every floating input
  onnx_import::Options sizes; // of an ONNX model
  std::shared_ptr<PassContext> passes = std::make_shared<PassContext>();
};

// Of a level above `group`, differentiated where that is asked for. Errors are those of the level's
// reader.
program::Program read_program(const LevelFile &in);
// Where a schedule comes from: a file, a named algorithm, or the model where neither is given. And
// how a program becomes kernels.
struct ScheduleChoice {
  std::string file;
  std::string algorithm;
  std::string split; // of reductions (search/network/split_groups.h); empty: see read_kernels
  std::string layout = "auto"; // of activations (search/network/layout_choice.h)
  search::FusionSettings fusion;
};

// A kernel and its number: its place in launch order, as every verb counts.
struct NumberedGroup {
  std::size_t number = 0;
  std::string origin; // nodes
  poly::Group group;
};

// In launch order, as `run` makes them on a target: laid out, fused, rewritten where the algorithm
// names a rewriting, reductions split as asked or, where the model picks the schedules of a
// program, by the model. `whole` keeps reductions in one kernel unless the split is said.
std::vector<NumberedGroup> read_kernels(const LevelFile &in, const ScheduleChoice &choice,
                                        const Target &target, bool whole = false);
// Those that `only`, a number or a node's name, names; all where it is empty.
std::vector<NumberedGroup> chosen_kernels(const LevelFile &in, const ScheduleChoice &choice,
                                          const Target &target, const std::string &only,
                                          bool whole = false);

// --kernel of opt and simulate.
void add_kernel_option(CLI::App &verb, std::string &kernel);
// --schedule, --algorithm, --split, --fuse and --activations.
void add_schedule_options(CLI::App &verb, ScheduleChoice &choice);
// Error{Unsupported} says why the schedule is not legal or the algorithm does not fit.
schedule::Schedule choose_schedule(const poly::Group &group, const ScheduleChoice &choice,
                                   const Target &target);

} // namespace tilefuse::tool
