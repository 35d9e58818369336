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
// In launch order; of every level up to `group`, rewritten where `algorithm` names a rewriting.
std::vector<poly::Group> read_groups(const LevelFile &in, const std::string &algorithm,
                                     const Target &target);

// Where a schedule comes from: a file, a named algorithm, or the model where neither is given.
struct ScheduleChoice {
  std::string file;
  std::string algorithm;
  std::string split; // of reductions (search/network/split_groups.h); empty: see read_kernels
};

// The groups as they become kernels on a target: with reductions split as asked, else by the model
// where it also picks the schedules of a program's groups.
std::vector<poly::Group> read_kernels(const LevelFile &in, const ScheduleChoice &choice,
                                      const Target &target);

// --schedule, --algorithm and --split.
void add_schedule_options(CLI::App &verb, ScheduleChoice &choice);
// Error{Unsupported} says why the schedule is not legal or the algorithm does not fit.
schedule::Schedule choose_schedule(const poly::Group &group, const ScheduleChoice &choice,
                                   const Target &target);

} // namespace tilefuse::tool
