// SPDX-License-Identifier: Apache-2.0
#include "train/lanes/sum_program.h"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "train/parameters.h"

namespace tilefuse::train {
namespace {

using program::Expr;
using program::TensorId;

constexpr std::size_t kMostOperands = 8; // of a kernel

// Of operands [begin, begin + count).
Expr tree(int begin, int count, DType type) {
  if (count == 1)
    return program::cast(program::operand(begin, type), DType::F32);
  return program::call(ScalarOp::Add,
                       {tree(begin, count / 2, type), tree(begin + count / 2, count / 2, type)});
}

TensorId add_rows(program::Program &program, const std::string &name, program::Role role,
                  std::int64_t rows, DType type) {
  return program.add({name, type, {rows, kRow}, role, nullptr});
}

} // namespace

program::Program sum_program(std::int64_t rows, int parts, double factor, DType type) {
  TILEFUSE_CHECK(parts > 0 && std::has_single_bit(static_cast<unsigned>(parts)),
                 "a tree of parts that are no power of two");
  program::Program program;
  program.name = "sum";
  for (int part = 0; part < parts; ++part)
    program.inputs.push_back(
        add_rows(program, fmt::format("part {}", part), program::Role::Input, rows, type));
  std::vector<TensorId> level = program.inputs;
  do {
    const std::size_t count = std::min(level.size(), kMostOperands);
    std::vector<TensorId> next;
    for (std::size_t begin = 0; begin < level.size(); begin += count) {
      const auto from = level.begin() + static_cast<std::ptrdiff_t>(begin);
      Expr sum = tree(0, static_cast<int>(count), program[*from].type);
      if (count == level.size() && factor != 1)
        sum = program::call(ScalarOp::Mul, {std::move(sum), program::constant(factor, DType::F32)});
      next.push_back(add_rows(program, "sum", program::Role::Temporary, rows, DType::F32));
      program.statements.push_back(
          {next.back(),
           program::Map{std::move(sum), {from, from + static_cast<std::ptrdiff_t>(count)}}, "sum"});
    }
    level = std::move(next);
  } while (level.size() > 1);
  program.outputs = level;
  program::verify(program);
  return program;
}

program::Program narrowing_program(std::int64_t rows) {
  program::Program program;
  program.name = "narrowing";
  program.inputs = {add_rows(program, "numbers", program::Role::Input, rows, DType::F32)};
  program.outputs = {add_rows(program, "narrow", program::Role::Temporary, rows, DType::BF16)};
  program.statements.push_back(
      {program.outputs.front(),
       program::Map{program::cast(program::operand(0, DType::F32), DType::BF16), program.inputs},
       "narrowing"});
  program::verify(program);
  return program;
}

} // namespace tilefuse::train
