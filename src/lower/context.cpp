// SPDX-License-Identifier: Apache-2.0
#include "lower/context.h"

namespace tilefuse::lower {

using kernel::ExprRef;

int Context::width() const {
  const int lane = schedule::lane_index(schedule);
  if (!is_vector() || lane < 0) return 1;
  return static_cast<int>(schedule.splits[static_cast<std::size_t>(lane)].lane);
}

std::int64_t Context::block_size() const {
  const int lane = schedule::lane_index(schedule);
  if (is_vector() || lane < 0) return 1;
  return schedule.splits[static_cast<std::size_t>(lane)].lane;
}

ExprRef Context::point(std::size_t index) const {
  if (index >= outputs()) return value[index];
  ExprRef at = build.add(build.add(origin[index], inside[index]), kept[index]);
  const bool own_lane = !is_vector() && static_cast<int>(index) == schedule::lane_index(schedule);
  return own_lane ? build.add(at, build.lane()) : at;
}

ExprRef linear(const Context& cx, const nest::Linear& at, const std::vector<ExprRef>& positions) {
  ExprRef sum = cx.build.integer(at.constant);
  for (std::size_t i = 0; i < at.coeff.size(); ++i)
    if (at.coeff[i] != 0)
      sum = cx.build.add(sum, cx.build.mul(positions[i], cx.build.integer(at.coeff[i])));
  return sum;
}

std::vector<ExprRef> points(const Context& cx) {
  std::vector<ExprRef> all;
  for (std::size_t i = 0; i < cx.nest.indices.size(); ++i) all.push_back(cx.point(i));
  return all;
}

DType compute_type(DType type) {
  return type == DType::F16 || type == DType::BF16 ? DType::F32 : type;
}

}  // namespace tilefuse::lower
