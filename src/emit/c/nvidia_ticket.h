// SPDX-License-Identifier: Apache-2.0
// A ticket as inline assembly, in CUDA C++ and in NVIDIA's OpenCL C, from compute capability 7.0
// on: what lies behind a barrier in front of it is seen by whoever takes a later one.
#pragma once

#include <string_view>

namespace tilefuse::emit {

inline constexpr std::string_view kNvidiaTicket =
    "{{ int found; asm volatile(\"atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;\" : \"=r\"(found) : "
    "\"l\"({1}) : \"memory\"); {0} = found; }}";

} // namespace tilefuse::emit
