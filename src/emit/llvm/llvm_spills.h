// SPDX-License-Identifier: Apache-2.0
// Spills of machine code, counted in its text.
#pragma once

#include <string_view>

namespace tilefuse::emit {

// Instructions of innermost loops that read or write a vector on the stack: spills that cost time.
// `assembly` is what llvm_assembly gives; an innermost loop is a backward jump that encloses no
// other.
int count_loop_spills(std::string_view assembly);

} // namespace tilefuse::emit
