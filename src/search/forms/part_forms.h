// SPDX-License-Identifier: Apache-2.0
// Schedules of wgmma whose clusters take parts of a tile's steps (schedule/wgmma/wgmma_tiles.h) at
// the sizes worth trying.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "search/forms/named_schedule.h"
#include "target/target.h"

namespace tilefuse::search {

// The schedule in so many parts, with a shallower ring and narrower runs of results where it must
// be; nothing where it cannot.
std::optional<Schedule> with_parts(const Nest &nest, Schedule schedule, const Target &target,
                                   std::int64_t parts);

// Of `wholes`, schedules in parts whose tiles by themselves leave multiprocessors idle, and whose
// blocks run all at once; none of a filter gradient or of parts that a launch joins, which lose
// (docs/lab/2026-11-tensor-cores.md).
std::vector<Schedule> wgmma_part_schedules(const Nest &nest, const Target &target,
                                           const std::vector<Schedule> &wholes);

// The algorithm of that name: the largest tile whose parts give most multiprocessors a block; where
// tiles are many, the largest of `all` in two parts. `picks`: those that may be the fastest.
constexpr std::string_view kPartsName = "wgmma_parts";
NamedSchedule named_in_parts(const Nest &nest, const std::vector<Schedule> &all,
                             const std::vector<Schedule> &picks, const Target &target);

} // namespace tilefuse::search
