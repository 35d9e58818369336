// SPDX-License-Identifier: Apache-2.0
#include "emit/c/coarse_math.h"

#include <fmt/format.h>

namespace tilefuse::emit {

std::string coarse_erf(std::string_view type, std::string_view exp2, std::string_view mad) {
  std::string text =
      fmt::format("{{\n  const {} t = fabs(x);\n  {} p = {:.9g}f;\n", type, type, kLogErfc.back());
  for (std::size_t i = kLogErfc.size() - 1; i-- > 0;)
    text += fmt::format("  p = {};\n", fmt::format(fmt::runtime(mad), "p", "t",
                                                   fmt::format("{:.9g}f", kLogErfc[i])));
  return text + fmt::format("  const {0} large = copysign(1.0f - {1}(p * t), x);\n"
                            "  const {0} small = x * ({2:.9g}f - {3:.9g}f * x * x);\n"
                            "  return t < {4:.9g}f ? small : large;\n}}",
                            type, exp2, kSlope, kCubic, kNearZero);
}

} // namespace tilefuse::emit
