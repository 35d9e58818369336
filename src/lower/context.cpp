// SPDX-License-Identifier: Apache-2.0
#include "lower/context.h"

#include "nest/index.h"
#include "schedule/lane_reduction.h"
#include "schedule/staging.h"
#include "target/dtype_traits.h"

namespace tilefuse::lower {

int Context::width() const { return static_cast<int>(schedule::vector_width(schedule)); }

int Context::result_width() const {
  return static_cast<int>(schedule::result_width(nest, schedule));
}

std::int64_t Context::block_size() const { return schedule::group_size(schedule); }

ExprRef Context::place(IndexId index) const {
  if (!is_output(nest, index))
    return build.add(chunk[index], value[index]);
  const ExprRef step = first[index] ? first[index] : build.add(origin[index], inside[index]);
  return build.add(build.add(step, kept[index]), lane_at[index]);
}

ExprRef Context::point(IndexId index) const {
  return is_output(nest, index) ? build.add(start[index], place(index)) : place(index);
}

ExprRef named(kernel::Builder &build, Stmts &list, const std::string &name, ExprRef value) {
  if (kernel::is_constant(value))
    return value;
  const kernel::VarId var = build.variable(name, value->type);
  list.push_back(build.let(var, value));
  return build.var(var);
}

BufferId register_buffer(kernel::Builder &build, const std::string &name, kernel::Type type,
                         std::int64_t elems) {
  return build.buffer(
      {.name = name, .space = kernel::Space::Register, .type = type, .elems = elems});
}

ExprRef linear(const Context &cx, const nest::Linear &at, const Positions &positions) {
  ExprRef sum = cx.build.integer(at.constant);
  for (const IndexId i : at.coeff.ids())
    if (at.coeff[i] != 0)
      sum = cx.build.add(sum, cx.build.mul(positions[i], at.coeff[i]));
  return sum;
}

Positions points(const Context &cx) {
  Positions all;
  for (const IndexId i : cx.nest.indices.ids())
    all.push_back(cx.point(i));
  return all;
}

Positions places(const Context &cx) {
  Positions all;
  for (const IndexId i : cx.nest.indices.ids())
    all.push_back(cx.place(i));
  return all;
}

ExprRef filled(const Context &cx, BufferId from, ExprRef value, ExprRef inside) {
  const DType type = cx.build.kernel()[from].type.elem;
  const double fill = schedule::neutral_fill(cx.nest);
  std::int64_t stored = 0;
  store_element(&stored, type, 0, fill);
  if (!inside || load_element(&stored, type, 0) == fill || is_float(type))
    return value;
  return cx.build.select(inside, value, cx.build.real(fill, value->type));
}

DType compute_type(DType type) { return traits(type).value; }

} // namespace tilefuse::lower
