// SPDX-License-Identifier: Apache-2.0
#include "train/residual.h"

#include <algorithm>
#include <variant>

#include "base/index.h"

namespace tilefuse::train {
namespace {

using program::Expr;
using program::Program;
using program::Statement;
using program::TensorId;

constexpr int kApart = -1; // of a tensor that the pictures have no part in

// Statements of the longest way from the pictures to each tensor.
std::vector<int> depths(const Program &program, TensorId pictures) {
  std::vector<int> depth(program.tensors.size(), kApart);
  depth[at(pictures)] = 0;
  for (const Statement &statement : program.statements) {
    int most = kApart;
    for (const TensorId id : program::reads(statement))
      most = std::max(most, depth[at(id)]);
    if (most != kApart)
      depth[at(statement.out)] = most + 1;
  }
  return depth;
}

// The operands of a sum of two tensors and nothing else.
const program::Map *as_sum(const Statement &statement) {
  const auto *map = std::get_if<program::Map>(&statement.body);
  const auto is_operand = [](const Expr &expr) { return expr.kind == Expr::Kind::Operand; };
  const bool is_sum = map != nullptr && map->operands.size() == 2 &&
                      map->expr.kind == Expr::Kind::Call && map->expr.op == ScalarOp::Add &&
                      std::all_of(map->expr.args.begin(), map->expr.args.end(), is_operand);
  return is_sum ? map : nullptr;
}

} // namespace

std::vector<Branch> residual_branches(const Program &program, TensorId pictures) {
  const std::vector<int> depth = depths(program, pictures);
  std::vector<Branch> found;
  for (std::size_t s = 0; s < program.statements.size(); ++s) {
    const program::Map *sum = as_sum(program.statements[s]);
    if (sum == nullptr)
      continue;
    const TensorId a = sum->operands[0], b = sum->operands[1];
    const bool is_alike = program[a].shape == program[b].shape && program[a].shape.size() == 4;
    if (is_alike && depth[at(a)] != depth[at(b)] && depth[at(a)] != kApart &&
        depth[at(b)] != kApart)
      found.push_back({s, depth[at(a)] > depth[at(b)] ? std::size_t{0} : std::size_t{1}});
  }
  return found;
}

} // namespace tilefuse::train
