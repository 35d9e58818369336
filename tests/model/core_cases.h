// SPDX-License-Identifier: Apache-2.0
// What tests of schedules with a core instruction share: devices, convolutions, and the counts of a
// kernel.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kernel/simulate.h"
#include "kernel/walk.h"
#include "lower/pipeline.h"
#include "model/oracle/check.h"
#include "model/oracle/simulate_group.h"
#include "program/program.h"
#include "search/forms/core_forms.h"
#include "support/sampling.h"
#include "target/rows.h"

namespace tilefuse::model {

// Ampere with few multiprocessors, so that small problems fill it.
inline Target sm80() {
  Target target;
  target.name = "test_sm80";
  target.backend = "cuda";
  target.isa = "sm_80";
  target.lanes = LaneKind::WorkItem;
  target.vector_f32 = 64;
  target.vector_registers = 255;
  target.max_group = 1024;
  target.compute_units = 4;
  target.local_bytes = 166912;
  target.local_is_hw = true;
  target.local_banks = 32;
  target.warp = 32;
  target.sector_bytes = 32;
  target.fp16_storage = true;
  return testing::with_row(target, "cuda_sm80");
}

// Hopper with two of them, so that blocks take several tiles.
inline Target sm90() {
  Target target = sm80();
  target.name = "test_sm90";
  target.isa = "sm_90a";
  target.vector_f32 = 128;
  target.compute_units = 2;
  target.local_bytes = 232448;
  return testing::with_row(target, "cuda_sm90");
}

// As an H200 is, in round figures, for what the cost model judges.
inline Target h200() {
  Target target = sm90();
  target.compute_units = 132;
  target.gbytes_per_s = 4200;
  target.gflops_per_unit = 450;
  target.launch_us = 5;
  target.l1_bytes = 128 << 10;
  return target;
}

// Rows of pixels, each an image.
inline poly::Group pixels_in_rows() {
  return {nest::parse_nest(R"(nest conv {
  index n 9, x 21, m 64 | c 64, s 3
  slot 0 f16 12096, 1 f16 12288, 2 f16 12096
  acc f32 = sum mul
  in 0 + 0 [n:9*1344, x + s - 1:21?*64, c:64*1]
  in 1 + 0 const [m:64*192, c:64*3, s:3*1]
  out 2 + 0 [n:9*1344, x:21*64, m:64*1]
  post f16(acc)
})")};
}

// Two rows of padding above and none below, one column right.
inline poly::Group padded_on_one_side() {
  return {nest::parse_nest(R"(nest conv {
  index n 2, y 9, x 10, m 64 | c 64, r 3, s 2
  slot 0 f16 11520, 1 f16 24576, 2 f16 11520
  acc f32 = sum mul
  in 0 + 0 [n:2*5760, y + r - 2:9?*640, x + s:10?*64, c:64*1]
  in 1 + 0 const [m:64*384, c:64*6, r:3*2, s:2*1]
  out 2 + 0 [n:2*5760, y:9*640, x:10*64, m:64*1]
  post f16(acc)
})")};
}

inline kernel::Counts counts_of(const poly::Group &group, const schedule::Schedule &schedule,
                                const Target &target) {
  const kernel::Kernel kernel = lower::lower(group, schedule, target);
  std::vector<program::Bytes> data;
  std::vector<std::span<std::byte>> spans;
  for (const kernel::Buffer &buffer : kernel.buffers)
    if (buffer.space == kernel::Space::Global)
      data.emplace_back(static_cast<std::size_t>(buffer.elems * size_bytes(buffer.type.elem)));
  spans.assign(data.begin(), data.end());
  return kernel::simulate(kernel, spans, simulation_options(group, schedule, target));
}

// Simulates what a case becomes; by night also what each pass before the last makes of it.
inline std::optional<Divergence> check_lowered(const Reference &reference) {
  if (testing::is_nightly())
    return check_simulated(reference);
  const KernelCase &of = reference.kernel_case();
  return check_kernel(reference, lower::lower(of.group, of.schedule, of.target), "simulated");
}

// Simulates every `each`-th of the schedules against one reference, from one on that `from` chooses
// of the first; by day some of these, which ones follows from the group. Gives how many by night.
inline int check_schedules(const poly::Group &group, const Target &target,
                           const std::vector<schedule::Schedule> &all, std::size_t each,
                           std::size_t from = 0) {
  EXPECT_FALSE(all.empty()) << to_text(group.anchor);
  KernelCase kernel_case{.group = group, .target = target, .seed = 5};
  const Reference reference(kernel_case); // of any schedule
  const std::vector<std::size_t> taken = testing::steps(all.size(), each, from);
  const std::size_t first = std::hash<std::string>()(to_text(group.anchor));
  for (const std::size_t i : testing::sampled(taken, first)) {
    kernel_case.schedule = all[i];
    const auto divergence = check_lowered(reference);
    EXPECT_FALSE(divergence) << divergence->stage << ": " << divergence->what << "\n"
                             << to_text(kernel_case);
  }
  return static_cast<int>(taken.size());
}

// Accesses that meet in a bank, as text; empty: none.
inline std::string bank_conflicts(const kernel::Counts &counts) {
  std::string found;
  for (const kernel::AccessCounts &access : counts.accesses)
    if (access.all_phases().conflicts() != 0)
      found += access.text + "\n";
  return found;
}

// Loops, and integer divisions inside them.
struct LoopCounts {
  int loops = 0;
  int divisions = 0;
};

inline LoopCounts loop_counts(const kernel::Kernel &kernel) {
  LoopCounts counts;
  kernel::for_each_stmt(kernel.body, [&](kernel::StmtRef stmt) {
    if (!std::holds_alternative<kernel::For>(stmt->node))
      return;
    ++counts.loops;
    kernel::for_each_expr(stmt, [&](kernel::ExprRef expr) {
      const auto *scalar = std::get_if<kernel::Scalar>(&expr->node);
      counts.divisions +=
          scalar != nullptr && (scalar->op == ScalarOp::Div || scalar->op == ScalarOp::Mod);
    });
  });
  return counts;
}

} // namespace tilefuse::model
