// SPDX-License-Identifier: Apache-2.0
// The schedules that were weighed for a nest: the chosen one, those that lost and by which part of
// their predicted time, and what stands next to the choice but is refused or slower.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "search/pick.h"

namespace tilefuse::report {

// `ranked` is best first and not empty; `is_chosen` where the kernel is compiled with the best.
std::string candidates_text(const nest::Nest &nest, const Target &target,
                            const std::vector<search::Candidate> &ranked, bool is_chosen);

// The parts of the predicted time that are larger than the best's, over the whole kernel, largest
// growth first, two at most: "compute 35.2 us, best 30.1". Growth below 1 % of the part or of the
// kernel is left out.
std::string worse_parts(const cost::Estimate &estimate, const cost::Estimate &best);

} // namespace tilefuse::report
