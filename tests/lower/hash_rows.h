// SPDX-License-Identifier: Apache-2.0
// What the golden of kernel text hashes: rows of cells, a cell being all schedules of one problem
// on one target, and the text of their kernels. Targets are rows of devices/ or stand here; nothing
// asks the machine that runs the tests.
//
//   layers/resnet50/res2_3x3/forward/n32 cuda_sm80=1f0c….77a1… cuda_sm90=…
//
// A row belongs to one part: Fast ones are a sample of everything, Nightly ones what takes longest.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "launch/launch.h"
#include "poly/group.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace tilefuse::testing {

enum class Part { Fast, Slow, Nightly };

struct Cell {
  std::string column;    // no blanks
  std::string schedules; // groups, schedules and what joins them
  std::string kernels;
};

struct HashRow {
  std::string name; // no blanks
  Part part = Part::Slow;
  std::function<std::vector<Cell>()> cells;
};

// Appends one kernel to a cell.
void add_kernel(Cell &cell, const poly::Group &group, const schedule::Schedule &schedule,
                const Target &target);
// Appends one launch of several, or of one.
void add_launch(Cell &cell, const launch::Launch &launch, const Target &target);
// Schedules of one form, such as "wgmma_window+turns", are a cell.
std::vector<Cell> cells_by_form(const poly::Group &group,
                                const std::vector<schedule::Schedule> &all, const Target &target);

// Every named algorithm on a few problems.
std::vector<HashRow> algorithm_rows();
// Every form of a matrix instruction, and the best of the search for work-items and vectors.
std::vector<HashRow> form_rows();
// Groups of several nests.
std::vector<HashRow> group_rows();
// What a network gets: the convolutions of known networks, three directions, batches.
std::vector<HashRow> layer_rows();

} // namespace tilefuse::testing
