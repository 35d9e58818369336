// SPDX-License-Identifier: Apache-2.0
#include "launch/following.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/index.h"
#include "launch/classes.h"
#include "nest/index.h"
#include "poly/group_buffers.h"
#include "schedule/members.h"

namespace tilefuse::launch {
namespace {

using Reason = std::optional<std::string>;

const nest::Nest &anchor(const Part &part) { return part.placed.group.anchor; }

std::size_t outputs(const nest::Nest &nest) {
  return static_cast<std::size_t>(nest.output_indices);
}

// A nest whose work-items keep to themselves: each element is summed up by one of them, and leaves
// registers straight to memory.
bool is_plain(const Part &part) {
  const nest::Nest &nest = anchor(part);
  for (std::size_t i = outputs(nest); i < nest.indices.size(); ++i)
    if (part.schedule.splits[static_cast<nest::IndexId>(i)].lane > 1)
      return false;
  return is_alone(part.placed.group) && nest.constraints.empty() && !part.placed.joins_tiles &&
         !has_core(part.schedule) && part.schedule.store == schedule::Store::Direct &&
         local_buffers(part.placed.group, part.schedule).empty();
}

bool have_same_results(const nest::Nest &a, const nest::Nest &b) {
  return a.output_indices == b.output_indices &&
         std::equal(
             a.indices.begin(), a.indices.begin() + a.output_indices, b.indices.begin(),
             [](const nest::Index &x, const nest::Index &y) { return x.extent == y.extent; });
}

std::vector<nest::IndexId> output_loops(const nest::Nest &nest, const schedule::Schedule &of) {
  std::vector<nest::IndexId> loops;
  for (const nest::IndexId i : of.order)
    if (at(i) < outputs(nest))
      loops.push_back(i);
  return loops;
}

// Of the same results in the same order, by the same blocks and work-items.
bool run_alike(const Part &first, const Part &part) {
  const nest::Nest &nest = anchor(first);
  const schedule::Schedule &a = first.schedule, &b = part.schedule;
  return have_same_results(nest, anchor(part)) && a.lanes == b.lanes &&
         lane_digits(a) == lane_digits(b) && a.tiles == b.tiles &&
         std::equal(a.splits.begin(), a.splits.begin() + nest.output_indices, b.splits.begin()) &&
         output_loops(nest, a) == output_loops(anchor(part), b);
}

// Whether an operand reads with each result what a nest of as many results writes there.
bool reads_own(const nest::Nest &writer, const nest::Nest &reader, const nest::Operand &operand) {
  const nest::Linear written = nest::flat(writer.out, writer.indices.size());
  const nest::Linear read = nest::flat(operand, reader.indices.size());
  for (const nest::IndexId i : reader.indices.ids())
    if (read.coeff[i] != (at(i) < outputs(reader) ? written.coeff[i] : 0))
      return false;
  return written.constant == read.constant &&
         type_of(writer, writer.out) == type_of(reader, operand);
}

std::vector<nest::Operand> operands(const nest::Nest &nest) {
  std::vector<nest::Operand> all = nest.inputs;
  all.insert(all.end(), nest.extras.begin(), nest.extras.end());
  return all;
}

Reason wrong_read(const Part &writer, const Part &reader, bool &reads) {
  const program::BufferId written = poly::written_buffer(writer.placed);
  const bool are_of_one = are_classes(writer.placed, reader.placed);
  if (poly::writes(reader.placed, written) && !are_of_one)
    return "two parts write one tensor";
  if (poly::read_buffers(writer.placed).count(poly::written_buffer(reader.placed)) > 0)
    return "it writes what a part in front of it reads";
  for (const nest::Operand &operand : operands(anchor(reader))) {
    if (reader.placed.buffers[operand.slot] != written)
      continue;
    if (!reads_own(anchor(writer), anchor(reader), operand))
      return "it reads elements of other points";
    reads = true;
  }
  reads = reads || are_of_one;
  return {};
}

} // namespace

Reason cannot_follow(const std::vector<const Part *> &before, const Part &part) {
  if (!run_alike(*before.front(), part))
    return "it has other results than the first part, or computes them otherwise";
  bool reads = false;
  for (const Part *writer : before) {
    if (writer != before.front() && writer->place != Place::Following)
      return "the launch has parts that do not follow";
    if (!is_plain(*writer) || !is_plain(part))
      return "only maps and reductions that need no local memory follow each other";
    if (Reason reason = wrong_read(*writer, part, reads))
      return reason;
  }
  return reads ? Reason{} : "it reads nothing that the parts in front of it write";
}

} // namespace tilefuse::launch
