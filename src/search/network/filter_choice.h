// SPDX-License-Identifier: Apache-2.0
// Trained filters in the orders that their products want (program/rewrite/store_filters.h), wherever
// the cost model predicts a product and its copy, split and launched as in a network, to be faster.
#pragma once

#include "program/program.h"
#include "target/target.h"

namespace tilefuse::search {

program::Program store_filters(const program::Program &program, const Target &target);

} // namespace tilefuse::search
