// SPDX-License-Identifier: Apache-2.0
// Whether a narrower type pays on a device, by the cost model, before it is used.
#pragma once

#include <string>

#include "api/engine.h"
#include "api/options.h"
#include "model/precision.h"
#include "program/program.h"

namespace tilefuse::api {

// A sentence where the precision that options ask for is predicted to be slower on the engine's
// device than the program as it is; else empty. What the search answers is kept for the compilation
// behind it.
std::string precision_warning(const program::Program &program,
                              const model::AppliedPrecision &applied, const Options &options,
                              const Engine &engine);

} // namespace tilefuse::api
