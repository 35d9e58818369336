// SPDX-License-Identifier: Apache-2.0
// First layers as matrix units want them (program/rewrite/first_layer.h), and those of their
// gradients that the cost model predicts to be faster so, with all launches of both forms.
#pragma once

#include "program/program.h"
#include "search/network/kept_choices.h"
#include "target/target.h"

namespace tilefuse::search {

// Answers are taken over from `kept`, or added.
program::Program lay_out_first_layers(const program::Program &program, const Target &target,
                                      KeptChoices &kept);

} // namespace tilefuse::search
