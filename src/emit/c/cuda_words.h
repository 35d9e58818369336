// SPDX-License-Identifier: Apache-2.0
// Vectors of half types held as words (c_words.h), in CUDA C++.
#pragma once

#include <string>

#include "emit/c/c_context.h"

namespace tilefuse::emit {

// `lanes` elements as words, 0 where they are not valid. Neighbours are read by the words that hold
// them, of which the first and the last may hold another element, and shifted.
std::string words_text(CContext &cx, const kernel::Load &load, int lanes);

} // namespace tilefuse::emit
