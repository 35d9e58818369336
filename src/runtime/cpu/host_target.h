// SPDX-License-Identifier: Apache-2.0
// This machine's processor as a target: what instructions it has, its caches, its name.
#pragma once

#include <string>
#include <string_view>

#include "target/target.h"

namespace tilefuse::runtime {

// `instructions`: "avx512_amx", "avx512_vnni", "avx512", "avx2_vnni" or "avx2", where the processor
// has more too; "": the first of them that it has. Error{Device} where it lacks an instruction of
// theirs, or where the system does not let this process use it.
Target host_target(int threads, std::string_view instructions = {});

// "AMD EPYC (2 threads, AVX-512)".
std::string processor_name(const Target &target, int threads);

} // namespace tilefuse::runtime
