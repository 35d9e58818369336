// SPDX-License-Identifier: Apache-2.0
#include "kernel/verify.h"

#include <set>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "kernel/build.h"
#include "kernel/intrinsics.h"
#include "kernel/rules.h"
#include "kernel/text/text.h"
#include "kernel/walk.h"

namespace tilefuse::kernel {
namespace {

class Checker {
public:
  Checker(const Kernel &kernel, bool unrolled) : kernel_(kernel), unrolled_(unrolled) {}

  std::string run() {
    shell();
    if (broken_.empty() && kernel_.body == nullptr)
      broken_ = "the kernel has no body";
    if (broken_.empty())
      stmt(kernel_.body);
    return broken_;
  }

private:
  void require(bool holds, std::string_view rule) {
    if (!holds)
      require(std::string(rule));
  }
  // The first broken rule is kept.
  void require(const std::string &broken_rule) {
    if (broken_.empty())
      broken_ = broken_rule;
  }

  void shell();
  void stmt(StmtRef s);
  void expr(ExprRef e);
  void check(const Block &node);
  void check(const Let &node);
  void check(const For &node);
  void check(const If &node);
  void check(const Store &node);
  void check(const Barrier &node) {
    require(barrier_rule(kernel_, node));
    require(!divergent_ || node.id != 0 || node.is_of_warp(),
            "a barrier that not every work-item reaches");
  }
  void check(const Intrinsic &node);
  void check(const Prefetch &node) {
    require(kernel_[node.buffer].space != Space::Register, "a prefetch of a register");
  }

  void check(ExprRef e, const Const &node);
  void check(ExprRef e, const VarRef &node);
  void check(ExprRef e, const BlockIndex &) {
    require(e->type == kInt, "`block` of another type than i32");
  }
  void check(ExprRef e, const LaneIndex &) {
    require(e->type == kInt, "`lane` of another type than i32");
  }
  void check(ExprRef e, const Scalar &node);
  void check(ExprRef e, const Fma &node);
  void check(ExprRef e, const Dot &node);
  void check(ExprRef e, const Cast &node);
  void check(ExprRef e, const Broadcast &node);
  void check(ExprRef e, const Load &node);

  void access(BufferId buffer, ExprRef index, int lanes, std::int64_t stride, ExprRef valid);
  void in_range(const Buffer &buffer, std::int64_t index, std::int64_t lanes, std::int64_t stride);
  void registers(const ElementOperand &ref, std::int64_t values);
  void define(VarId var);
  bool depends_on_lane(ExprRef e) const;
  void divergent(bool condition, StmtRef body);

  const Kernel &kernel_;
  bool unrolled_;
  std::string broken_;
  std::set<VarId> ever_defined_;
  std::set<VarId> visible_;
  std::set<VarId> lane_dependent_;
  bool divergent_ = false;
};

void Checker::shell() {
  require(shape_rule(kernel_));
  std::set<std::string_view> names;
  bool globals_end = false;
  for (const Buffer &buffer : kernel_.buffers) {
    require(buffer_rule(buffer));
    require(names.insert(buffer.name).second, fmt::format("'{}' is defined twice", buffer.name));
    require(buffer.space != Space::Global || !globals_end, "a global buffer after others");
    globals_end = buffer.space != Space::Global;
  }
  for (const TensorMap &map : kernel_.maps) {
    require(tensor_map_rule(kernel_, map));
    require(names.insert(map.name).second, fmt::format("'{}' is defined twice", map.name));
  }
  for (const Variable &variable : kernel_.variables) {
    require(is_identifier(variable.name),
            fmt::format("variable name '{}' is not an identifier", variable.name));
    require(names.insert(variable.name).second,
            fmt::format("'{}' is defined twice", variable.name));
  }
}

void Checker::stmt(StmtRef s) {
  if (!broken_.empty())
    return;
  for (const ExprRef e : expressions(s))
    expr(e);
  std::visit([&](const auto &node) { check(node); }, s->node);
}

void Checker::expr(ExprRef e) {
  for (const ExprRef child : children(e))
    expr(child);
  if (broken_.empty())
    std::visit([&](const auto &node) { check(e, node); }, e->node);
}

void Checker::check(const Block &node) {
  const std::set<VarId> outer = visible_;
  for (const StmtRef child : node.body)
    stmt(child);
  visible_ = outer;
}

void Checker::define(VarId var) {
  require(ever_defined_.insert(var).second,
          fmt::format("variable {} is defined twice", kernel_[var].name));
  visible_.insert(var);
}

void Checker::check(const Let &node) {
  require(kernel_[node.var].type == node.value->type,
          fmt::format("`let {}` of another type", kernel_[node.var].name));
  if (depends_on_lane(node.value))
    lane_dependent_.insert(node.var);
  define(node.var);
}

void Checker::check(const For &node) {
  require(node.begin->type == kInt && node.end->type == kInt && kernel_[node.var].type == kInt,
          "a loop that is not over i32");
  require(node.step > 0, "a loop whose step is not positive");
  require(!unrolled_ || node.kind == ForKind::Serial, "an `unroll` loop is left");
  const bool differs = depends_on_lane(node.begin) || depends_on_lane(node.end);
  if (differs)
    lane_dependent_.insert(node.var);
  const std::set<VarId> outer = visible_;
  define(node.var);
  divergent(differs, node.body);
  visible_ = outer;
}

void Checker::divergent(bool condition, StmtRef body) {
  const bool before = divergent_;
  divergent_ = before || condition;
  stmt(body);
  divergent_ = before;
}

void Checker::check(const If &node) {
  require(node.condition->type == Type{DType::Bool, 1}, "a condition that is not one bool");
  const bool differs = depends_on_lane(node.condition);
  divergent(differs, node.then_body);
  if (node.else_body != nullptr)
    divergent(differs, node.else_body);
}

void Checker::check(const Store &node) {
  access(node.buffer, node.index, node.value->type.lanes, node.lane_stride, node.valid);
  require(store_rule(kernel_[node.buffer], node.value->type));
  require(kernel_[node.buffer].space != Space::Register || node.lane_stride == 1,
          "registers are stored to with a stride");
}

void Checker::check(ExprRef e, const Const &node) {
  require(e->type.lanes >= 1 && e->type.lanes <= kMaxLanes,
          "a constant with a wrong number of lanes");
  const bool held = node.value != node.value || narrowed(node.value, e->type.elem) == node.value;
  require(held, fmt::format("the constant {} is no {}", node.value, to_string(e->type)));
}

void Checker::check(ExprRef e, const VarRef &node) {
  const Variable &variable = kernel_[node.var];
  require(visible_.contains(node.var),
          fmt::format("variable {} is used outside its scope", variable.name));
  require(variable.type == e->type,
          fmt::format("variable {} is used with another type", variable.name));
}

void Checker::check(ExprRef e, const Scalar &node) {
  std::vector<Type> types;
  for (const ExprRef arg : node.args)
    types.push_back(arg->type);
  require(scalar_rule(node.op, types));
  if (broken_.empty())
    require(scalar_type(node.op, types) == e->type,
            fmt::format("{} gives another type", row(node.op).name));
}

void Checker::check(ExprRef e, const Fma &node) {
  require(fma_rule(node.a->type, node.b->type, node.c->type));
  require(e->type == node.a->type, "fma gives another type");
}

void Checker::check(ExprRef e, const Dot &node) {
  require(dot_rule(*node.op, node.a->type, node.b->type, node.c->type));
  require(e->type == node.c->type, "a dot product gives another type");
}

void Checker::check(ExprRef e, const Cast &node) {
  require(e->type.lanes == node.value->type.lanes, "a cast changes the lanes");
}

void Checker::check(ExprRef e, const Broadcast &node) {
  require(broadcast_rule(node.value->type, e->type.lanes));
  require(e->type.elem == node.value->type.elem, "a broadcast of another type");
}

void Checker::check(ExprRef e, const Load &node) {
  access(node.buffer, node.index, e->type.lanes, node.lane_stride, node.valid);
  require(e->type.elem == kernel_[node.buffer].type.elem,
          "a load of another type than the buffer's");
  if (node.rank != nullptr)
    require(remote_load_rule(kernel_, node));
}

void Checker::access(BufferId id, ExprRef index, int lanes, std::int64_t stride, ExprRef valid) {
  const Buffer &buffer = kernel_[id];
  require(
      access_rule(buffer, index->type, lanes, stride, valid != nullptr ? &valid->type : nullptr));
  std::int64_t at = 0;
  const bool is_register = buffer.space == Space::Register;
  if (is_constant(index, &at)) {
    if (valid == nullptr)
      in_range(buffer, at, is_register && buffer.type.lanes == lanes ? 1 : lanes, stride);
  } else {
    const bool is_gathered = is_register && buffer.type.lanes != lanes;
    require((!unrolled_ || !is_register) && !is_gathered,
            fmt::format("register {} has an index that is not constant", buffer.name));
  }
}

// Some values of a register buffer, from an index on.
void Checker::registers(const ElementOperand &ref, std::int64_t values) {
  const Buffer &buffer = kernel_[*ref.buffer];
  std::int64_t at = 0;
  if (is_constant(*ref.index, &at))
    in_range(buffer, at, values, 1);
  else
    require(!unrolled_, fmt::format("register {} has an index that is not constant", buffer.name));
}

void Checker::check(const Intrinsic &node) {
  const IntrinsicRow &row = row_of(node);
  require(row.scope == Scope::WorkItem || kernel_.block_size % kCoreLanes == 0,
          fmt::format("{} in a block that is not of whole warps of {}", row.called, kCoreLanes));
  require(row.rule(kernel_, node));
  if (!broken_.empty())
    return;
  for (const Operand &operand : operands(node))
    if (const auto *element = std::get_if<ElementOperand>(&operand.at))
      if (const std::int64_t values = register_values(kernel_, *element); values > 0)
        registers(*element, values);
}

void Checker::in_range(const Buffer &buffer, std::int64_t index, std::int64_t lanes,
                       std::int64_t stride) {
  // Strides and lanes are small by access_rule; an index out of range is found before it is added
  // to.
  const auto inside = [&](std::int64_t i) { return i >= 0 && i < buffer.elems; };
  const bool holds = inside(index) && inside(index + (lanes - 1) * stride);
  require(holds, fmt::format("index {} of {} is out of its {} elements", index, buffer.name,
                             buffer.elems));
}

bool Checker::depends_on_lane(ExprRef e) const {
  if (std::holds_alternative<LaneIndex>(e->node))
    return true;
  if (const VarRef *ref = std::get_if<VarRef>(&e->node))
    return lane_dependent_.contains(ref->var);
  if (std::holds_alternative<Load>(e->node))
    return true;
  for (const ExprRef child : children(e))
    if (depends_on_lane(child))
      return true;
  return false;
}

} // namespace

std::string check(const Kernel &kernel, bool unrolled) { return Checker(kernel, unrolled).run(); }

void verify(const Kernel &kernel, bool unrolled) {
  const std::string broken = check(kernel, unrolled);
  if (!broken.empty())
    internal_error(fmt::format("{}, in\n{}", broken, to_text(kernel)), __FILE__, __LINE__);
}

} // namespace tilefuse::kernel
