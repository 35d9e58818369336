// SPDX-License-Identifier: Apache-2.0
// Fragments of matrix instructions as variables: operands as the 4-byte words that the instructions
// take (values of half types have no C type of their own), accumulators as their values.
#pragma once

#include "emit/c/c_context.h"

namespace tilefuse::emit {

using Words = std::vector<std::string>;

// By BufferId: register arrays that are held as words.
std::vector<bool> fragment_buffers(const kernel::Kernel &kernel);
std::string declare_words(const CContext &cx, kernel::BufferId id);

// The words of `count` values from a constant index on.
Words fragment_words(const CContext &cx, const kernel::RegisterRef &ref, std::int64_t count);

// The values of an accumulator: variables, or lanes of one.
Words accumulator_names(const CContext &cx, const kernel::RegisterRef &ref,
                        const Fragment &fragment);

} // namespace tilefuse::emit
