// SPDX-License-Identifier: Apache-2.0
// The story of a fusion (poly/fusion_story.h) as text.
#pragma once

#include <string>

#include "poly/fusion_story.h"

namespace tilefuse::report {

std::string to_text(const poly::FusionStory &story);

} // namespace tilefuse::report
