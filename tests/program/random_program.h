// SPDX-License-Identifier: Apache-2.0
// Random programs of contractions (every aggregate and combination, strides, fractions,
// constraints, inits), maps and views, drawn by RapidCheck. To be called within a property.
#pragma once

#include "program/program.h"

namespace tilefuse::program::testing {

Program random_program();

} // namespace tilefuse::program::testing
