// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "program/program.h"

namespace tilefuse::program {

// By tensor how often statements read it and outputs name it.
std::vector<int> count_readers(const Program &program);

} // namespace tilefuse::program
