// SPDX-License-Identifier: Apache-2.0
// First layers as matrix units want them (program/rewrite/first_layer.h), and those of their
// gradients that the cost model predicts to be faster so, with all launches of both forms.
#pragma once

#include "program/program.h"
#include "target/target.h"

namespace tilefuse::search {

program::Program lay_out_first_layers(const program::Program &program, const Target &target);

// Of the program's kernels behind each other, each as the cost model picks it and splits its
// reduction.
double predicted_seconds(const program::Program &program, const Target &target);

} // namespace tilefuse::search
