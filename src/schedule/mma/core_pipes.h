// SPDX-License-Identifier: Apache-2.0
// Can these engines bring the tiles of both inputs as the instruction reads them, and has each pipe
// stages enough? Four local questions: how an input is filled (packed at load time or not); which
// engine copies which footprint of data that lies so; how work-items share the copies of a tile;
// how many stages readers and barriers need.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "schedule/mma/core.h"

namespace tilefuse::schedule {

// Why an input cannot be filled as the schedule says.
std::optional<std::string> wrong_fills(const Gemm &gemm);
// Why the instruction does not read what the pipes bring.
std::optional<std::string> wrong_pipes(const Gemm &gemm);
// Why a pipe has too few or too many stages.
std::optional<std::string> wrong_stages(const Gemm &gemm);
// Why work-items do not bring tiles by asynchronous copies, where they are to.
std::optional<std::string> wrong_async_copies(const Gemm &gemm);
// Whether the last copy of each row of an input brings fewer elements than the others.
bool core_cuts_runs(const Gemm &gemm, int input);
// Why so many work-items cannot share `rows` of `per_row` copies, each taking whole rows' places.
std::optional<std::string> wrong_sharing(std::int64_t items, std::int64_t rows,
                                         std::int64_t per_row);

} // namespace tilefuse::schedule
