// SPDX-License-Identifier: Apache-2.0
#include "lower/pipeline.h"

#include <array>
#include <utility>

#include "base/error.h"
#include "kernel/verify.h"
#include "lower/code_version.h"
#include "lower/mma/build_core.h"
#include "lower/mma/row_products.h"
#include "lower/share_reads.h"
#include "lower/simt/build_loops.h"
#include "lower/simt/fill_produce.h"
#include "lower/unroll.h"
#include "lower/wgmma/build_wgmma.h"
#include "poly/row_group.h"
#include "schedule/legal.h"
#include "schedule/members.h"
#include "schedule/schedule.h"

namespace tilefuse::lower {
namespace {

struct Pass {
  std::string_view name;
  kernel::Kernel (*run)(const kernel::Kernel &);
  bool unrolled_after;
  bool for_items = false; // of kernels of work-items alone
};

// Every pass after build_loops, in order.
constexpr std::array kPasses = {
    Pass{"unroll", unroll, true},
    Pass{"share_reads", share_reads, true, true},
};

Lowered loops(const poly::Group &group, const schedule::Schedule &schedule, const Target &target) {
  return {build_loops(group, schedule, target, fill_by_producer)};
}

Lowered core(const poly::Group &group, const schedule::Schedule &schedule, const Target &target) {
  return {build_core(group, schedule, target)};
}

Lowered wgmma(const poly::Group &group, const schedule::Schedule &schedule, const Target &target) {
  WgmmaKernel built = build_wgmma(group, schedule, target);
  return {std::move(built.kernel), built.place};
}

Lowered rows(const poly::Group &group, const schedule::Schedule &schedule, const Target &target) {
  return {build_row_products(group, schedule, target)};
}

// The pass before them, by what does the arithmetic.
struct Builder {
  std::string_view name;
  Lowered (*run)(const poly::Group &, const schedule::Schedule &, const Target &);
};

Builder builder_of(const poly::Group &group, const schedule::Schedule &schedule) {
  if (has_rows(group))
    return {"build_row_products", rows};
  if (!schedule::has_core(schedule))
    return {"build_loops", loops};
  return is_wgmma(*schedule.core.op) ? Builder{"build_wgmma", wgmma} : Builder{"build_core", core};
}

} // namespace

std::string_view code_version() { return kCodeVersion; }

kernel::Kernel lower(const poly::Group &group, const schedule::Schedule &schedule,
                     const Target &target, const Observer &observer) {
  return lower_part(group, schedule, target, observer).kernel;
}

// A pass keeps the numbers of buffers.
Lowered lower_part(const poly::Group &group, const schedule::Schedule &schedule,
                   const Target &target, const Observer &observer) {
  const std::optional<std::string> reason = schedule::illegal(group, schedule, target);
  TILEFUSE_CHECK(!reason, reason.value_or(""));
  const Builder builder = builder_of(group, schedule);
  Lowered lowered = builder.run(group, schedule, target);
  kernel::Kernel &kernel = lowered.kernel;
  kernel::verify(kernel, false);
  if (observer)
    observer(0, builder.name, kernel);
  int number = 0;
  for (const Pass &pass : kPasses) {
    if (pass.for_items && schedule.lanes != LaneKind::WorkItem)
      continue;
    kernel = pass.run(kernel);
    kernel::verify(kernel, pass.unrolled_after);
    if (observer)
      observer(++number, pass.name, kernel);
  }
  return lowered;
}

} // namespace tilefuse::lower
