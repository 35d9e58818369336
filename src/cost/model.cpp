// SPDX-License-Identifier: Apache-2.0
#include "cost/model.h"

#include <fmt/format.h>

#include "cost/gpu/gemm_model.h"
#include "cost/gpu/work_item_figures.h"
#include "cost/gpu/work_item_model.h"
#include "cost/vector/vector_figures.h"
#include "cost/vector/vector_model.h"

namespace tilefuse::cost {

Estimate predict(const nest::Nest &nest, const schedule::Schedule &schedule, const Target &target) {
  if (has_core(schedule))
    return predict_gemm(gemm_of(nest, schedule), target);
  if (target.lanes == LaneKind::Vector)
    return predict_vector(nest, schedule, target);
  LaneCounts counts;
  const std::vector<InputPlace> places = input_places(nest, schedule);
  return predict_work_items({nest, schedule, target, counts, places});
}

Figures figures(const nest::Nest &nest, const schedule::Schedule &schedule, const Target &target) {
  if (has_core(schedule))
    return gemm_figures(gemm_of(nest, schedule), target);
  return target.lanes == LaneKind::Vector ? vector_figures(nest, schedule)
                                          : work_item_figures(nest, schedule, target);
}

Demands demands(const nest::Nest &nest, const schedule::Schedule &schedule, const Target &target) {
  if (has_core(schedule))
    return gemm_demands(gemm_of(nest, schedule), target);
  if (target.lanes == LaneKind::Vector)
    return vector_demands(nest, schedule, target);
  LaneCounts counts;
  const std::vector<InputPlace> places = input_places(nest, schedule);
  return work_item_demands({nest, schedule, target, counts, places});
}

std::string explain(const Estimate &estimate) {
  std::string text = fmt::format("predicted {:.1f} us\n", estimate.seconds * 1e6);
  for (const Reason &reason : estimate.reasons)
    text += fmt::format("  {:<34} {:>12.5g} {}\n", reason.what, reason.value, reason.unit);
  return text;
}

} // namespace tilefuse::cost
