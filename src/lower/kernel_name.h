// SPDX-License-Identifier: Apache-2.0
// Names of kernels: a profile line tells type, problem, schedule and target.
#pragma once

#include <string>

#include "nest/nest.h"
#include "poly/group.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace tilefuse::lower {

// Type, problem, schedule and target in one name: conv_f32_m64y56x56_c64r3s3__m16x6__cpu_avx2.
std::string kernel_name(const nest::Nest &nest, const schedule::Schedule &schedule,
                        const Target &target);
// The same behind the stems of the producers: conv_gemm_f32_….
std::string kernel_name(const poly::Group &group, const schedule::Schedule &schedule,
                        const Target &target);

} // namespace tilefuse::lower
