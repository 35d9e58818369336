// SPDX-License-Identifier: Apache-2.0
// Trained filters in the orders that their products want (program/rewrite/store_filters.h), wherever
// the cost model predicts a product and its copy, split and launched as in a network, to be faster.
#pragma once

#include "program/program.h"
#include "search/network/kept_choices.h"
#include "target/target.h"

namespace tilefuse::search {

// Answers are taken over from `kept`, or added.
program::Program store_filters(const program::Program &program, const Target &target,
                               KeptChoices &kept);

} // namespace tilefuse::search
