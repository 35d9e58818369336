// SPDX-License-Identifier: Apache-2.0
#include "emit/c/c_guarded.h"

#include <fmt/format.h>

#include "emit/c/c_expr.h"
#include "emit/c/c_helpers.h"
#include "emit/c/c_names.h"

namespace tilefuse::emit {
namespace {

std::string valid_text(CContext &cx, kernel::ExprRef valid, int lanes) {
  return valid == nullptr ? integer_literal(cx, lanes) : bare(expression(cx, valid));
}

} // namespace

std::string load_by_helper(CContext &cx, const kernel::Type &type, const kernel::Load &load) {
  const kernel::Buffer &buffer = cx.kernel[load.buffer];
  const std::string pointer =
      offset(buffer_name(cx, load.buffer), bare(expression(cx, load.index)));
  const std::string valid = valid_text(cx, load.valid, type.lanes);
  const std::string fill = fill_literal(cx, type, load.fill);
  if (load.lane_stride == 1)
    return fmt::format("{}({}, {}, {})", load_helper(cx, buffer, type.lanes), pointer, valid, fill);
  return fmt::format("{}({}, {}, {}, {})", gather_helper(cx, buffer, type.lanes), pointer,
                     integer_literal(cx, load.lane_stride), valid, fill);
}

std::string store_by_helper(CContext &cx, const kernel::Store &store, const std::string &value) {
  const kernel::Buffer &buffer = cx.kernel[store.buffer];
  const int lanes = store.value->type.lanes;
  const std::string pointer =
      offset(buffer_name(cx, store.buffer), bare(expression(cx, store.index)));
  const std::string valid = valid_text(cx, store.valid, lanes);
  if (store.lane_stride == 1)
    return fmt::format("{}({}, {}, {});", store_helper(cx, buffer, lanes), pointer, bare(value),
                       valid);
  return fmt::format("{}({}, {}, {}, {});", scatter_helper(cx, buffer, lanes), pointer,
                     integer_literal(cx, store.lane_stride), bare(value), valid);
}

} // namespace tilefuse::emit
