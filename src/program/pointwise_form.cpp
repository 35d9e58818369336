// SPDX-License-Identifier: Apache-2.0
#include "program/pointwise_form.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "base/index.h"

namespace tilefuse::program {
namespace {

// The index that a subscript is, or nothing where it is more than one index.
std::optional<std::size_t> plain_index(const Affine &subscript) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < subscript.coeff.size(); ++i) {
    if (subscript.coeff[i] == Rational(0))
      continue;
    if (found || subscript.coeff[i] != Rational(1))
      return {};
    found = i;
  }
  return subscript.constant == Rational(0) ? found : std::nullopt;
}

// Index k is subscript k of the result.
bool is_identity(const Contraction &contraction) {
  if (contraction.out.size() != contraction.indices.size())
    return false;
  for (std::size_t k = 0; k < contraction.out.size(); ++k)
    if (plain_index(contraction.out[k]) != k)
      return false;
  return true;
}

// What a pointwise statement has to write for an operand; nothing where it cannot.
std::optional<std::string> operand_text(const Program &program, const Access &access,
                                        const Shape &result) {
  const Tensor &tensor = program[access.tensor];
  Shape shape(result.size(), 1);
  std::size_t next = 0;
  for (std::size_t d = 0; d < access.subscripts.size(); ++d) {
    const std::optional<std::size_t> index = plain_index(access.subscripts[d]);
    if (!index || *index < next || tensor.shape[d] != result[*index])
      return {};
    shape[*index] = result[*index];
    next = *index + 1;
  }
  const std::string name = tensor.name.empty() ? "its operand" : tensor.name;
  return shape == tensor.shape ? name
                               : fmt::format("reshape({}, {})", name, fmt::join(shape, ", "));
}

} // namespace

std::vector<PointwiseForm> pointwise_forms(const Program &program) {
  std::vector<PointwiseForm> forms;
  for (std::size_t s = 0; s < program.statements.size(); ++s) {
    const auto *contraction = std::get_if<Contraction>(&program.statements[s].body);
    if (contraction == nullptr || contraction->init || !contraction->constraints.empty() ||
        !is_identity(*contraction))
      continue;
    PointwiseForm form{.statement = s};
    bool has_computed = false;
    for (const Access &access : contraction->in) {
      const Shape &result = program[program.statements[s].out].shape;
      if (const auto text = operand_text(program, access, result))
        form.operands.push_back(*text);
      has_computed |= program[access.tensor].role == Role::Temporary;
    }
    if (has_computed && form.operands.size() == contraction->in.size())
      forms.push_back(std::move(form));
  }
  return forms;
}

} // namespace tilefuse::program
