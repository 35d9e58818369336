// SPDX-License-Identifier: Apache-2.0
#include "program/precision/integer_share.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/index.h"
#include "program/rewrite/rewriter.h"
#include "target/dtype_traits.h"

namespace tilefuse::program {
namespace {

bool is_product(const Statement &statement) {
  const auto *body = std::get_if<Contraction>(&statement.body);
  return body != nullptr && body->agg == Agg::Sum && body->comb == Comb::Mul;
}

double multiply_adds(const Program &program, const Statement &statement) {
  double count = 1;
  if (const std::optional<Product> product = product_of(program, statement))
    for (const std::int64_t extent : product->extents)
      count *= static_cast<double>(extent);
  else
    count = static_cast<double>(elems(program[statement.out].shape));
  return count;
}

// What is dequantised: a map of integers of 8 bits.
bool is_dequantized(const Program &program, TensorId id) {
  for (const Statement &statement : program.statements)
    if (const auto *map = std::get_if<Map>(&statement.body); map != nullptr && statement.out == id)
      return std::any_of(map->operands.begin(), map->operands.end(),
                         [&](TensorId operand) { return is_narrow(program[operand].type); });
  return false;
}

std::string origin_of(const Program &program, TensorId id) {
  for (const Statement &statement : program.statements)
    if (statement.out == id && !statement.origin.empty())
      return fmt::format("what {} gives", statement.origin);
  return fmt::format("\"{}\"", program[id].name);
}

std::string reason(const Program &program, const Contraction &body) {
  for (const Access &access : body.in)
    if (is_float(program[access.tensor].type) && !is_dequantized(program, access.tensor) &&
        program[access.tensor].role != Role::Constant)
      return fmt::format("{} is not quantised", origin_of(program, access.tensor));
  for (const Access &access : body.in)
    if (program[access.tensor].role == Role::Constant)
      return fmt::format("its weights \"{}\" are no integers times a scale for each result",
                         program[access.tensor].name);
  return "scales vary along what is summed, or sums are longer than 32 bits hold";
}

} // namespace

bool is_quantized(const Program &program) {
  return std::any_of(program.tensors.begin(), program.tensors.end(),
                     [](const Tensor &tensor) {
                       return tensor.type == DType::I8 || tensor.type == DType::U8;
                     }) &&
         std::any_of(program.statements.begin(), program.statements.end(), is_product);
}

IntegerShare integer_share(const Program &program) {
  IntegerShare share;
  for (const Statement &statement : program.statements) {
    if (!is_product(statement))
      continue;
    const auto &body = std::get<Contraction>(statement.body);
    const double count = multiply_adds(program, statement);
    const bool is_integer = std::none_of(body.in.begin(), body.in.end(), [&](const Access &access) {
      return is_float(program[access.tensor].type);
    });
    ++share.products;
    share.multiply_adds += count;
    if (is_integer) {
      ++share.in_integers;
      share.integer_multiply_adds += count;
    } else {
      share.kept.push_back(fmt::format("{}: {:.2f} M multiply-adds, {}", statement.origin,
                                       count * 1e-6, reason(program, body)));
    }
  }
  return share;
}

std::string summary(const IntegerShare &share) {
  return fmt::format(
      "integers {} of {} products, {:.1f} % of {:.2f} M multiply-adds\n", share.in_integers,
      share.products,
      share.multiply_adds > 0 ? 100 * share.integer_multiply_adds / share.multiply_adds : 0.0,
      share.multiply_adds * 1e-6);
}

std::string to_text(const IntegerShare &share) {
  std::string text = summary(share);
  for (const std::string &kept : share.kept)
    text += "  f32: " + kept + "\n";
  return text;
}

} // namespace tilefuse::program
