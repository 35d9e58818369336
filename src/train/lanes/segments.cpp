// SPDX-License-Identifier: Apache-2.0
#include "train/lanes/segments.h"

#include <algorithm>
#include <set>
#include <utility>
#include <variant>

#include "base/error.h"
#include "base/index.h"
#include "program/drop_dead.h"

namespace tilefuse::train {
namespace {

using program::Program;
using program::Role;
using program::Statement;
using program::TensorId;

class Cutter {
public:
  Cutter(const Program &whole, std::size_t lane_sums)
      : whole_(whole), lane_sums_(lane_sums), level_(whole.tensors.size(), 0),
        defined_by_(whole.tensors.size(), nullptr) {
    for (const Statement &statement : whole.statements)
      defined_by_[at(statement.out)] = &statement;
    find_levels();
  }

  std::vector<Segment> run() {
    const int last = *std::max_element(level_.begin(), level_.end());
    for (int level = 0; level <= last; ++level)
      segments_.push_back(segment(level));
    for (const Segment &each : segments_)
      crossing_.insert(each.inputs.begin(), each.inputs.end());
    crossing_.insert(whole_.outputs.begin(), whole_.outputs.end());
    for (int level = 0; level <= last; ++level)
      finish(segments_[at(level)], level);
    for (std::size_t sum = 0; sum < lane_sums_; ++sum)
      segments_.at(at(level_of_sum(sum))).lane_sums.push_back(sum);
    return std::move(segments_);
  }

private:
  int level_of_sum(std::size_t sum) const {
    return level_[at(whole_.outputs[whole_.outputs.size() - lane_sums_ + sum])];
  }

  // Grow until nothing is read in front of the segment that makes it.
  void find_levels() {
    std::vector<int> before;
    for (std::size_t round = 0; before != level_; ++round) {
      TILEFUSE_CHECK(round < lane_sums_ + 3, "a lane sum depends on what it is over all lanes");
      before = level_;
      for (const Statement &statement : whole_.statements)
        for (const TensorId id : program::reads(statement))
          level_[at(statement.out)] = std::max(level_[at(statement.out)], level_[at(id)]);
      for (std::size_t sum = 0; sum < lane_sums_; ++sum)
        level_[at(whole_.inputs[whole_.inputs.size() - lane_sums_ + sum])] = level_of_sum(sum) + 1;
    }
  }

  Segment segment(int level) {
    Segment made;
    made.program.name = whole_.name;
    made_.clear();
    for (const Statement &statement : whole_.statements)
      if (level_[at(statement.out)] == level)
        append(made, statement);
    return made;
  }

  void append(Segment &segment, const Statement &statement) {
    for (const TensorId id : program::reads(statement))
      bring(segment, id);
    made_.insert(statement.out);
    segment.program.statements.push_back(statement);
  }

  // A view of what an earlier segment has made, or an input.
  void bring(Segment &segment, TensorId id) {
    if (whole_[id].role == Role::Constant || made_.contains(id))
      return;
    const Statement *by = defined_by_[at(id)];
    if (by != nullptr && std::holds_alternative<program::View>(by->body))
      return append(segment, *by);
    made_.insert(id);
    segment.inputs.push_back(id);
  }

  void finish(Segment &segment, int level) const {
    for (const Statement &statement : segment.program.statements)
      if (crossing_.contains(statement.out) && level_[at(statement.out)] == level)
        segment.outputs.push_back(statement.out);
    segment.program.tensors = whole_.tensors;
    segment.program.inputs = segment.inputs;
    segment.program.outputs = segment.outputs;
    for (const TensorId id : segment.inputs)
      segment.program[id].role = Role::Input;
    segment.program = program::drop_dead(std::move(segment.program));
    program::verify(segment.program);
  }

  const Program &whole_;
  const std::size_t lane_sums_;
  std::vector<int> level_;                    // by tensor: the segment that has it first
  std::vector<const Statement *> defined_by_; // by tensor
  std::vector<Segment> segments_;
  std::set<TensorId> made_; // in the segment at work
  std::set<TensorId> crossing_;
};

} // namespace

std::vector<Segment> cut(const Program &whole, std::size_t lane_sums) {
  if (lane_sums > 0)
    return Cutter(whole, lane_sums).run();
  return {{whole, whole.inputs, whole.outputs, {}}};
}

} // namespace tilefuse::train
