// SPDX-License-Identifier: Apache-2.0
#include "program/precision/precision.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <utility>

#include "base/error.h"
#include "base/index.h"
#include "program/drop_dead.h"
#include "program/precision/precision_choice.h"
#include "target/convert_elements.h"

namespace tilefuse::program {
namespace {

class Converting {
public:
  Converting(Program program, DType type)
      : type_(type),
        keeps_(choose_kept(program)), result_{.program = std::move(program), .type = type} {}

  Precision run() {
    std::vector<Statement> statements = std::move(result_.program.statements);
    retype();
    for (Statement &statement : statements) {
      std::visit([&](auto &body) { convert(statement, body); }, statement.body);
      converted_.push_back(std::move(statement));
    }
    for (TensorId &id : result_.program.outputs)
      id = as_output(id);
    result_.program.statements = std::move(converted_);
    result_.program = drop_dead(std::move(result_.program));
    verify(result_.program);
    return std::move(result_);
  }

private:
  Tensor &tensor(TensorId id) { return result_.program[id]; }
  bool is_ours(TensorId id) const { return at(id) < keeps_.size(); }

  void retype() {
    for (std::size_t t = 0; t < keeps_.size(); ++t)
      if (result_.program.tensors[t].role == Role::Temporary && keeps_[t] == Keeps::Nothing)
        result_.program.tensors[t].type = type_;
  }

  void note_kept(const Statement &statement) {
    const Keeps why = keeps_[at(statement.out)];
    if (why == Keeps::Nothing) {
      ++result_.activations;
      return;
    }
    if (why == Keeps::OtherType)
      return;
    const Tensor &kept = tensor(statement.out);
    result_.kept.push_back(fmt::format("{} \"{}\": {}[{}], {}", statement.origin, kept.name,
                                       to_string(kept.type), fmt::join(kept.shape, ", "),
                                       reason(why)));
  }

  void convert(Statement &statement, View &view) {
    view.in = in_type(view.in, tensor(statement.out).type);
  }

  void convert(Statement &statement, Map &map) {
    note_kept(statement);
    map.expr = cast(in_f32(map.expr, map), tensor(statement.out).type);
  }

  void convert(Statement &statement, Contraction &body) {
    note_kept(statement);
    const DType result = tensor(statement.out).type;
    if (body.init)
      body.init = in_type(*body.init, result);
    const bool is_product = body.comb == Comb::Mul;
    const bool is_copy = body.agg == Agg::Assign;
    for (Access &access : body.in)
      if (is_product)
        access.tensor = in_type(access.tensor, type_);
      else if (is_copy)
        access.tensor = in_type(access.tensor, result);
  }

  // The expression with leaves that read narrower tensors than before, computed as before.
  Expr in_f32(const Expr &expr, const Map &map) {
    if (expr.kind == Expr::Kind::Operand) {
      const DType stored = tensor(map.operands[at(expr.operand)]).type;
      return cast(operand(expr.operand, stored), expr.type);
    }
    Expr copy = expr;
    for (Expr &arg : copy.args)
      arg = in_f32(arg, map);
    return copy;
  }

  // An input or a constant of f32 as another tensor where it must lie in `type`; others as they
  // are.
  TensorId in_type(TensorId id, DType type) {
    const Tensor from = tensor(id);
    if (from.type != DType::F32 || type != type_ || from.role == Role::Temporary)
      return id;
    const auto known = stored_.find(id);
    if (known != stored_.end())
      return known->second;
    const TensorId to = from.role == Role::Constant ? as_weight(id, from) : as_input(id, from);
    stored_.emplace(id, to);
    return to;
  }

  TensorId as_input(TensorId id, Tensor tensor) {
    ++result_.casts;
    return add_cast(id, std::move(tensor), type_);
  }

  TensorId as_output(TensorId id) {
    const Tensor from = tensor(id);
    if (keeps_[at(id)] != Keeps::Nothing || from.role != Role::Temporary)
      return id;
    ++result_.casts;
    return add_cast(id, from, DType::F32);
  }

  TensorId add_cast(TensorId id, Tensor from, DType to) {
    Map map{cast(operand(0, from.type), to), {id}};
    from.type = to;
    from.role = Role::Temporary;
    const TensorId out = result_.program.add(std::move(from));
    converted_.push_back({out, std::move(map), "precision"});
    return out;
  }

  TensorId as_weight(TensorId id, Tensor tensor) {
    if (!tensor.data)
      throw Error(ErrorCode::Type, "a constant of the program has no data", tensor.name);
    if (!fits(tensor, type_)) {
      result_.kept.push_back(fmt::format("constant \"{}\": f32[{}], {}", tensor.name,
                                         fmt::join(tensor.shape, ", "), reason(Keeps::Range)));
      return id;
    }
    const std::int64_t count = elems(tensor.shape);
    Bytes bytes(static_cast<std::size_t>(count * size_bytes(type_)));
    convert_elements(tensor.data->data(), tensor.type, bytes.data(), type_, count);
    ++result_.weights;
    result_.weight_bytes += static_cast<std::int64_t>(bytes.size());
    result_.f32_weight_bytes += static_cast<std::int64_t>(tensor.data->size());
    tensor.type = type_;
    tensor.data = std::make_shared<const Bytes>(std::move(bytes));
    return result_.program.add(std::move(tensor));
  }

  DType type_;
  std::vector<Keeps> keeps_; // by TensorId of the program before
  Precision result_;
  std::vector<Statement> converted_;
  std::map<TensorId, TensorId> stored_; // inputs and constants in the type
};

} // namespace

Precision with_precision(Program program, DType type) {
  return Converting(std::move(program), type).run();
}

std::string summary(const Precision &precision) {
  return fmt::format("precision {}: {} weights ({:.1f} MB instead of {:.1f}) and {} activations "
                     "stored in it, {} tensors kept in f32, {} conversions at inputs and outputs\n",
                     to_string(precision.type), precision.weights,
                     static_cast<double>(precision.weight_bytes) * 1e-6,
                     static_cast<double>(precision.f32_weight_bytes) * 1e-6, precision.activations,
                     precision.kept.size(), precision.casts);
}

std::string to_text(const Precision &precision) {
  std::string text = summary(precision);
  for (const std::string &kept : precision.kept)
    text += "  f32: " + kept + "\n";
  return text;
}

} // namespace tilefuse::program
