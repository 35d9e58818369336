// SPDX-License-Identifier: Apache-2.0
// What programs of few statements take, for choices among their forms.
#pragma once

#include <span>
#include <vector>

#include "program/program.h"
#include "program/rewrite/price.h"
#include "search/network/kept_choices.h"
#include "target/target.h"

namespace tilefuse::search {

// Seconds of the kernels of each program behind each other, each as the cost model picks it and
// splits its reduction. Taken over from `kept`, where names and origins do not matter, or found on
// all threads and added to it.
std::vector<double> predicted_seconds(std::span<const program::Program> programs,
                                      const Target &target, KeptChoices &kept);

// A rewriting that asks what programs take, wherever it finds them quicker in its form. What it asks
// of the given program is priced side by side, on all threads; what a choice before makes possible,
// when it is asked for.
using Rewriting = program::Program (*)(const program::Program &, const program::Price &);
program::Program rewritten_where_quicker(const program::Program &program, Rewriting rewriting,
                                         const Target &target, KeptChoices &kept);

} // namespace tilefuse::search
