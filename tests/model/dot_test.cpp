// SPDX-License-Identifier: Apache-2.0
// Products of bytes: the search reaches dot products, and their sums are exact for the largest and
// smallest elements, simulated and run.
#include <gtest/gtest.h>

#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/index.h"
#include "model/devices.h"
#include "model/extreme_case.h"
#include "model/oracle/check.h"
#include "runtime/opencl_fixture.h"
#include "schedule/dots.h"
#include "schedule/text.h"
#include "search/pick.h"
#include "target/dtype_traits.h"
#include "target/rows.h"

namespace tilefuse::model {
namespace {

struct Conv {
  std::string data = "u8", filter = "i8";
  std::int64_t c = 64, m = 64, size = 9, taps = 3, stride = 1, pad = 1;
  std::int64_t out() const { return (size + 2 * pad - taps) / stride + 1; }
};

// Channels last, as networks lie.
nest::Nest nest_of(const Conv &v) {
  const std::int64_t row = v.size * v.c;
  const std::string guard = v.pad > 0 ? "?" : "";
  return nest::parse_nest(fmt::format(
      R"(nest conv {{
  index y {0}, x {0}, m {1} | r {2}, s {2}, c {3}
  slot 0 {4} {5}, 1 {6} {7}, 2 i32 {8}, 3 i32 {1}
  acc i32 = sum mul
  in 0 + 0 [{9}*y + r - {10}:{11}{12}*{13}, {9}*x + s - {10}:{11}{12}*{3}, c:{3}*1]
  in 1 + 0 const [m:{1}*{14}, c:{3}*{15}, r:{2}*{2}, s:{2}*1]
  out 2 + 0 [y:{0}*{16}, x:{0}*{1}, m:{1}*1]
  extra 3 + 0 const [m:{1}*1]
  post acc + $0
}})",
      v.out(), v.m, v.taps, v.c, v.data, v.size * row, v.filter, v.m * v.c * v.taps * v.taps,
      v.out() * v.out() * v.m, v.stride, v.pad, v.size, guard, row, v.c * v.taps * v.taps,
      v.taps * v.taps, v.out() * v.m));
}

// Ends of a type, and numbers beside the lower one.
double end_of(DType type, std::int64_t element) {
  return element % 5 < 3 ? highest(type) : lowest(type) + static_cast<double>(element % 2);
}

std::vector<Conv> problems() {
  return {{},
          {.c = 16, .m = 24, .taps = 1, .pad = 0},
          {.c = 32, .m = 17, .stride = 2},
          {.c = 3, .m = 32, .size = 11},
          {.c = 29, .m = 64, .taps = 1, .pad = 0},
          {.data = "i8"},
          {.data = "u8", .filter = "u8", .c = 20},
          {.data = "i8", .filter = "u8", .c = 24, .m = 40}};
}

// The fastest instruction of the target that the nest can be computed with, of lanes or of rows.
const DotOp *fastest_dot(const nest::Nest &nest, const Target &target, bool has_rows) {
  const DotRate *best = nullptr;
  for (const DotRate &rate : target.dots)
    if (tilefuse::has_rows(*rate.op) == has_rows && schedule::fits(nest, *rate.op) &&
        (best == nullptr || rate.gops_per_unit > best->gops_per_unit))
      best = &rate;
  return best == nullptr ? nullptr : best->op;
}

TEST(Dots, EveryTargetMultipliesBytesWithItsFastest) {
  int checked = 0;
  for (Target row : read_targets(TILEFUSE_SOURCE_DIR "/devices"))
    for (const Conv &problem : row.dots.empty() ? std::vector<Conv>{} : problems()) {
      row.features = row.features.without({Feature::MatrixUnits, Feature::WarpgroupMatrix});
      const nest::Nest nest = nest_of(problem);
      const KernelCase made = extreme_case(nest, row, end_of);
      // Work-items fill up no group: what is staged by bytes costs more than it saves.
      const bool may_differ = row.lanes == LaneKind::WorkItem && problem.c % 4 != 0;
      const DotOp *of_rows = fastest_dot(nest, row, true);
      const bool is_of_rows = made.schedule.dot == of_rows;
      EXPECT_TRUE(may_differ || is_of_rows || made.schedule.dot == fastest_dot(nest, row, false))
          << row.name << "\n"
          << to_text(nest) << schedule::to_text(nest, made.schedule);
      EXPECT_TRUE(problem.c < 64 || of_rows == nullptr || is_of_rows) << row.name;
      const Reference reference(made);
      const auto divergence = check_simulated(reference);
      EXPECT_FALSE(divergence) << divergence->stage << ": " << divergence->what << to_text(made);
      ++checked;
    }
  EXPECT_GE(checked, 90);
}

void check_processor(const char *instructions) {
  const auto device = runtime::make_cpu_device(0, {}, instructions);
  for (const Conv &problem : problems()) {
    const KernelCase made = extreme_case(nest_of(problem), device->target(), end_of);
    EXPECT_NE(made.schedule.dot, nullptr);
    const Reference reference(made);
    const auto divergence = check_on_device(reference, *device);
    EXPECT_FALSE(divergence) << divergence->stage << ": " << divergence->what << to_text(made);
  }
}

TEST(Dots, TheProcessorAddsExactly) {
  check_processor("");
  check_processor("avx2");
}

TEST(Dots, TheProcessorAddsExactlyWithoutAMatrixUnit) {
  try {
    check_processor("avx512_vnni");
  } catch (const Error &error) {
    GTEST_SKIP() << error.what();
  }
}

// Of a target that has no other dot products.
Target of_rows_alone(Target target) {
  std::erase_if(target.dots, [](const DotRate &rate) { return !has_rows(*rate.op); });
  return target;
}

// Rows and lanes that the last register fills in part, groups that do not fill one.
std::vector<Conv> problems_of_rows() {
  std::vector<Conv> all = problems();
  all.push_back({.c = 36, .m = 20, .size = 21, .taps = 1, .pad = 0});
  all.push_back({.data = "i8", .c = 128, .m = 48, .size = 17, .taps = 1, .stride = 2, .pad = 0});
  all.push_back({.c = 64, .m = 16, .size = 7});
  return all;
}

TEST(Dots, RowsAddExactly) {
  const Target target = of_rows_alone(testing::target_row("cpu_avx512_amx"));
  for (const Conv &problem : problems_of_rows()) {
    const KernelCase made = extreme_case(nest_of(problem), target, end_of);
    ASSERT_NE(made.schedule.dot, nullptr);
    EXPECT_TRUE(has_rows(*made.schedule.dot));
    const Reference reference(made);
    const auto divergence = check_simulated(reference);
    EXPECT_FALSE(divergence) << divergence->stage << ": " << divergence->what << to_text(made);
  }
}

TEST(Dots, RowsOfTheProcessorAddExactly) {
  const auto device = runtime::make_cpu_device(0);
  const Target target = of_rows_alone(device->target());
  if (target.dots.empty())
    GTEST_SKIP() << "this processor has no matrix unit for bytes, or no permission to use it";
  for (const Conv &problem : problems_of_rows()) {
    const KernelCase made = extreme_case(nest_of(problem), target, end_of);
    ASSERT_NE(made.schedule.dot, nullptr);
    const Reference reference(made);
    const auto divergence = check_on_device(reference, *device);
    EXPECT_FALSE(divergence) << divergence->stage << ": " << divergence->what << to_text(made);
  }
}

// Where its compiler knows the processor's instructions: vectors as long as OpenCL C has them.
TEST(Dots, OpenclAddsExactly) {
  TILEFUSE_NEED_OPENCL(device);
  for (const Conv &problem : device->target().dots.empty() ? std::vector<Conv>{} : problems()) {
    const KernelCase made = extreme_case(nest_of(problem), device->target(), end_of);
    EXPECT_NE(made.schedule.dot, nullptr);
    const Reference reference(made);
    const auto divergence = check_on_device(reference, *device);
    EXPECT_FALSE(divergence) << divergence->stage << ": " << divergence->what << to_text(made);
  }
}

// What is staged and packed ends with a whole group, of zeros.
TEST(Dots, ScheduleSaysWhichInstructionAndWhichGroups) {
  const nest::Nest nest = nest_of({.c = 29, .taps = 1, .pad = 0});
  const schedule::Schedule picked = search::pick(nest, testing::target_row("cpu_avx2"));
  const std::string text = schedule::to_text(nest, picked);
  EXPECT_NE(text.find("  vec    c:2\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  dot    dot2.s16.s16.s32\n"), std::string::npos) << text;
  EXPECT_NE(text.find(" c:30\n"), std::string::npos) << text;
  EXPECT_EQ(schedule::parse_schedule(nest, text), picked);
}

} // namespace
} // namespace tilefuse::model
