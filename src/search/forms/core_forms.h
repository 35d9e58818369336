// SPDX-License-Identifier: Apache-2.0
// Implicit GEMM on matrix instructions at the sizes worth trying, by kind of form: `mma`; of wgmma
// `wgmma` and its kinds, `wgmma_cluster`, which runs on clusters of two blocks, and `wgmma_parts`.
// Kinds with `tf32` round f32 operands to it and are therefore never chosen unless asked for by name;
// `mma_nchw32` is the kernel of MegEngine's article for channels in blocks of 32 bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "search/forms/core_tiles.h"
#include "search/forms/named_schedule.h"

namespace tilefuse::search {

constexpr std::int64_t kShortTile = 8; // steps, which take about as long as its results

// Legal schedules of mma, larger tiles first.
std::vector<Schedule> core_schedules(const Nest &nest, const Target &target, bool tf32);
// The same of every kind of wgmma.
std::vector<Schedule> every_wgmma_schedule(const Nest &nest, const Target &target, bool tf32);
// Those of them that may be the fastest.
std::vector<Schedule> wgmma_schedules(const Nest &nest, const Target &target, bool tf32);
// Windows beside a ring of the filter, where several taps read a tile's data: they pay where maps
// feed them (fed_forms.h).
std::vector<Schedule> streamed_wgmma_schedules(const Nest &nest, const Target &target, bool tf32);

// The schedule on clusters of so many blocks along rows and columns of tiles; nothing where that is
// not legal.
std::optional<Schedule> with_cluster(const Nest &nest, Schedule schedule, const Target &target,
                                     std::int64_t rows, std::int64_t columns);

std::vector<std::string> core_algorithms();
// The largest tile that still gives every multiprocessor a block, or the one with the most tiles.
NamedSchedule named_core_schedule(std::string_view name, const Nest &nest, const Target &target);

} // namespace tilefuse::search
