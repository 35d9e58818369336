// SPDX-License-Identifier: Apache-2.0
// Depthwise products of bytes on processors: filters stay bytes when they are packed, and sums are
// exact for the largest and smallest elements.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "model/extreme_case.h"
#include "model/oracle/check.h"
#include "runtime/cpu/cpu_device.h"
#include "schedule/staging.h"
#include "target/dtype_traits.h"

namespace tilefuse::model {
namespace {

constexpr int kFilter = 1; // of the inputs

nest::Nest depthwise(DType data, DType filter) {
  return nest::parse_nest(fmt::format(R"(nest depthwise {{
  index y 7, x 9, c 48 | r 3, s 3
  slot 0 {} 3024, 1 {} 432, 2 i32 3024
  acc i32 = sum mul
  in 0 + 0 [y + r - 1:7?*432, x + s - 1:9?*48, c:48*1]
  in 1 + 0 const [c:48*9, r:3*3, s:3*1]
  out 2 + 0 [y:7*432, x:9*48, c:48*1]
  post acc
}})",
                                      to_string(data), to_string(filter)));
}

// The ends of a type, the lower one twice as often.
double end_of(DType type, std::int64_t element) {
  return element % 3 < 2 ? lowest(type) : highest(type);
}

TEST(NarrowProducts, FiltersStayBytesAndSumsAreExact) {
  for (const char *instructions : {"", "avx2"}) {
    const auto device = runtime::make_cpu_device(0, {}, instructions);
    for (const DType data : {DType::U8, DType::I8})
      for (const DType filter : {DType::I8, DType::U8}) {
        const KernelCase made = extreme_case(depthwise(data, filter), device->target(), end_of);
        EXPECT_EQ(schedule::packed_type(made.group.anchor, made.schedule, kFilter), filter);
        const auto divergence = check_on_device(Reference(made), *device);
        EXPECT_FALSE(divergence) << divergence->stage << ": " << divergence->what << to_text(made);
      }
  }
}

} // namespace
} // namespace tilefuse::model
