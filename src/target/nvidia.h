// SPDX-License-Identifier: Apache-2.0
// Generations of NVIDIA's GPUs, ten times the compute capability. For this folder, the devices that
// report themselves and what writes assembly; others ask for a feature (target/features.h).
#pragma once

#include "target/target.h"

namespace tilefuse {

// The generation in a target's isa, 90 of "sm_90a" and of "CL1.2 sm_90"; 0: there is none.
int nvidia_generation(const Target &target);

// Those of the features that this generation has (0: a device of another vendor): a row may be of
// another one than the device. Features that no generation adds or drops stay.
Features of_generation(Features features, int generation);

// Whether it has dp4a, the dot products of four bytes (PTX ISA, integer arithmetic instructions).
bool has_dp4a(int generation);

} // namespace tilefuse
