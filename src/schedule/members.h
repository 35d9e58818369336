// SPDX-License-Identifier: Apache-2.0
// The schedule of a group with producers. The anchor's schedule says where each fed input is
// staged; a producer that runs as a nest (poly::Feed::Produce) has a schedule of its own:
//
//   schedule nest vector                 of the anchor
//     tile   m:24 y:4 x:56
//     …
//     produce 0
//   producer 1
//   schedule nest vector                 of member 1
//     tile   m:32 y:4 x:58
//     …
//
// A producer computes, per fill, the box of its consumer's staging tile: that is a nest with the
// box's extents. Its schedule maps this nest as it would a kernel's; its blocks are done one after
// the other by the consumer's block. A box that leaves the tensor is moved inside: what lies
// outside is filled with the consumer's neutral value. A pointwise producer (Feed::Map) needs no
// schedule: its consumer's fill is `stage`, and evaluates the map where it would copy.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "poly/group.h"
#include "schedule/local_memory.h"
#include "schedule/schedule.h"
#include "schedule/staging.h"
#include "schedule/text.h"
#include "target/target.h"

namespace tilefuse::schedule {

// Member nests as they run: the anchor's own, those of producers with the extents of a tile.
// Requires that every produced member has a schedule of its nest's shape.
std::vector<nest::Nest> tile_nests(const poly::Group &group, const Schedule &schedule);
// The same for one member, given those before it.
nest::Nest tile_nest(const poly::Group &group, const Schedule &schedule, poly::MemberId member,
                     const std::vector<nest::Nest> &before);
// The same of a producer, given its consumer's nest and that one's schedule.
nest::Nest tile_nest(const poly::Producer &producer, const nest::Nest &consumer,
                     const Schedule &schedule);

// Why `schedule` cannot run the group on `target`, or nothing when it can.
std::optional<std::string> illegal(const poly::Group &group, const Schedule &schedule,
                                   const Target &target);
// The same where illegal_alone finds nothing wrong with the anchor.
std::optional<std::string> illegal_together(const poly::Group &group, const Schedule &schedule,
                                            const Target &target);

// Buffers of local memory of all members.
std::vector<LocalBuffer> local_buffers(const poly::Group &group, const Schedule &schedule);

// Arguments of the group's kernel: slots that some member reads or writes in memory, in order, then
// packed inputs, member by member.
std::vector<KernelArg> kernel_args(const poly::Group &group, const Schedule &schedule);
// The group's slot that an argument is made from.
poly::SlotId slot_of(const poly::Group &group, const KernelArg &arg);

std::string to_text(const poly::Group &group, const Schedule &schedule);
Schedule parse_schedule(const poly::Group &group, std::string_view text,
                        const std::string &file = "<schedule>");

} // namespace tilefuse::schedule
