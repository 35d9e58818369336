// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "base/index.h"
#include "base/scanner.h"
#include "program/program.h"
#include "target/dtype_traits.h"

namespace tilefuse::program {
namespace {

bool is_identifier(std::string_view name) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return !name.empty() && is_letter(name.front()) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return is_letter(c) || is_digit(c); });
}

// Checks one program, statement by statement.
class Verifier {
public:
  explicit Verifier(const Program &program)
      : program_(program), defined_(program.tensors.size(), false) {}

  void run() {
    declarations();
    for (const Statement &statement : program_.statements)
      check(statement);
    statement_ = nullptr;
    part_ = "outputs";
    for (TensorId id : program_.outputs)
      if (check_id(id); elems(program_[id].shape) > 0)
        use(id);
  }

private:
  [[noreturn]] void fail(ErrorCode code, std::string message) const {
    throw Error(code, std::move(message), where());
  }
  [[noreturn]] void fail_shape(std::string message) const {
    fail(ErrorCode::Shape, std::move(message));
  }

  std::string name(TensorId id) const {
    return fmt::format("%{} {}", to_int(id), quoted(program_[id].name));
  }

  // What is being checked.
  std::string where() const {
    if (statement_ == nullptr)
      return constant_ ? name(*constant_) : std::string(part_);
    const std::string &origin = statement_->origin;
    return name(statement_->out) + (origin.empty() ? "" : " from " + quoted(origin));
  }

  void check_id(TensorId id) const {
    if (to_int(id) < 0 || at(id) >= program_.tensors.size())
      fail_shape(fmt::format("tensor %{} does not exist; the program has {}", to_int(id),
                             program_.tensors.size()));
  }

  void declarations() {
    part_ = "inputs";
    for (TensorId id : program_.inputs) {
      check_id(id);
      if (program_[id].role != Role::Input || defined_[at(id)])
        fail_shape(fmt::format("{} is listed as an input twice, or is not one", name(id)));
      defined_[at(id)] = true;
    }
    for (std::size_t i = 0; i < program_.tensors.size(); ++i) {
      const TensorId id{static_cast<int>(i)};
      if (program_[id].role == Role::Input && !defined_[i])
        fail_shape(fmt::format("{} is an input that the program does not list", name(id)));
      if (program_[id].role == Role::Constant)
        constant(id);
    }
    constant_.reset();
  }

  void constant(TensorId id) {
    constant_ = id;
    const Tensor &tensor = program_[id];
    defined_[at(id)] = true;
    if (!tensor.data)
      return;
    std::int64_t bytes = 0;
    const bool overflow =
        __builtin_mul_overflow(elems(tensor.shape), size_bytes(tensor.type), &bytes);
    if (overflow || bytes != static_cast<std::int64_t>(tensor.data->size()))
      fail_shape(fmt::format("constant of shape [{}] and type {} has {} bytes of data",
                             fmt::join(tensor.shape, ", "), to_string(tensor.type),
                             tensor.data->size()));
  }

  // `id` must exist, be defined and hold something.
  void use(TensorId id) const {
    check_id(id);
    if (!defined_[at(id)])
      fail_shape(fmt::format("{} is read before it is defined", name(id)));
    check_shape(id);
  }

  void check_shape(TensorId id) const {
    const Shape &shape = program_[id].shape;
    if (std::any_of(shape.begin(), shape.end(), [](std::int64_t dim) { return dim < 1; }))
      fail_shape(fmt::format("{} has shape [{}]; every dimension must be at least 1", name(id),
                             fmt::join(shape, ", ")));
    elems(shape);
  }

  void check(const Statement &statement) {
    check_id(statement.out);
    statement_ = &statement;
    if (program_[statement.out].role != Role::Temporary || defined_[at(statement.out)])
      fail_shape("the tensor is an input, a constant, or already defined");
    check_shape(statement.out);
    for (TensorId id : reads(statement))
      use(id);
    std::visit([&](const auto &body) { check_body(statement.out, body); }, statement.body);
    defined_[at(statement.out)] = true;
  }

  void check_body(TensorId out, const View &view) const {
    if (program_[out].type != program_[view.in].type)
      fail(ErrorCode::Type,
           fmt::format("a view of {} cannot have type {}", to_string(program_[view.in].type),
                       to_string(program_[out].type)));
    if (elems(program_[out].shape) != elems(program_[view.in].shape))
      fail_shape(fmt::format("a view of shape [{}] cannot have shape [{}]",
                             fmt::join(program_[view.in].shape, ", "),
                             fmt::join(program_[out].shape, ", ")));
  }

  void check_body(TensorId out, const Map &map) const {
    for (TensorId operand : map.operands)
      check_broadcast(program_[operand].shape, program_[out].shape);
    check_expr(map.expr, map);
    if (map.expr.type != program_[out].type)
      fail(ErrorCode::Type, fmt::format("the expression has type {}, the tensor {}",
                                        to_string(map.expr.type), to_string(program_[out].type)));
  }

  void check_term(const Contraction &contraction, DType type) const {
    if (!is_float(type) || contraction.term.type != type)
      fail(ErrorCode::Type, fmt::format("a term of type {} where {} is computed; terms are floats",
                                        to_string(contraction.term.type), to_string(type)));
    check_term(contraction.term, contraction, type);
  }

  void check_term(const Expr &expr, const Contraction &contraction, DType type) const {
    if (expr.kind == Expr::Kind::Acc)
      fail(ErrorCode::Type, "a term has no accumulator");
    if (expr.kind == Expr::Kind::Operand &&
        (expr.type != type || expr.operand < 0 ||
         static_cast<std::size_t>(expr.operand) >= contraction.in.size()))
      fail(ErrorCode::Type, fmt::format("operand ${} of {} in a term of type {}", expr.operand,
                                        contraction.in.size(), to_string(type)));
    for (const Expr &arg : expr.args)
      check_term(arg, contraction, type);
  }

  void check_broadcast(const Shape &from, const Shape &to) const {
    bool fits = from.size() <= to.size();
    for (std::size_t d = 0; fits && d < from.size(); ++d)
      fits = from[d] == 1 || from[d] == to[to.size() - from.size() + d];
    if (!fits)
      fail_shape(fmt::format("an operand of shape [{}] does not broadcast to [{}]",
                             fmt::join(from, ", "), fmt::join(to, ", ")));
  }

  void check_expr(const Expr &expr, const Map &map) const {
    if (expr.kind == Expr::Kind::Acc)
      fail(ErrorCode::Type, "a map has no accumulator");
    if (expr.kind == Expr::Kind::Operand)
      check_leaf(expr, map);
    if (expr.kind == Expr::Kind::Call && static_cast<int>(expr.args.size()) != row(expr.op).arity)
      fail(ErrorCode::Type, fmt::format("{} takes {} arguments, got {}", row(expr.op).name,
                                        row(expr.op).arity, expr.args.size()));
    if (expr.kind == Expr::Kind::Cast && expr.args.size() != 1)
      fail(ErrorCode::Type, "a cast takes one argument");
    for (const Expr &arg : expr.args)
      check_expr(arg, map);
  }

  void check_leaf(const Expr &leaf, const Map &map) const {
    const auto position = static_cast<std::size_t>(leaf.operand);
    if (leaf.operand < 0 || position >= map.operands.size())
      fail(ErrorCode::Type,
           fmt::format("operand ${} of {} does not exist", leaf.operand, map.operands.size()));
    const DType type = program_[map.operands[position]].type;
    if (type != leaf.type)
      fail(ErrorCode::Type, fmt::format("operand ${} is read as {}, its tensor is {}", leaf.operand,
                                        to_string(leaf.type), to_string(type)));
  }

  void check_body(TensorId out, const Contraction &contraction) const {
    if (!takes_operands(contraction.comb, contraction.in.size()))
      fail_shape(fmt::format("the contraction cannot take {} operands", contraction.in.size()));
    if (contraction.comb == Comb::Term)
      check_term(contraction, traits(program_[out].type).value);
    check_indices(contraction);
    check_picks(contraction);
    check_subscripts(contraction, out, contraction.out);
    for (const Access &access : contraction.in)
      check_subscripts(contraction, access.tensor, access.subscripts);
    for (const Constraint &constraint : contraction.constraints) {
      check_affine(contraction, constraint.expr);
      if (constraint.bound < 1)
        fail_shape(fmt::format("a constraint's bound is {}", constraint.bound));
    }
    if (contraction.init && program_[*contraction.init].shape != program_[out].shape)
      fail_shape(fmt::format("init has shape [{}], the result [{}]",
                             fmt::join(program_[*contraction.init].shape, ", "),
                             fmt::join(program_[out].shape, ", ")));
    if (contraction.init && program_[*contraction.init].type != program_[out].type)
      fail(ErrorCode::Type,
           fmt::format("init has type {}, the result {}",
                       to_string(program_[*contraction.init].type), to_string(program_[out].type)));
  }

  // Positions are integers; each says one subscript of the first operand, and nothing else.
  void check_picks(const Contraction &contraction) const {
    const std::size_t picks = contraction.picks.size();
    if ((contraction.comb == Comb::Pick) != (picks > 0))
      fail_shape("indices are picked exactly where operands say positions");
    if (picks == 0)
      return;
    const std::size_t values = contraction.in.size() - picks;
    if (picks >= contraction.in.size() || values > 2 || contraction.agg != Agg::Sum)
      fail_shape(
          fmt::format("{} positions for {} operands of a sum", picks, contraction.in.size()));
    for (std::size_t k = values; k < contraction.in.size(); ++k) {
      const DType type = program_[contraction.in[k].tensor].type;
      if (is_float(type) || type == DType::Bool)
        fail(ErrorCode::Type, fmt::format("a position is {}; need integers", to_string(type)));
    }
    for (const std::size_t index : contraction.picks)
      if (!is_picked_alone(contraction, index))
        fail_shape("a picked index is not one subscript of the first operand alone");
  }

  static bool is_picked_alone(const Contraction &contraction, std::size_t index) {
    std::size_t uses = 0;
    const auto count = [&](const Affine &affine) {
      uses += index < affine.coeff.size() && !affine.coeff[index].is_zero() ? 1 : 0;
    };
    std::for_each(contraction.out.begin(), contraction.out.end(), count);
    for (const Access &access : contraction.in)
      std::for_each(access.subscripts.begin(), access.subscripts.end(), count);
    for (const Constraint &constraint : contraction.constraints)
      count(constraint.expr);
    const auto &subscripts = contraction.in[0].subscripts;
    return uses == 1 && std::any_of(subscripts.begin(), subscripts.end(),
                                    [&](const Affine &at) { return is_index(at, index); });
  }

  void check_subscripts(const Contraction &contraction, TensorId id,
                        const std::vector<Affine> &subscripts) const {
    if (subscripts.size() != program_[id].shape.size())
      fail_shape(fmt::format("{} has {} dimensions and {} subscripts", name(id),
                             program_[id].shape.size(), subscripts.size()));
    for (const Affine &subscript : subscripts)
      check_affine(contraction, subscript);
  }

  void check_affine(const Contraction &contraction, const Affine &affine) const {
    if (affine.coeff.size() != contraction.indices.size())
      fail_shape(fmt::format("a subscript has {} coefficients for {} indices", affine.coeff.size(),
                             contraction.indices.size()));
  }

  // Index names are distinct identifiers, since they reach kernels; each index stands in some
  // subscript or constraint.
  void check_indices(const Contraction &contraction) const {
    std::set<std::string_view> seen;
    for (const std::string &index : contraction.indices)
      if (!is_identifier(index) || !seen.insert(index).second)
        fail_shape(
            fmt::format("index name {} is not an identifier, or is used twice", quoted(index)));
    for (std::size_t i = 0; i < contraction.indices.size(); ++i)
      if (!is_bounded(contraction, i))
        fail_shape(
            fmt::format("nothing bounds index {}: it stands in no subscript and no constraint",
                        contraction.indices[i]));
  }

  static bool is_bounded(const Contraction &contraction, std::size_t index) {
    const auto stands_in = [&](const Affine &affine) {
      return index < affine.coeff.size() && !affine.coeff[index].is_zero();
    };
    const auto &in = contraction.in;
    const auto &constraints = contraction.constraints;
    return std::any_of(contraction.out.begin(), contraction.out.end(), stands_in) ||
           std::any_of(in.begin(), in.end(),
                       [&](const Access &access) {
                         return std::any_of(access.subscripts.begin(), access.subscripts.end(),
                                            stands_in);
                       }) ||
           std::any_of(constraints.begin(), constraints.end(),
                       [&](const Constraint &constraint) { return stands_in(constraint.expr); });
  }

  const Program &program_;
  std::vector<bool> defined_;
  const Statement *statement_ = nullptr; // that is being checked, else
  std::optional<TensorId> constant_;     // this constant, else
  std::string_view part_;                // this part
};

} // namespace

void verify(const Program &program) { Verifier(program).run(); }

} // namespace tilefuse::program
