// SPDX-License-Identifier: Apache-2.0
// Convolutions by Winograd's algorithms (rewrite.h).
#pragma once

#include "program/rewrite/rewriter.h"

namespace tilefuse::program {

// Appends the product's statements as F(outputs x outputs, 3x3); or says why it does not fit, and
// appends nothing.
std::string rewrite_winograd(Program &program, const Product &product, int outputs);

} // namespace tilefuse::program
