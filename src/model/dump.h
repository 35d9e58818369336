// SPDX-License-Identifier: Apache-2.0
// Every level of a compilation as numbered text files.
#pragma once

#include <string>

#include "model/compiled.h"

namespace tilefuse::model {

// Writes program.txt, simplified.txt and, per launch, NNN.group, NNN.schedule, NNN.cost and
// NNN.PASS.kernel into `directory`, which is created. Of a launch of several kernels, NNN.launch,
// NNN.kernel, and the others by part (NNN.part0.group). Throws Error{Io} when that fails.
void dump_levels(const std::string &directory, const program::Program &program,
                 const Compiled &compiled, const Target &target);

// Adds plan.txt to a dump.
void dump_plan(const std::string &directory, const std::string &plan);

} // namespace tilefuse::model
