// SPDX-License-Identifier: Apache-2.0
#include "kernel/build.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "kernel/intrinsics.h"
#include "kernel/rules.h"
#include "target/dtype_traits.h"

namespace tilefuse::kernel {
namespace {

void require(const std::string &broken_rule) { TILEFUSE_CHECK(broken_rule.empty(), broken_rule); }

const Const *constant_of(ExprRef expr) { return std::get_if<Const>(&expr->node); }

// A bit operation on integers of the type.
double bits_of(ScalarOp op, DType type, const std::vector<double> &values) {
  return static_cast<double>(evaluate_bits(op, type, static_cast<std::int64_t>(values.front()),
                                           static_cast<std::int64_t>(values.back())));
}

// What a store to memory takes: a cast to the type there rounds, so nothing need round before it.
ExprRef unrounded(Builder &build, ExprRef value) {
  const auto *cast = std::get_if<Cast>(&value->node);
  const auto *inner = cast == nullptr ? nullptr : std::get_if<Scalar>(&cast->value->node);
  const bool rounds = inner != nullptr && rounded_type(inner->op) == value->type.elem;
  return rounds ? build.cast(inner->args[0], value->type.elem) : value;
}

bool is_empty(StmtRef stmt) {
  const Block *block = std::get_if<Block>(&stmt->node);
  return block != nullptr && block->body.empty();
}

std::string identifier(std::string name) {
  for (char &c : name) {
    const bool fits =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (!fits)
      c = '_';
  }
  return is_identifier(name) ? name : "v_" + name;
}

} // namespace

bool is_constant(ExprRef expr, std::int64_t *value) {
  const Const *constant = constant_of(expr);
  if (constant == nullptr || !is_integer(expr->type.elem))
    return false;
  if (value != nullptr)
    *value = static_cast<std::int64_t>(constant->value);
  return true;
}

Builder::Builder(Kernel &kernel) : kernel_(kernel) {
  for (const Buffer &buffer : kernel.buffers)
    names_.insert(buffer.name);
  for (const Variable &variable : kernel.variables)
    names_.insert(variable.name);
}

ExprRef Builder::add_expr(Expr expr) { return &kernel_.exprs->emplace_back(std::move(expr)); }
StmtRef Builder::add_stmt(Stmt stmt) { return &kernel_.stmts->emplace_back(std::move(stmt)); }

std::string Builder::unique_name(std::string name) {
  name = identifier(std::move(name));
  if (names_.insert(name).second)
    return name;
  for (;;) {
    std::string candidate = fmt::format("{}_{}", name, ++suffixes_[name]);
    if (names_.insert(candidate).second)
      return candidate;
  }
}

BufferId Builder::buffer(Buffer buffer) {
  buffer.name = unique_name(std::move(buffer.name));
  require(buffer_rule(buffer));
  const bool after_others =
      !kernel_.buffers.empty() && kernel_.buffers.back().space != Space::Global;
  TILEFUSE_CHECK(buffer.space != Space::Global || !after_others, "a global buffer after others");
  kernel_.buffers.push_back(std::move(buffer));
  return BufferId{static_cast<int>(kernel_.buffers.size()) - 1};
}

MapId Builder::tensor_map(TensorMap map) {
  map.name = unique_name(std::move(map.name));
  require(tensor_map_rule(kernel_, map));
  kernel_.maps.push_back(std::move(map));
  return MapId{static_cast<int>(kernel_.maps.size()) - 1};
}

VarId Builder::variable(std::string name, Type type) {
  kernel_.variables.push_back({unique_name(std::move(name)), type});
  return VarId{static_cast<int>(kernel_.variables.size()) - 1};
}

ExprRef Builder::integer(std::int64_t value) { return real(static_cast<double>(value), kInt); }

ExprRef Builder::real(double value, Type type) {
  TILEFUSE_CHECK(type.lanes >= 1 && type.lanes <= kMaxLanes,
                 "a constant with a wrong number of lanes");
  return add_expr({type, Const{narrowed(value, type.elem)}});
}

ExprRef Builder::var(VarId id) { return add_expr({kernel_[id].type, VarRef{id}}); }
ExprRef Builder::block() { return add_expr({kInt, BlockIndex{}}); }
ExprRef Builder::lane() {
  return kernel_.block_size == 1 ? integer(0) : add_expr({kInt, LaneIndex{}});
}

ExprRef Builder::operation(ScalarOp op, std::vector<ExprRef> args) {
  std::vector<Type> types;
  for (const ExprRef arg : args)
    types.push_back(arg->type);
  return add_expr({scalar_type(op, types), Scalar{op, std::move(args)}});
}

ExprRef Builder::scalar(ScalarOp op, std::vector<ExprRef> args) {
  std::vector<Type> types;
  for (const ExprRef arg : args)
    types.push_back(arg->type);
  require(scalar_rule(op, types));
  if (op == ScalarOp::Select) {
    if (const Const *condition = constant_of(args[0]))
      return condition->value != 0 ? args[1] : args[2];
  }
  if (const ExprRef folded = fold_constants(op, args))
    return folded;
  if (args.size() == 2) {
    const DType elem = types[0].elem;
    ExprRef folded = nullptr;
    if (elem == DType::Bool)
      folded = fold_logic(op, args[0], args[1]);
    if (elem == DType::I32 || elem == DType::I64)
      folded = fold_integer(op, args[0], args[1]);
    if (folded != nullptr)
      return folded;
  }
  return operation(op, std::move(args));
}

ExprRef Builder::fold_constants(ScalarOp op, const std::vector<ExprRef> &args) {
  constexpr double kExact = 9007199254740992.0; // 2^53
  std::vector<double> values;
  for (const ExprRef arg : args) {
    if (constant_of(arg) == nullptr)
      return nullptr;
    values.push_back(constant_of(arg)->value);
  }
  const bool integer = is_integer(args[0]->type.elem);
  if (integer && (op == ScalarOp::Div || op == ScalarOp::Mod) && values[1] == 0)
    return nullptr;
  const Type type = args.back()->type;
  double value =
      is_bitwise(op) ? bits_of(op, args[0]->type.elem, values) : evaluate(op, values, integer);
  if (integer && !(std::fabs(value) <= kExact))
    return nullptr;
  if (is_narrow(type.elem) && !row(op).is_comparison)
    value = static_cast<double>(wrapped(static_cast<std::int64_t>(value), type.elem));
  return real(value, row(op).is_comparison ? Type{DType::Bool, type.lanes} : type);
}

ExprRef Builder::fold_logic(ScalarOp op, ExprRef a, ExprRef b) {
  if (op != ScalarOp::And && op != ScalarOp::Or)
    return nullptr;
  const bool neutral = op == ScalarOp::And;
  if (const Const *constant = constant_of(a))
    return (constant->value != 0) == neutral ? b : a;
  if (const Const *constant = constant_of(b))
    return (constant->value != 0) == neutral ? a : b;
  return nullptr;
}

ExprRef Term::in(Builder &build) const { return expr_ != nullptr ? expr_ : build.integer(number_); }

ExprRef Builder::scalar(ScalarOp op, Term a, Term b) {
  return scalar(op, {a.in(*this), b.in(*this)});
}

ExprRef Builder::select(ExprRef condition, Term then_value, Term else_value) {
  const ExprRef value = then_value.in(*this);
  if (condition->type.lanes == 1)
    condition = broadcast(condition, value->type.lanes);
  return scalar(ScalarOp::Select, {condition, value, else_value.in(*this)});
}

ExprRef Builder::logical_and(ExprRef a, ExprRef b) {
  if (a == nullptr)
    return b;
  return b == nullptr ? a : scalar(ScalarOp::And, {a, b});
}

ExprRef Builder::fma(ExprRef a, ExprRef b, ExprRef c) {
  require(fma_rule(a->type, b->type, c->type));
  const Const *x = constant_of(a);
  const Const *y = constant_of(b);
  const Const *z = constant_of(c);
  if (x == nullptr || y == nullptr || z == nullptr)
    return add_expr({a->type, Fma{a, b, c}});
  if (a->type.elem == DType::F64)
    return real(std::fma(x->value, y->value, z->value), a->type);
  const float value = std::fma(static_cast<float>(x->value), static_cast<float>(y->value),
                               static_cast<float>(z->value));
  return real(static_cast<double>(value), a->type);
}

ExprRef Builder::dot(const DotOp &op, ExprRef a, ExprRef b, ExprRef c) {
  require(dot_rule(op, a->type, b->type, c->type));
  return add_expr({c->type, Dot{&op, a, b, c}});
}

ExprRef Builder::cast(ExprRef value, DType elem) {
  if (value->type.elem == elem)
    return value;
  const Type type{elem, value->type.lanes};
  const Const *constant = constant_of(value);
  if (constant == nullptr)
    return add_expr({type, Cast{value}});
  return real(is_float(elem) ? constant->value
                             : cast_to_integer(constant->value, value->type.elem, elem),
              type);
}

ExprRef Builder::broadcast(ExprRef value, int lanes) {
  if (lanes == value->type.lanes)
    return value;
  require(broadcast_rule(value->type, lanes));
  const Type type{value->type.elem, lanes};
  if (const Const *constant = constant_of(value))
    return real(constant->value, type);
  return add_expr({type, Broadcast{value}});
}

ExprRef Builder::load(BufferId buffer, Term place, int lanes, std::int64_t lane_stride,
                      ExprRef valid, double fill) {
  const ExprRef index = place.in(*this);
  const Buffer &from = kernel_[buffer];
  if (from.space == Space::Register && lanes == 1)
    lanes = from.type.lanes;
  if (lanes == 1)
    lane_stride = 1;
  require(access_rule(from, index->type, lanes, lane_stride,
                      valid != nullptr ? &valid->type : nullptr));
  const Type type{from.type.elem, lanes};
  std::int64_t count = 0;
  if (valid != nullptr && is_constant(valid, &count)) {
    if (count <= 0)
      return real(fill, type);
    if (count >= lanes)
      valid = nullptr;
  }
  return add_expr({type, Load{buffer, index, lane_stride, valid,
                              valid != nullptr ? narrowed(fill, type.elem) : 0}});
}

ExprRef Builder::remote_load(BufferId buffer, ExprRef index, int lanes, ExprRef rank) {
  const Buffer &from = kernel_[buffer];
  require(access_rule(from, index->type, lanes, 1, nullptr));
  const Load load{.buffer = buffer, .index = index, .rank = rank};
  require(remote_load_rule(kernel_, load));
  return add_expr({{from.type.elem, lanes}, load});
}

StmtRef Builder::block(std::vector<StmtRef> body) {
  std::vector<StmtRef> flat;
  for (const StmtRef stmt : body) {
    if (stmt == nullptr)
      continue;
    const Block *inner = std::get_if<Block>(&stmt->node);
    if (inner == nullptr)
      flat.push_back(stmt);
    else
      flat.insert(flat.end(), inner->body.begin(), inner->body.end());
  }
  return add_stmt({Block{std::move(flat)}});
}

StmtRef Builder::let(VarId var, ExprRef value) {
  TILEFUSE_CHECK(kernel_[var].type == value->type, "a `let` of another type than its variable");
  if (!is_index_arithmetic(value))
    data_variables_.insert(var);
  return add_stmt({Let{var, value}});
}

StmtRef Builder::loop(VarId var, ForKind kind, Term from, Term to, std::int64_t step,
                      StmtRef body) {
  const ExprRef begin = from.in(*this), end = to.in(*this);
  TILEFUSE_CHECK(begin->type == kInt && end->type == kInt && kernel_[var].type == kInt,
                 "a loop that is not over i32");
  TILEFUSE_CHECK(step > 0, "a loop whose step is not positive");
  std::int64_t first = 0;
  std::int64_t past = 0;
  if (is_constant(begin, &first) && is_constant(end, &past) && first >= past)
    return block(std::vector<StmtRef>{});
  if (std::get_if<Block>(&body->node) == nullptr)
    body = block({body});
  return add_stmt({For{var, kind, begin, end, step, body}});
}

StmtRef Builder::branch(ExprRef condition, StmtRef then_body, StmtRef else_body) {
  then_body = block({then_body});
  if (condition == nullptr)
    return then_body;
  TILEFUSE_CHECK(condition->type == (Type{DType::Bool, 1}), "a condition that is not one bool");
  else_body = else_body == nullptr ? nullptr : block({else_body});
  if (else_body != nullptr && is_empty(else_body))
    else_body = nullptr;
  if (const Const *constant = constant_of(condition)) {
    if (constant->value != 0)
      return then_body;
    return else_body != nullptr ? else_body : block(std::vector<StmtRef>{});
  }
  if (else_body == nullptr && is_empty(then_body))
    return then_body;
  return add_stmt({If{condition, then_body, else_body}});
}

StmtRef Builder::store(BufferId buffer, Term place, Term what, std::int64_t lane_stride,
                       ExprRef valid) {
  const ExprRef index = place.in(*this);
  ExprRef value = what.in(*this);
  const Buffer &to = kernel_[buffer];
  if (to.space != Space::Register)
    value = unrounded(*this, value);
  const int lanes = value->type.lanes;
  if (lanes == 1)
    lane_stride = 1;
  require(
      access_rule(to, index->type, lanes, lane_stride, valid != nullptr ? &valid->type : nullptr));
  require(store_rule(to, value->type));
  std::int64_t count = 0;
  if (valid != nullptr && is_constant(valid, &count)) {
    if (count <= 0)
      return block(std::vector<StmtRef>{});
    if (count >= lanes)
      valid = nullptr;
  }
  return add_stmt({Store{buffer, index, value, lane_stride, valid}});
}

StmtRef Builder::barrier(Barrier barrier) {
  require(barrier_rule(kernel_, barrier));
  return add_stmt({barrier});
}

StmtRef Builder::prefetch(BufferId buffer, ExprRef index) {
  require(access_rule(kernel_[buffer], index->type, kernel_[buffer].type.lanes, 1, nullptr));
  return add_stmt({Prefetch{buffer, index}});
}

StmtRef Builder::intrinsic(Intrinsic node) {
  const IntrinsicRow &row = row_of(node);
  require(row.rule(kernel_, node));
  row.fold(node);
  return add_stmt({std::move(node)});
}

} // namespace tilefuse::kernel
