// SPDX-License-Identifier: Apache-2.0
// A sum of products as a plain matrix product of copied operands (rewrite.h).
#pragma once

#include "program/rewrite/rewriter.h"

namespace tilefuse::program {

// Appends the product's statements in another form; or says why it does not fit, and appends
// nothing.
std::string rewrite_im2col(Program &program, const Product &product);

} // namespace tilefuse::program
