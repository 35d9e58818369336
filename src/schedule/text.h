// SPDX-License-Identifier: Apache-2.0
// The text of a schedule: printed and parsed, exact in both directions. Texts in the words of the
// release before are read too (schedule/old_text.h).
#pragma once

#include <string>
#include <string_view>

#include "nest/nest.h"
#include "schedule/schedule.h"

namespace tilefuse::schedule {

std::string to_text(const nest::Nest &nest, const Schedule &schedule);
Schedule parse_schedule(const nest::Nest &nest, std::string_view text,
                        const std::string &file = "<schedule>");

} // namespace tilefuse::schedule
