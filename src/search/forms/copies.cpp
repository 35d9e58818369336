// SPDX-License-Identifier: Apache-2.0
#include "search/forms/copies.h"

#include <vector>

#include "base/index.h"
#include "schedule/legal.h"
#include "schedule/members.h"
#include "schedule/stage_copy.h"
#include "target/quirks.h"

namespace tilefuse::search {
namespace {

using nest::Nest;
using poly::Feed;
using poly::Group;
using poly::kAnchor;
using poly::MemberId;
using schedule::ItemCopy;
using schedule::Pipe;
using schedule::Rounds;
using schedule::Schedule;

// One part in so many of a work-item's registers may hold offsets of copies.
constexpr std::int64_t kOffsetShare = 2;

// Rounds written out where registers do not hold their offsets. Those of staging twice are written
// out anyway.
std::int64_t most_unheld(const Target &target) {
  return has(target, Quirk::UnheldRoundsSpill) ? 32 : schedule::kMostWrittenRounds;
}

// What is left to the copies of a schedule.
struct Room {
  std::int64_t registers = 0; // that may hold offsets
  std::int64_t unheld = 0;    // rounds written out without
};

// Takes what it holds of the registers.
void assign(Pipe &stage, const ItemCopy &copy, std::int64_t items, Room &room) {
  stage.width = copy.widest;
  const std::int64_t rounds = copy.rounds(stage.width, items);
  const std::int64_t needed = rounds * copy.round_offsets;
  if (rounds > schedule::kMostWrittenRounds)
    return;
  if (needed <= room.registers) {
    stage.rounds = Rounds::Held;
    room.registers -= needed;
  } else if (!stage.is_double_buffered() && rounds <= room.unheld) {
    stage.rounds = Rounds::Unrolled;
  }
}

// `copy_of(input)`: how that input can be copied. Offsets of what is staged once per block are not
// needed any more where chunks are walked.
template <typename CopyOf>
void assign(Schedule &schedule, const Target &target, const CopyOf &copy_of) {
  for (const bool in_chunks : {false, true}) {
    Room room{target.vector_registers / kOffsetShare, most_unheld(target)};
    for (std::size_t k = 0; k < schedule.pipes.size(); ++k)
      if (const int input = static_cast<int>(k);
          is_copied_by_items(schedule, input) && schedule.pipes[k].at.has_value() == in_chunks)
        assign(schedule.pipes[k], copy_of(input), group_size(schedule), room);
  }
}

} // namespace

void clear_copies(Schedule &schedule) {
  for (Pipe &stage : schedule.pipes) {
    stage.width = 1;
    stage.rounds = Rounds::Loop;
  }
  for (Schedule &producer : schedule.producers)
    clear_copies(producer);
}

std::optional<std::string> assign_copies(const Nest &nest, Schedule &schedule,
                                         const Target &target) {
  clear_copies(schedule);
  if (std::optional<std::string> reason = illegal(nest, schedule, target))
    return reason;
  assign(schedule, target, [&](int input) { return item_copy(nest, schedule, input); });
  return {};
}

void assign_copies(const Nest &nest, Schedule &schedule, const Target &target,
                   const std::vector<schedule::InputPlace> &places) {
  assign(schedule, target,
         [&](int input) { return item_copy(nest, schedule, input, places[at(input)]); });
}

std::optional<std::string> assign_copies(const Group &group, Schedule &schedule,
                                         const Target &target) {
  if (group.producers.empty())
    return assign_copies(group.anchor, schedule, target);
  clear_copies(schedule);
  if (std::optional<std::string> reason = illegal(group, schedule, target))
    return reason;
  if (has_core(schedule) || schedule.lanes != LaneKind::WorkItem)
    return {};
  const std::vector<Nest> nests = tile_nests(group, schedule);
  for (const MemberId member : members(group))
    if (member == kAnchor || producer_at(group, member).feed == Feed::Produce)
      assign(member_schedule(schedule, member), target,
             [&](int input) { return item_copy(group, nests, schedule, member, input); });
  return {};
}

} // namespace tilefuse::search
