// SPDX-License-Identifier: Apache-2.0
// Tensor maps, and intrinsics by the rows of their table.
#include <utility>

#include <fmt/format.h>

#include "kernel/rules.h"
#include "kernel/text/text_parser.h"

namespace tilefuse::kernel {
namespace {

constexpr std::size_t kMaxNumbers = 8;

} // namespace

// "[1, -2, 3]".
std::vector<std::int64_t> TextParser::numbers(std::string_view what) {
  std::vector<std::int64_t> list;
  in_.expect(what);
  in_.expect("[");
  do {
    list.push_back(in_.expect_integer("an integer"));
  } while (list.size() < kMaxNumbers && in_.accept(","));
  in_.expect("]");
  return list;
}

void TextParser::tensor_map() {
  const Token at = in_.peek();
  TensorMap map{.name = new_name()};
  in_.expect("=");
  map.tensor = buffer_name();
  in_.expect("+");
  map.offset = in_.expect_integer("an offset");
  map.dims = numbers("dims");
  map.strides = numbers("strides");
  map.box = numbers("box");
  if (in_.is("lower")) {
    map.lower = numbers("lower");
    map.upper = numbers("upper");
  }
  if (in_.is("steps"))
    map.steps = numbers("steps");
  in_.expect("swizzle");
  map.swizzle = static_cast<int>(ranged("a swizzle", 32, 128));
  require(tensor_map_rule(kernel_, map), at);
  const std::string name = map.name;
  maps_.emplace(name, to_.tensor_map(std::move(map)));
}

std::vector<ExprRef> TextParser::int_list(std::string_view what) {
  std::vector<ExprRef> list;
  in_.expect("[");
  do {
    list.push_back(int_expr(what));
  } while (list.size() < kMaxNumbers && in_.accept(","));
  in_.expect("]");
  return list;
}

MapId TextParser::map_name() {
  const auto found = maps_.find(std::string(in_.peek().text));
  if (found == maps_.end())
    in_.fail("the name of a tensor map");
  in_.next();
  return found->second;
}

void TextParser::read(const Operand &, const ElementOperand &to) {
  const RegisterRef at = element();
  *to.buffer = at.buffer;
  *to.index = at.index;
}

void TextParser::read(const Operand &operand, const RunOperand &to) {
  const Token at = in_.peek();
  const Access place = access(buffer_name());
  if (place.stride != 1)
    require(fmt::format("{} copies neighbouring elements, without stride", operand.what), at);
  *to.buffer = place.buffer;
  *to.index = place.index;
  *to.elems = place.lanes;
  *to.valid = place.valid;
}

void TextParser::read(const Operand &operand, const ExprOperand &to) {
  *to.at = to.is_int ? int_expr(operand.what) : expr();
}

void TextParser::read(const Operand &operand, const ListOperand &to) {
  *to.at = int_list(operand.what);
}

void TextParser::read(const Operand &operand, const NumberOperand &to) {
  to.set(ranged(operand.what, to.low, to.high));
}

// Whether an operand comes next, behind its word.
bool TextParser::has(const Operand &operand) {
  if (operand.may_lack)
    return operand.word.empty() ? in_.peek().kind == TokenKind::Integer : in_.accept(operand.word);
  if (operand.word == "+=") {
    in_.expect("+");
    in_.expect("=");
  } else if (!operand.word.empty()) {
    in_.expect(operand.word);
  }
  return true;
}

StmtRef TextParser::intrinsic(Intrinsic node) {
  const Token at = in_.next();
  for (const Operand &operand : operands(node))
    if (has(operand))
      std::visit([&](const auto &to) { read(operand, to); }, operand.at);
    else if (const auto *number = std::get_if<NumberOperand>(&operand.at))
      number->set(number->absent());
  require(row_of(node).rule(kernel_, node), at);
  return to_.intrinsic(std::move(node));
}

} // namespace tilefuse::kernel
