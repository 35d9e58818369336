// SPDX-License-Identifier: Apache-2.0
#include "launch/following.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/index.h"
#include "nest/index.h"
#include "poly/group_buffers.h"
#include "schedule/members.h"

namespace tilefuse::launch {
namespace {

using Reason = std::optional<std::string>;

const nest::Nest &anchor(const Part &part) { return part.placed.group.anchor; }

// A map whose work-items keep to themselves: elements leave registers straight to memory.
bool is_plain_map(const Part &part) {
  return is_map(part) && is_alone(part.placed.group) && anchor(part).constraints.empty() &&
         !part.placed.joins_tiles && !has_core(part.schedule) &&
         part.schedule.store == schedule::Store::Direct &&
         local_buffers(part.placed.group, part.schedule).empty();
}

bool have_same_points(const nest::Nest &a, const nest::Nest &b) {
  return a.output_indices == b.output_indices &&
         std::equal(
             a.indices.begin(), a.indices.end(), b.indices.begin(), b.indices.end(),
             [](const nest::Index &x, const nest::Index &y) { return x.extent == y.extent; });
}

// Of the same points in the same order, by the same blocks and work-items.
bool run_alike(const Part &first, const Part &part) {
  schedule::Schedule named = part.schedule;
  named.name = first.schedule.name;
  return have_same_points(anchor(first), anchor(part)) && named == first.schedule;
}

// Whether an operand reads at each point what a nest over the same points writes there.
bool reads_own(const nest::Nest &writer, const nest::Nest &reader, const nest::Operand &operand) {
  const std::size_t indices = writer.indices.size();
  return nest::flat(writer.out, indices) == nest::flat(operand, indices) &&
         type_of(writer, writer.out) == type_of(reader, operand);
}

Reason wrong_read(const Part &writer, const Part &reader, bool &reads) {
  const program::BufferId written = poly::written_buffer(writer.placed);
  if (poly::writes(reader.placed, written))
    return "two parts write one tensor";
  if (poly::read_buffers(writer.placed).count(poly::written_buffer(reader.placed)) > 0)
    return "it writes what a part in front of it reads";
  for (const nest::Operand &operand : anchor(reader).extras) {
    if (reader.placed.buffers[operand.slot] != written)
      continue;
    if (!reads_own(anchor(writer), anchor(reader), operand))
      return "it reads elements of other points";
    reads = true;
  }
  return {};
}

} // namespace

Reason cannot_follow(const std::vector<const Part *> &before, const Part &part) {
  if (!run_alike(*before.front(), part))
    return "it has another schedule or other points than the first part";
  bool reads = false;
  for (const Part *writer : before) {
    if (writer != before.front() && writer->place != Place::Following)
      return "the launch has parts that do not follow";
    if (!is_plain_map(*writer) || !is_plain_map(part))
      return "only maps that need no local memory follow each other";
    if (Reason reason = wrong_read(*writer, part, reads))
      return reason;
  }
  return reads ? Reason{} : "it reads nothing that the parts in front of it write";
}

} // namespace tilefuse::launch
