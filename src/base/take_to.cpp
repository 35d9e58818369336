// SPDX-License-Identifier: Apache-2.0
#include "base/take_to.h"

#include <algorithm>

namespace tilefuse {

std::string_view take_to(std::string_view &text, std::string_view mark) {
  const std::size_t end = std::min(text.find(mark), text.size());
  const std::string_view taken = text.substr(0, std::min(end + 1, text.size()));
  text.remove_prefix(taken.size());
  return taken;
}

} // namespace tilefuse
