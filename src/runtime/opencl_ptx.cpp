// SPDX-License-Identifier: Apache-2.0
#include "runtime/opencl_ptx.h"

#include <algorithm>
#include <charconv>

namespace tilefuse::runtime {
namespace {

constexpr std::string_view kBlockSize = ".reqntid";
constexpr int kMostItems = 256;
constexpr std::string_view kBlocks = ".minnctapersm";

bool is_ptx(std::string_view text) {
  return text.find(".version") != std::string_view::npos &&
         text.find(".target sm_") != std::string_view::npos &&
         text.find(".entry") != std::string_view::npos;
}

// The first of " 256, 1, 1": our blocks have one dimension.
int items_of(std::string_view sizes) {
  int items = kMostItems + 1;
  sizes.remove_prefix(std::min(sizes.find_first_not_of(" \t"), sizes.size()));
  std::from_chars(sizes.data(), sizes.data() + sizes.size(), items);
  return items;
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
    text.append(binary.substr(0, end));
    if (items_of(binary.substr(word + kBlockSize.size(), end - word - kBlockSize.size())) <=
        kMostItems)
      text.append("\n").append(kBlocks).append(" 1");
    binary.remove_prefix(end);
  }
}

} // namespace tilefuse::runtime
