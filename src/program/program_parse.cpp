// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/error.h"
#include "base/index.h"
#include "base/scanner.h"
#include "program/program.h"
#include "target/dtype_traits.h"

namespace tilefuse::program {
namespace {

constexpr int kMaxTensors = 1 << 20;
constexpr std::size_t kMaxIndices = 64;
constexpr std::size_t kMaxRank = 32;

class Parser {
public:
  Parser(std::string_view text, const std::string &file) : scanner_(text, file) {}

  Program parse() {
    scanner_.expect("program");
    program_.name = scanner_.expect_string("the program's name");
    program_.tf32 = scanner_.accept("tf32");
    scanner_.expect("{");
    while (!scanner_.accept("}"))
      line();
    if (!scanner_.at_end())
      scanner_.fail("the end of the text");
    return std::move(program_);
  }

private:
  [[noreturn]] void refuse(const Token &token, std::string message) const {
    throw Error(ErrorCode::Syntax, std::move(message), scanner_.where(token));
  }

  void line() {
    if (scanner_.accept("input"))
      program_.inputs.push_back(declaration(Role::Input));
    else if (scanner_.accept("const"))
      declaration(Role::Constant);
    else if (scanner_.accept("temp"))
      declaration(Role::Temporary);
    else if (scanner_.accept("output"))
      program_.outputs.push_back(known_id());
    else
      statement();
  }

  void statement() {
    Statement statement;
    statement.out = declaration(Role::Temporary);
    scanner_.expect("=");
    if (scanner_.accept("view"))
      statement.body = view();
    else if (scanner_.accept("map"))
      statement.body = map();
    else
      statement.body = contraction(program_[statement.out].type);
    if (scanner_.accept("from"))
      statement.origin = scanner_.expect_string("an origin");
    program_.statements.push_back(std::move(statement));
  }

  // The number of an ID token.
  int id() {
    const Token token = scanner_.peek();
    int number = -1;
    const char *end = token.text.data() + token.text.size();
    if (token.kind != TokenKind::Name || token.text.front() != '%')
      scanner_.fail("a tensor such as %0");
    const auto [stop, error] = std::from_chars(token.text.data() + 1, end, number);
    if (error != std::errc() || stop != end || number >= kMaxTensors)
      scanner_.fail(fmt::format("a tensor number below {}", kMaxTensors));
    scanner_.next();
    return number;
  }

  TensorId known_id() {
    const Token token = scanner_.peek();
    const auto number = static_cast<std::size_t>(id());
    if (number >= declared_.size() || !declared_[number])
      refuse(token, fmt::format("{} is not declared above", token.text));
    return TensorId{static_cast<int>(number)};
  }

  TensorId declaration(Role role) {
    const Token token = scanner_.peek();
    const int number = id();
    const auto at = static_cast<std::size_t>(number);
    if (at >= declared_.size()) {
      declared_.resize(at + 1, false);
      program_.tensors.resize(at + 1);
    }
    if (declared_[at])
      refuse(token, fmt::format("{} is declared twice", token.text));
    declared_[at] = true;
    Tensor tensor = tensor_type();
    tensor.role = role;
    if (scanner_.accept("hash"))
      tensor.data_hash = scanner_.expect_string("a hash");
    program_.tensors[at] = std::move(tensor);
    return TensorId{number};
  }

  Tensor tensor_type() {
    Tensor tensor;
    tensor.name = scanner_.expect_string("the tensor's name");
    scanner_.expect(":");
    const auto type = parse_dtype(scanner_.peek().text);
    if (!type)
      scanner_.fail("a type such as f32");
    tensor.type = *type;
    scanner_.next();
    list([&] { tensor.shape.push_back(scanner_.expect_integer("a dimension")); });
    if (tensor.shape.size() > kMaxRank)
      refuse(scanner_.peek(), fmt::format("a tensor has at most {} dimensions", kMaxRank));
    return tensor;
  }

  // '[' [item {',' item}] ']'
  template <typename Item> void list(const Item &item) {
    scanner_.expect("[");
    if (scanner_.accept("]"))
      return;
    do
      item();
    while (scanner_.accept(","));
    scanner_.expect("]");
  }

  View view() {
    scanner_.expect("(");
    const View view{known_id()};
    scanner_.expect(")");
    return view;
  }

  Map map() {
    Map map;
    list([&] { map.operands.push_back(known_id()); });
    std::vector<DType> types;
    for (TensorId operand : map.operands)
      types.push_back(program_[operand].type);
    scanner_.expect("(");
    map.expr = parse_expr(scanner_, types, std::nullopt);
    scanner_.expect(")");
    return map;
  }

  Contraction contraction(DType type) {
    Contraction result;
    const auto agg = parse_agg(scanner_.peek().text);
    if (!agg)
      scanner_.fail("sum, product, max, min, assign, map or view");
    result.agg = *agg;
    scanner_.next();
    list([&] { result.indices.push_back(scanner_.expect_name("an index")); });
    if (result.indices.size() > kMaxIndices)
      refuse(scanner_.peek(), fmt::format("a contraction has at most {} indices", kMaxIndices));
    operands(result, type);
    scanner_.expect("->");
    result.out = subscripts(result);
    if (scanner_.accept("where")) {
      do
        result.constraints.push_back(constraint(result));
      while (scanner_.accept(","));
    }
    if (scanner_.accept("init"))
      result.init = known_id();
    return result;
  }

  void operands(Contraction &result, DType type) {
    scanner_.expect("(");
    if (scanner_.at_end() || scanner_.peek().text.front() != '%')
      return term(result, traits(type).value);
    result.in.push_back(access(result));
    if (scanner_.accept("*"))
      result.comb = Comb::Mul;
    else if (scanner_.accept("+"))
      result.comb = Comb::Add;
    else if (scanner_.accept("=="))
      result.comb = Comb::Equal;
    if (result.comb != Comb::None)
      result.in.push_back(access(result));
    if (result.comb == Comb::Equal && scanner_.accept("?")) {
      result.comb = Comb::Select;
      result.in.push_back(access(result));
    }
    if (result.comb == Comb::None || result.comb == Comb::Mul)
      positions(result);
    scanner_.expect(")");
  }

  void positions(Contraction &result) {
    if (!scanner_.accept("at"))
      return;
    result.comb = Comb::Pick;
    do {
      result.picks.push_back(index(result));
      scanner_.expect("==");
      result.in.push_back(access(result));
    } while (scanner_.accept(","));
  }

  void term(Contraction &result, DType type) {
    const std::vector<DType> types(kMaxIndices, type);
    result.comb = Comb::Term;
    result.term = parse_expr(scanner_, types, std::nullopt);
    scanner_.expect("of");
    do
      result.in.push_back(access(result));
    while (scanner_.accept(","));
    scanner_.expect(")");
  }

  Access access(const Contraction &contraction) {
    const TensorId tensor = known_id();
    return {tensor, subscripts(contraction)};
  }

  std::vector<Affine> subscripts(const Contraction &contraction) {
    std::vector<Affine> result;
    list([&] {
      if (result.size() == kMaxRank)
        refuse(scanner_.peek(), fmt::format("at most {} subscripts are possible", kMaxRank));
      result.push_back(affine(contraction));
    });
    return result;
  }

  Constraint constraint(const Contraction &contraction) {
    if (scanner_.expect_integer("0") != 0)
      refuse(scanner_.peek(), "a constraint starts with 0 <=");
    scanner_.expect("<=");
    Constraint result;
    result.expr = affine(contraction);
    scanner_.expect("<");
    result.bound = scanner_.expect_integer("a bound");
    return result;
  }

  Affine affine(const Contraction &contraction) {
    Affine result;
    result.coeff.resize(contraction.indices.size());
    Rational sign = scanner_.accept("-") ? -1 : 1;
    while (true) {
      term(contraction, sign, result);
      if (scanner_.accept("+"))
        sign = 1;
      else if (scanner_.accept("-"))
        sign = -1;
      else
        return result;
    }
  }

  void term(const Contraction &contraction, const Rational &sign, Affine &sum) {
    Rational factor = sign;
    if (scanner_.peek().kind == TokenKind::Integer) {
      factor = sign * Rational(scanner_.expect_integer("a number"));
      if (scanner_.accept("/"))
        factor = factor / Rational(scanner_.expect_integer("a number"));
      if (!scanner_.accept("*")) {
        sum.constant = sum.constant + factor;
        return;
      }
    }
    Rational &coeff = sum.coeff[index(contraction)];
    coeff = coeff + factor;
  }

  std::size_t index(const Contraction &contraction) {
    const Token token = scanner_.peek();
    const std::string name = scanner_.expect_name("an index or a number");
    const auto &names = contraction.indices;
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
      refuse(token, fmt::format("'{}' is not an index of the contraction", name));
    return at(found - names.begin());
  }

  Scanner scanner_;
  Program program_;
  std::vector<bool> declared_;
};

} // namespace

Program parse_program(std::string_view text, const std::string &file) {
  return Parser(text, file).parse();
}

} // namespace tilefuse::program
