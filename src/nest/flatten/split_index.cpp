// SPDX-License-Identifier: Apache-2.0
#include "nest/flatten/split_index.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "base/error.h"
#include "nest/index.h"

namespace tilefuse::nest {
namespace {

std::string unused_name(const Nest &nest, std::string name) {
  const auto is_taken = [&](const std::string &tried) {
    return std::any_of(nest.indices.begin(), nest.indices.end(),
                       [&](const Index &index) { return index.name == tried; });
  };
  for (int n = 1; is_taken(name); ++n)
    name = fmt::format("{}{}", name.substr(0, name.find_last_not_of("0123456789") + 1), n);
  return name;
}

// "y_x" becomes y and x, any other name, as "m_0", gets a number.
void name_parts(Nest &nest, std::size_t index) {
  const std::string whole = nest.indices[index].name;
  const std::size_t cut = whole.rfind('_');
  const bool parts = cut != std::string::npos && cut > 0 && cut + 1 < whole.size() &&
                     std::isalpha(static_cast<unsigned char>(whole[cut + 1])) != 0;
  nest.indices[index].name.clear();
  nest.indices[index].name = unused_name(nest, parts ? whole.substr(0, cut) : whole);
  nest.indices[index + 1].name = unused_name(nest, parts ? whole.substr(cut + 1) : whole + "1");
}

void split_form(Linear &form, std::size_t index, std::int64_t inner) {
  const std::int64_t coeff = form.coeff[index];
  form.coeff[index] = coeff * inner;
  form.coeff.insert(form.coeff.begin() + static_cast<std::ptrdiff_t>(index) + 1, coeff);
}

// The dimension that both parts run over alone is taken apart too.
void split_operand(Operand &operand, const std::vector<Index> &indices, std::size_t index,
                   std::int64_t inner) {
  for (std::size_t d = 0; d < operand.dims.size(); ++d) {
    split_form(operand.dims[d].at, index, inner);
    const Dim whole = operand.dims[d];
    Linear alone{0, std::vector<std::int64_t>(indices.size(), 0)};
    alone.coeff[index] = inner;
    alone.coeff[index + 1] = 1;
    if (whole.at != alone || whole.guarded || whole.size % inner != 0)
      continue;
    Dim slow{alone, whole.size / inner, whole.stride * inner, false};
    Dim fast{alone, inner, whole.stride, false};
    slow.at.coeff[index] = 1;
    slow.at.coeff[index + 1] = 0;
    fast.at.coeff[index] = 0;
    operand.dims[d] = slow;
    operand.dims.insert(operand.dims.begin() + static_cast<std::ptrdiff_t>(++d), fast);
  }
}

} // namespace

Nest split_index(const Nest &nest, IndexId position, std::int64_t inner) {
  const std::size_t index = at(position);
  TILEFUSE_CHECK(nest.indices[index].extent % inner == 0, "an index is split unevenly");
  Nest split = nest;
  split.indices[index].extent /= inner;
  split.indices.insert(split.indices.begin() + to_int(position) + 1, Index{"", inner});
  name_parts(split, index);
  for (Operand &input : split.inputs)
    split_operand(input, split.indices, index, inner);
  split_operand(split.out, split.indices, index, inner);
  for (Operand &extra : split.extras)
    split_operand(extra, split.indices, index, inner);
  for (Constraint &constraint : split.constraints)
    split_form(constraint.expr, index, inner);
  split.output_indices += is_output(nest, position) ? 1 : 0;
  return split;
}

} // namespace tilefuse::nest
