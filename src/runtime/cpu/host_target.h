// SPDX-License-Identifier: Apache-2.0
// This machine's processor as a target: what instructions it has, its caches, its name.
#pragma once

#include <string>

#include "target/target.h"

namespace tilefuse::runtime {

// Error{Device} where an instruction is missing that generated code needs.
Target host_target(int threads);

// "AMD EPYC (2 threads, AVX-512)".
std::string processor_name(const Target &target, int threads);

} // namespace tilefuse::runtime
