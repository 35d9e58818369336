// SPDX-License-Identifier: Apache-2.0
// What the module tilefuse_llvm offers beside its emitter.
#pragma once

#include <string>
#include <string_view>

#include "kernel/nodes.h"
#include "target/target.h"

namespace tilefuse::emit {

// The assembly text of a kernel, as `opt --to=package` shows it. Error{Unsupported} when the module
// is not there.
std::string llvm_assembly(const kernel::Kernel &kernel, const Target &target);

// Instructions of innermost loops that read or write a vector on the stack: spills that cost time.
// `assembly` is what llvm_assembly gives; an innermost loop is a backward jump that encloses no
// other.
int count_loop_spills(std::string_view assembly);

} // namespace tilefuse::emit
