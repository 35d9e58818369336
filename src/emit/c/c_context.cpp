// SPDX-License-Identifier: Apache-2.0
#include "emit/c/c_context.h"

#include <fmt/format.h>

namespace tilefuse::emit {

std::string CContext::select(int lanes, const std::string &condition, const std::string &a,
                             const std::string &b) const {
  return lanes == 1 ? fmt::format("({} ? {} : {})", condition, a, b)
                    : language.select(condition, a, b);
}

} // namespace tilefuse::emit
