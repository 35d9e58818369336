// SPDX-License-Identifier: Apache-2.0
// The width of a staging copy is one fact: cost charges and lowering makes what the schedule says.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include <fmt/format.h>

#include "cost/gpu/work_item_shape.h"
#include "kernel/walk.h"
#include "lower/pipeline.h"
#include "schedule/legal.h"
#include "schedule/stage_copy.h"
#include "schedule/text.h"
#include "search/forms/copies.h"
#include "target/rows.h"

namespace tilefuse {
namespace {

struct Problem {
  std::string type = "f32";
  std::int64_t row = 64;   // elements from a row of the input to the next
  std::int64_t offset = 0; // of the input
};

// A product of 64 x 64 by 64 x 64 whose first input is staged in chunks of 16 of the depth.
nest::Nest product(const Problem &problem) {
  return nest::parse_nest(fmt::format(R"(nest gemm {{
  index m 64, x 64 | c 64
  slot 0 {} {}, 1 f32 4096, 2 f32 4096
  acc f32 = sum mul
  in 0 + {} [c:64*{}, x:64*1]
  in 1 + 0 [m:64*64, c:64*1]
  out 2 + 0 [m:64*64, x:64*1]
  post acc
}})",
                                      problem.type, problem.offset + 64 * problem.row,
                                      problem.offset, problem.row));
}

schedule::Schedule staged(const nest::Nest &nest) {
  return schedule::parse_schedule(nest, R"(schedule staged workitem
  tile   m:16 x:32 c:16
  lane   m:4 x:16
  reg    m:4 x:2
  loop   m x c
  stage  0 at c
)");
}

// Elements that the kernel reads of its first argument at a time.
int loaded_lanes(const nest::Nest &nest, const schedule::Schedule &schedule, const Target &target) {
  const kernel::Kernel kernel = lower::lower({nest, {}}, schedule, target);
  int lanes = 0;
  kernel::for_each_expr(kernel.body, [&](kernel::ExprRef expr) {
    if (const auto *load = std::get_if<kernel::Load>(&expr->node);
        load && load->buffer == kernel::BufferId{0})
      lanes = std::max(lanes, expr->type.lanes);
  });
  return lanes;
}

TEST(StageCopy, CostChargesTheCopiesThatAreMade) {
  const Target target = testing::target_row("opencl_nvidia");
  struct Case {
    Problem problem;
    int width;
  };
  for (const Case &one :
       {Case{{}, 4}, Case{{.type = "f16"}, 1}, Case{{.type = "i8"}, 1}, Case{{.row = 66}, 2},
        Case{{.row = 65}, 1}, Case{{.offset = 2}, 2}, Case{{.offset = 1}, 1}}) {
    const nest::Nest nest = product(one.problem);
    SCOPED_TRACE(nest::to_text(nest));
    schedule::Schedule schedule = staged(nest);
    ASSERT_EQ(schedule::illegal(nest, schedule, target), std::nullopt);
    cost::LaneCounts counts;
    const auto places = schedule::input_places(nest, schedule);
    EXPECT_EQ(cost::WorkItemShape({nest, schedule, target, counts, places}).copy_width(0), 1);
    EXPECT_EQ(loaded_lanes(nest, schedule, target), 1);
    ASSERT_EQ(search::assign_copies(nest, schedule, target), std::nullopt);
    EXPECT_EQ(item_copy(nest, schedule, 0).widest, one.width);
    EXPECT_EQ(cost::WorkItemShape({nest, schedule, target, counts, places}).copy_width(0),
              one.width);
    EXPECT_EQ(loaded_lanes(nest, schedule, target), one.width);
  }
}

} // namespace
} // namespace tilefuse
