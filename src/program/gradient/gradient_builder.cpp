// SPDX-License-Identifier: Apache-2.0
#include "program/gradient/gradient_builder.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/index.h"
#include "program/host_tensor.h"

namespace tilefuse::program {
namespace {

std::string key_of(const Affine &affine) {
  std::string text;
  for (const Rational &value : affine.coeff)
    text += tilefuse::to_string(value) + ",";
  return text + tilefuse::to_string(affine.constant) + ";";
}

std::string key_of(const std::vector<Affine> &subscripts) {
  std::string text;
  for (const Affine &affine : subscripts)
    text += key_of(affine);
  return text + "|";
}

std::string key_of(const Contraction &body) {
  std::string text = fmt::format("{} {} {} ", to_string(body.agg), static_cast<int>(body.comb),
                                 body.indices.size());
  for (const Access &access : body.in)
    text += fmt::format("%{} ", to_int(access.tensor)) + key_of(access.subscripts);
  if (body.comb == Comb::Term)
    text += to_text(body.term) + " ";
  for (const std::size_t index : body.picks)
    text += fmt::format("at {} ", index);
  text += "to " + key_of(body.out);
  for (const Constraint &constraint : body.constraints)
    text += fmt::format("{}<{} ", key_of(constraint.expr), constraint.bound);
  return body.init ? text + fmt::format("init %{}", to_int(*body.init)) : text;
}

std::string key_of(const Map &body) {
  std::string text = "map ";
  for (TensorId operand : body.operands)
    text += fmt::format("%{} ", to_int(operand));
  return text + to_text(body.expr);
}

std::string key_of(const View &body) { return fmt::format("view %{}", to_int(body.in)); }

// Operand k becomes position[k].
void renumber(Expr &expr, const std::vector<int> &position) {
  if (expr.kind == Expr::Kind::Operand)
    expr.operand = position[at(expr.operand)];
  for (Expr &arg : expr.args)
    renumber(arg, position);
}

void mark_operands(const Expr &expr, std::vector<bool> &used) {
  if (expr.kind == Expr::Kind::Operand)
    used[at(expr.operand)] = true;
  for (const Expr &arg : expr.args)
    mark_operands(arg, used);
}

} // namespace

std::string text_key(const Tensor &result, const std::variant<Contraction, Map, View> &body) {
  return fmt::format("{}[{}] {}", to_string(result.type), fmt::join(result.shape, ","),
                     std::visit([](const auto &node) { return key_of(node); }, body));
}

GradientBuilder::GradientBuilder(Program program, std::vector<bool> wanted)
    : program_(std::move(program)), wanted_(std::move(wanted)), contributions_(wanted_.size()) {
  for (const Statement &statement : program_.statements)
    known_.emplace(text_key(program_[statement.out], statement.body), statement.out);
}

bool GradientBuilder::is_wanted(TensorId id) const { return wanted_.at(at(id)); }

TensorId GradientBuilder::emit(Tensor result, std::variant<Contraction, Map, View> body) {
  const std::string key = text_key(result, body);
  const auto found = known_.find(key);
  if (found != known_.end())
    return found->second;
  result.role = Role::Temporary;
  const TensorId out = program_.add(std::move(result));
  program_.statements.push_back({out, std::move(body), origin_});
  known_.emplace(key, out);
  return out;
}

TensorId GradientBuilder::map(std::string name, Shape shape, const Expr &expr,
                              std::vector<TensorId> operands) {
  std::vector<bool> used(operands.size(), false);
  mark_operands(expr, used);
  std::vector<int> position(operands.size(), -1);
  Map body{expr, {}};
  for (std::size_t k = 0; k < operands.size(); ++k) {
    if (!used[k])
      continue;
    const auto found = std::find(body.operands.begin(), body.operands.end(), operands[k]);
    position[k] = static_cast<int>(found - body.operands.begin());
    if (found == body.operands.end())
      body.operands.push_back(operands[k]);
  }
  renumber(body.expr, position);
  if (expr.kind == Expr::Kind::Operand && program_[body.operands[0]].shape == shape)
    return body.operands[0];
  return emit({.name = std::move(name), .type = expr.type, .shape = std::move(shape)},
              std::move(body));
}

TensorId GradientBuilder::fill(DType type, Shape shape, double value) {
  return map(fmt::format("{}", value), std::move(shape), program::constant(value, type), {});
}

TensorId GradientBuilder::constant(DType type, Shape shape, std::span<const std::int64_t> values) {
  const std::string key =
      fmt::format("{} [{}] {}", to_string(type), fmt::join(shape, ","), fmt::join(values, ","));
  const auto found = constants_.find(key);
  if (found != constants_.end())
    return found->second;
  HostTensor host = make_host_tensor("ranks", type, shape);
  for (std::size_t i = 0; i < values.size(); ++i)
    set(host, static_cast<std::int64_t>(i), static_cast<double>(values[i]));
  auto data = std::make_shared<const Bytes>(std::move(host.data));
  const TensorId id =
      program_.add({"ranks", type, std::move(shape), Role::Constant, std::move(data)});
  constants_.emplace(key, id);
  return id;
}

std::string GradientBuilder::name_of(TensorId id) const { return "grad " + program_[id].name; }

void GradientBuilder::note_cleared(TensorId result, TensorId from, Box box) {
  cleared_.emplace(result, std::pair(from, std::move(box)));
}

TensorId GradientBuilder::same_in(TensorId tensor, const Box &box) const {
  auto found = cleared_.find(tensor);
  while (found != cleared_.end() && are_disjoint(found->second.second, box)) {
    tensor = found->second.first;
    found = cleared_.find(tensor);
  }
  return tensor;
}

void GradientBuilder::contribute(TensorId of, TensorId gradient) {
  if (is_wanted(of))
    contributions_[at(of)].push_back(gradient);
}

std::optional<TensorId> GradientBuilder::total(TensorId of) {
  std::vector<TensorId> &parts = contributions_.at(at(of));
  if (parts.empty())
    return std::nullopt;
  const Tensor &tensor = program_[of];
  const DType type = accumulator_type(tensor.type);
  Expr sum = cast(operand(0, tensor.type), type);
  for (std::size_t k = 1; k < parts.size(); ++k)
    sum = call(ScalarOp::Add, {sum, cast(operand(static_cast<int>(k), tensor.type), type)});
  if (parts.size() > 1)
    parts = {map(name_of(of), tensor.shape, cast(sum, tensor.type), parts)};
  return parts.front();
}

} // namespace tilefuse::program
