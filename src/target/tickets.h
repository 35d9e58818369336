// SPDX-License-Identifier: Apache-2.0
// Whether blocks of one launch can count themselves in (kernel::Ticket), which takes release and
// acquire among all blocks of the device: NVIDIA GPUs from compute capability 7.0 on, through CUDA
// and, as inline assembly, through their OpenCL; other OpenCL devices whose driver reports atomic
// operations of that order and scope. A target says so by its isa: "sm_90a", "CL1.2 sm_89",
// "CL3.0 device_atomics".
#pragma once

#include "target/target.h"

namespace tilefuse {

inline constexpr std::string_view kDeviceAtomics = "device_atomics";

enum class Tickets { None, Nvidia, Atomics };
Tickets tickets(const Target &target);

} // namespace tilefuse
