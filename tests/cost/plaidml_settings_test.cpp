// SPDX-License-Identifier: Apache-2.0
#include "cost/plaidml/plaidml_settings.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "plaidml_fixture.h"

namespace tilefuse {
namespace {

using cost::plaidml::default_settings;
using cost::plaidml::Settings;
using cost::plaidml::stock_settings;

// The error of reading a file with this text.
std::string mistake(std::string_view text) {
  try {
    cost::plaidml::parse_settings(text, "d.toml");
  } catch (const Error &error) {
    EXPECT_EQ(error.code(), ErrorCode::Io);
    return error.where() + ": " + error.message();
  }
  return "no error";
}

TEST(PlaidmlSettings, TheStockIsShipped) {
  EXPECT_EQ(stock_settings("plaidml_test_gpu"), test::kTestGpu);
  EXPECT_EQ(stock_settings("plaidml_amd"), test::kAmd);
  for (const char *name : {"plaidml_macos_amd", "plaidml_macos_intel", "plaidml_nvidia"})
    EXPECT_TRUE(stock_settings(name).has_value()) << name;
  EXPECT_FALSE(stock_settings("cpu_avx2").has_value());
}

TEST(PlaidmlSettings, UnknownDevicesHaveDefaults) {
  Target target;
  target.lanes = LaneKind::WorkItem;
  target.local_bytes = 32768;
  target.compute_units = 10;
  const Settings settings = default_settings(target);
  EXPECT_EQ(settings.threads, 1);
  EXPECT_EQ(settings.max_mem, 32768);
  EXPECT_EQ(settings.goal_groups, 40);
  EXPECT_FALSE(settings.use_global);
  target.lanes = LaneKind::Vector;
  EXPECT_TRUE(default_settings(target).use_global);
}

TEST(PlaidmlSettings, MistakesNameFileAndLine) {
  const std::string all = "threads = 256\nmem_width = 32\nmax_mem = 18432\n"
                          "max_regs = 18432\ngoal_groups = 20\ngoal_flops_per_byte = 20\n";
  EXPECT_EQ(mistake(all), "no error");
  EXPECT_EQ(mistake("threads = 96\n"),
            "d.toml:1:11: key 'threads' needs a power of two from 1 to 512");
  EXPECT_EQ(mistake("threads = 256\n"), "d.toml:1:1: key 'mem_width' is missing");
  EXPECT_EQ(mistake(all + "use_global = 1\n"), "d.toml:7:14: key 'use_global' needs true or false");
  EXPECT_EQ(mistake(all + "waves = 1\n"), "d.toml:7:1: unknown key 'waves'");
  EXPECT_EQ(mistake("threads = ").substr(0, 9), "d.toml:1:");
}

} // namespace
} // namespace tilefuse
