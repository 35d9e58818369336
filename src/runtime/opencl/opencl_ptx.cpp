// SPDX-License-Identifier: Apache-2.0
#include "runtime/opencl/opencl_ptx.h"

#include <algorithm>

namespace tilefuse::runtime {
namespace {

constexpr std::string_view kBlockSize = ".reqntid";
constexpr std::string_view kBlocks = ".minnctapersm";

bool is_ptx(std::string_view text) {
  return text.find(".version") != std::string_view::npos &&
         text.find(".target sm_") != std::string_view::npos &&
         text.find(".entry") != std::string_view::npos;
}

} // namespace

std::string ask_for_one_block(std::string_view binary) {
  if (!is_ptx(binary) || binary.find(kBlocks) != std::string_view::npos)
    return std::string(binary);
  std::string text;
  for (;;) {
    const std::size_t word = binary.find(kBlockSize);
    if (word == std::string_view::npos)
      return text.append(binary);
    const std::size_t end = std::min(binary.find('\n', word), binary.size());
    text.append(binary.substr(0, end)).append("\n").append(kBlocks).append(" 1");
    binary.remove_prefix(end);
  }
}

} // namespace tilefuse::runtime
