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
Expr tree(int begin, int count) {
  if (count == 1)
    return program::operand(begin, DType::F32);
  return program::call(ScalarOp::Add, {tree(begin, count / 2), tree(begin + count / 2, count / 2)});
}

} // namespace

program::Program sum_program(std::int64_t rows, int parts, double factor) {
  TILEFUSE_CHECK(parts > 0 && std::has_single_bit(static_cast<unsigned>(parts)),
                 "a tree of parts that are no power of two");
  program::Program program;
  program.name = "sum";
  const auto add = [&](const std::string &name, program::Role role) {
    return program.add({name, DType::F32, {rows, kRow}, role, nullptr});
  };
  for (int part = 0; part < parts; ++part)
    program.inputs.push_back(add(fmt::format("part {}", part), program::Role::Input));
  std::vector<TensorId> level = program.inputs;
  do {
    const std::size_t count = std::min(level.size(), kMostOperands);
    std::vector<TensorId> next;
    for (std::size_t begin = 0; begin < level.size(); begin += count) {
      const auto from = level.begin() + static_cast<std::ptrdiff_t>(begin);
      Expr sum = tree(0, static_cast<int>(count));
      if (count == level.size() && factor != 1)
        sum = program::call(ScalarOp::Mul, {std::move(sum), program::constant(factor, DType::F32)});
      next.push_back(add("sum", program::Role::Temporary));
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

} // namespace tilefuse::train
