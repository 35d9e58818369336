// SPDX-License-Identifier: Apache-2.0
// NVIDIA's OpenCL driver gives a built program as PTX text and takes such text back, which can say
// what OpenCL C has no word for.
#pragma once

#include <string>
#include <string_view>

namespace tilefuse::runtime {

// Every entry of a fixed block size asks for room for one block of a multiprocessor, as CUDA's
// `__launch_bounds__(N, 1)` does: else the assembler saves registers for more blocks than there
// are, and a work-item's reads wait for each other. What is not such text comes back as it is.
std::string ask_for_one_block(std::string_view binary);
// Changes with what that does to text: part of what a built kernel is filed under.
constexpr std::string_view kPtxEdition = "ptx3";

} // namespace tilefuse::runtime
