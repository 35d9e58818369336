// SPDX-License-Identifier: Apache-2.0
// Schedules without tuning: every legal point of a small space around the known good forms, ranked
// by the cost model. No device is needed and the answer is the same every time.
#pragma once

#include <optional>
#include <vector>

#include "nest/nest.h"
#include "schedule/schedule.h"
#include "search/candidate.h"
#include "target/target.h"

namespace tilefuse::search {

// The best `count` candidates, best first; at least one, the scalar schedule when nothing else is
// legal.
std::vector<Candidate> candidates(const nest::Nest &nest, const Target &target, std::size_t count);

schedule::Schedule pick(const nest::Nest &nest, const Target &target);

// The best schedule that rounds f32 operands to tf32, where it is predicted to beat pick()'s.
std::optional<schedule::Schedule> pick_tf32(const nest::Nest &nest, const Target &target);

} // namespace tilefuse::search
