// SPDX-License-Identifier: Apache-2.0
#include "report/chrome_trace.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tilefuse::report {
namespace {

TEST(ChromeTrace, HasOneCompleteEventPerKernel) {
  const std::vector<model::KernelReport> kernels = {
      {.name = "conv_f32",
       .origin = "Conv \"a\"\n+ Relu \xff",
       .schedule = "ilpm",
       .chosen_by = "model",
       .flops = 2e6,
       .bytes = 1e3,
       .begin = 0,
       .seconds = 1e-5,
       .roofline = 0.5,
       .limit = "memory"},
      {.name = "map_f32", .schedule = "nest", .begin = 1.25e-5, .seconds = 0}};
  const auto trace = nlohmann::json::parse(chrome_trace("a device", kernels));
  const auto &events = trace.at("traceEvents");
  ASSERT_EQ(events.size(), 4U);
  EXPECT_EQ(events[0]["ph"], "M");
  EXPECT_EQ(events[0]["args"]["name"], "a device");
  const auto &first = events[2];
  EXPECT_EQ(first["ph"], "X");
  EXPECT_DOUBLE_EQ(first["ts"].get<double>(), 0);
  EXPECT_DOUBLE_EQ(first["dur"].get<double>(), 10);
  EXPECT_EQ(first["args"]["kernel"], "conv_f32");
  EXPECT_EQ(first["args"]["schedule"], "ilpm");
  EXPECT_DOUBLE_EQ(first["args"]["operations"].get<double>(), 2e6);
  EXPECT_DOUBLE_EQ(first["args"]["bytes"].get<double>(), 1e3);
  EXPECT_DOUBLE_EQ(first["args"]["GFLOP/s"].get<double>(), 200);
  EXPECT_DOUBLE_EQ(first["args"]["roofline"].get<double>(), 0.5);
  EXPECT_EQ(first["args"]["limit"], "memory");
  EXPECT_EQ(events[3]["name"], "map_f32");
  EXPECT_DOUBLE_EQ(events[3]["ts"].get<double>(), 12.5);
}

} // namespace
} // namespace tilefuse::report
