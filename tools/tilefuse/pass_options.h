// SPDX-License-Identifier: Apache-2.0
// --time-passes and --disable-pass of verbs that take a program or a model.
#pragma once

#include "base/pass_context.h"

namespace CLI {
class App;
}

namespace tilefuse::tool {

// Declares them. `passes` must outlive parsing.
void add_pass_options(CLI::App &verb, PassContext &passes);

// The table of --time-passes on stderr, where that was given: a line per pass, in the order of
// first runs.
void report_passes(const PassContext &passes);

} // namespace tilefuse::tool
