// SPDX-License-Identifier: Apache-2.0
// Intrinsics and tensor maps of a kernel in CUDA C++: inline PTX up to sm_90a.
#pragma once

#include <string_view>

#include "emit/c/c_context.h"

namespace tilefuse::emit {

// Until earlier kernels have ended; and: kernels launched later may be started.
inline constexpr std::string_view kCudaAwaitEarlier = "tf_await_earlier();";
inline constexpr std::string_view kCudaLetLater = "tf_let_later();";

// Lines.
std::vector<std::string> cuda_intrinsic(CContext &cx, const kernel::Intrinsic &node);

std::string cuda_map_parameters(const kernel::Kernel &kernel); // ", const TYPE t0, …"
std::string cuda_fetch_maps(const kernel::Kernel &kernel);     // a line of an entry point, or none

} // namespace tilefuse::emit
