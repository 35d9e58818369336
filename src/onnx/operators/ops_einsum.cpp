// SPDX-License-Identifier: Apache-2.0
// Einsum is a contraction by nature: its letters are indices. More than two operands meet pairwise,
// from the left; what no later operand and not the result reads is summed at once.
#include <algorithm>

#include <fmt/format.h>

#include "base/index.h"
#include "onnx/operators.h"

namespace tilefuse::onnx_import {
namespace {

// One operand: a letter per dimension. Dimensions of "..." have letters that no equation can write.
struct Term {
  std::string letters;
  Value value;
};

constexpr char kFirstEllipsis = '\x01';

std::string without_spaces(std::string text) {
  std::erase(text, ' ');
  return text;
}

std::vector<std::string> split(const std::string &text) {
  std::vector<std::string> parts(1);
  for (const char c : text)
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

// "...ab" for `hidden` dimensions that the ellipsis stands for, right-aligned with those of others.
std::string expanded(std::string letters, std::size_t hidden, std::size_t most) {
  const std::size_t dots = letters.find("...");
  if (dots == std::string::npos)
    return letters;
  std::string names;
  for (std::size_t i = most - hidden; i < most; ++i)
    names += static_cast<char>(kFirstEllipsis + static_cast<char>(i));
  return letters.replace(dots, 3, names);
}

std::size_t hidden_dims(const Call &call, const std::string &letters, std::size_t rank) {
  const bool has_dots = letters.find("...") != std::string::npos;
  const std::size_t written = letters.size() - (has_dots ? 3 : 0);
  constexpr std::size_t kMost = 8;
  if (written > rank || (!has_dots && written != rank) || rank - written > kMost)
    call.fail(ErrorCode::Shape, fmt::format("term {} does not fit rank {}", letters, rank));
  return rank - written;
}

// The letters that occur once over all terms, in alphabetical order, after those of the ellipsis.
std::string implicit_result(const std::vector<std::string> &terms) {
  std::string all, result;
  bool has_dots = false;
  for (const std::string &term : terms)
    for (const char c : term) {
      has_dots = has_dots || c == '.';
      if (c != '.')
        all += c;
    }
  std::sort(all.begin(), all.end());
  for (const char c : all)
    if (std::count(all.begin(), all.end(), c) == 1)
      result += c;
  return (has_dots ? "..." : "") + result;
}

struct Equation {
  std::vector<std::string> terms;
  std::string result;
};

Equation read_equation(const Call &call) {
  const std::string text = without_spaces(call.text("equation", ""));
  const std::size_t arrow = text.find("->");
  Equation equation{split(text.substr(0, arrow)), {}};
  if (equation.terms.size() != call.inputs())
    call.fail(ErrorCode::Shape, fmt::format("its equation has {} terms for {} operands",
                                            equation.terms.size(), call.inputs()));
  equation.result =
      arrow == std::string::npos ? implicit_result(equation.terms) : text.substr(arrow + 2);
  std::size_t most = 0;
  std::vector<std::size_t> hidden;
  for (std::size_t i = 0; i < equation.terms.size(); ++i) {
    hidden.push_back(hidden_dims(call, equation.terms[i], call.value(i).shape.size()));
    most = std::max(most, hidden.back());
  }
  for (std::size_t i = 0; i < equation.terms.size(); ++i)
    equation.terms[i] = expanded(equation.terms[i], hidden[i], most);
  equation.result = expanded(equation.result, most, most);
  for (const char letter : equation.result)
    if (std::count(equation.result.begin(), equation.result.end(), letter) != 1 ||
        std::none_of(equation.terms.begin(), equation.terms.end(), [&](const std::string &term) {
          return term.find(letter) != std::string::npos;
        }))
      call.fail(ErrorCode::Shape, "its result names an index twice, or one that no operand has");
  return equation;
}

// The size of a letter, where a dimension of 1 repeats.
std::int64_t size_of(const Call &call, char letter, const std::vector<Term> &terms) {
  std::int64_t size = 1;
  for (const Term &term : terms)
    for (std::size_t d = 0; d < term.letters.size(); ++d) {
      const std::int64_t here = term.value.shape[d];
      if (term.letters[d] != letter || here == 1)
        continue;
      if (size != 1 && size != here)
        call.fail(ErrorCode::Shape, fmt::format("index {} is {} and {}", letter, size, here));
      size = here;
    }
  return size;
}

program::Affine only(std::size_t index, std::size_t count) {
  program::Affine affine{std::vector<Rational>(count, Rational(0)), Rational(0)};
  if (index < count)
    affine.coeff[index] = Rational(1);
  return affine;
}

program::Access access_of(const Term &term, int position, const std::string &indices) {
  program::Access access{program::TensorId{position}, {}};
  for (std::size_t d = 0; d < term.letters.size(); ++d)
    access.subscripts.push_back(only(
        term.value.shape[d] == 1 ? indices.size() : indices.find(term.letters[d]), indices.size()));
  return access;
}

// The product of one or two terms, summed over the letters that the result lacks.
Term contract(const Call &call, const std::vector<Term> &terms, const std::string &result) {
  std::string indices = result;
  for (const Term &term : terms)
    for (const char c : term.letters)
      if (indices.find(c) == std::string::npos)
        indices += c;
  program::Contraction sum{.agg = program::Agg::Sum,
                           .comb = terms.size() == 2 ? program::Comb::Mul : program::Comb::None};
  program::Shape shape;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const std::int64_t size = size_of(call, indices[i], terms);
    sum.indices.push_back(fmt::format("i{}", i));
    if (i < result.size()) {
      sum.out.push_back(only(i, indices.size()));
      shape.push_back(size);
    } else if (size == 1) {
      sum.constraints.push_back({only(i, indices.size()), 1});
    }
  }
  std::vector<Value> operands;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    sum.in.push_back(access_of(terms[i], static_cast<int>(i), indices));
    operands.push_back(terms[i].value);
  }
  call.elems(shape);
  return {result, call.contract(sum, operands, shape)};
}

} // namespace

void import_einsum(Call &call) {
  const Equation equation = read_equation(call);
  Term left{equation.terms[0], call.value(0)};
  if (equation.terms.size() == 1)
    left = contract(call, {left}, equation.result);
  for (std::size_t i = 1; i < equation.terms.size(); ++i) {
    const Term right{equation.terms[i], call.value(i)};
    std::string later = equation.result;
    for (std::size_t j = i + 1; j < equation.terms.size(); ++j)
      later += equation.terms[j];
    std::string kept;
    for (const char c : left.letters + right.letters)
      if (later.find(c) != std::string::npos && kept.find(c) == std::string::npos)
        kept += c;
    const bool is_last = i + 1 == equation.terms.size();
    left = contract(call, {left, right}, is_last ? equation.result : kept);
  }
  call.result(left.value);
}

} // namespace tilefuse::onnx_import
