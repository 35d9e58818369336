// SPDX-License-Identifier: Apache-2.0
#include "lower/context.h"
#include "schedule/staging.h"

namespace tilefuse::lower {
namespace {

using kernel::ExprRef;
using nest::Linear;
using schedule::Fill;

// An address as a linear form of the indices. Staged inputs count output positions from the tile's origin.
struct Form {
  Linear at;
  bool inside_tile = false;
};

Form staged_form(const Context& cx, int input) {
  const nest::Operand& operand = cx.nest.inputs[static_cast<std::size_t>(input)];
  Form form{{0, std::vector<std::int64_t>(cx.nest.indices.size(), 0)}, true};
  for (const schedule::StageDim& stage : stage_tile(cx.nest, cx.schedule, input).dims) {
    const Linear& at = operand.dims[static_cast<std::size_t>(stage.dim)].at;
    form.at.constant -= stage.lowest * stage.stride;
    for (std::size_t i = 0; i < at.coeff.size(); ++i)
      form.at.coeff[i] += at.coeff[i] * stage.stride;
  }
  return form;
}

// The lane index appears twice in a packed layout, by steps and inside one; positions of steps are multiples of the step,
// so one coefficient per use is exact: input_address splits them.
Form packed_form(const Context& cx, int input) {
  Form form{{0, std::vector<std::int64_t>(cx.nest.indices.size(), 0)}, false};
  std::int64_t stride = 1;
  const schedule::PackLayout layout = pack_layout(cx.nest, cx.schedule, input);
  for (auto dim = layout.dims.rbegin(); dim != layout.dims.rend(); ++dim) {
    const bool inside_step = dim == layout.dims.rbegin() && dim->step == 1 &&
                             dim->index == lane_index(cx.schedule);
    if (!inside_step) form.at.coeff[static_cast<std::size_t>(dim->index)] = stride / dim->step;
    stride *= dim->count;
  }
  return form;
}

Form form_of(const Context& cx, int input) {
  switch (cx.schedule.fills[static_cast<std::size_t>(input)]) {
    case Fill::Direct:
      return {nest::flat(cx.nest.inputs[static_cast<std::size_t>(input)], cx.nest.indices.size()),
              false};
    case Fill::Local: return staged_form(cx, input);
    case Fill::Packed: return packed_form(cx, input);
  }
  return {};
}

// Elements that a step of one register copy or lane of index i moves the address by.
std::int64_t kept_coeff(const Context& cx, int input, const Form& form, std::size_t i) {
  const bool packed = cx.schedule.fills[static_cast<std::size_t>(input)] == Fill::Packed;
  const bool is_lane = static_cast<int>(i) == lane_index(cx.schedule);
  return packed && is_lane && form.at.coeff[i] != 0 ? 1 : form.at.coeff[i];
}

ExprRef scaled(const Context& cx, ExprRef value, std::int64_t coeff) {
  return cx.build.mul(value, cx.build.integer(coeff));
}

}  // namespace

ExprRef input_base(const Context& cx, int input) {
  const Form form = form_of(cx, input);
  ExprRef sum = cx.build.integer(form.at.constant);
  for (std::size_t i = 0; i < cx.outputs(); ++i) {
    if (form.at.coeff[i] == 0) continue;
    const ExprRef position =
        form.inside_tile ? cx.inside[i] : cx.build.add(cx.origin[i], cx.inside[i]);
    sum = cx.build.add(sum, scaled(cx, position, form.at.coeff[i]));
  }
  return sum;
}

Address input_address(const Context& cx, int input, ExprRef base) {
  const Form form = form_of(cx, input);
  Address address{base, cx.build.integer(0), 0};
  for (std::size_t i = 0; i < cx.nest.indices.size(); ++i) {
    if (form.at.coeff[i] == 0) continue;
    if (i >= cx.outputs()) {
      address.rest = cx.build.add(address.rest, scaled(cx, cx.value[i], form.at.coeff[i]));
      continue;
    }
    const std::int64_t coeff = kept_coeff(cx, input, form, i);
    address.rest = cx.build.add(address.rest, scaled(cx, cx.kept[i], coeff));
    if (static_cast<int>(i) != lane_index(cx.schedule)) continue;
    address.lane_stride = coeff;
    if (!cx.is_vector())
      address.rest = cx.build.add(address.rest, scaled(cx, cx.build.lane(), coeff));
  }
  return address;
}

}  // namespace tilefuse::lower
