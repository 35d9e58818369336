// SPDX-License-Identifier: Apache-2.0
#include "poly/isl/exact_count.h"

#include <fmt/format.h>

#include <string>

#include "poly/isl/isl_objects.h"

namespace tilefuse::poly {

std::optional<std::int64_t> exact_count(const nest::Linear &form, std::int64_t divisor,
                                        std::span<const Progression> variables, std::int64_t size) {
  std::string names;
  std::int64_t constant = form.constant;
  std::string sum;
  std::string bounds;
  for (std::size_t v = 0; v < variables.size(); ++v) {
    const Progression &values = variables[v];
    names += fmt::format("{}v{}", v == 0 ? "" : ", ", v);
    constant += form.coeff[v] * values.first;
    sum += fmt::format(" + {}v{}", form.coeff[v] * values.step, v);
    bounds += fmt::format(" and 0 <= v{} < {}", v, values.count());
  }
  const Points all(fmt::format("{{ [x] : exists {} : {}x = {}{} and 0 <= x < {}{} }}", names,
                               divisor, constant, sum, size, bounds));
  return all.count();
}

} // namespace tilefuse::poly
