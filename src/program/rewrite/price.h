// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "program/program.h"

namespace tilefuse::program {

// What a program takes, seconds.
using Price = std::function<double(const Program &)>;

} // namespace tilefuse::program
