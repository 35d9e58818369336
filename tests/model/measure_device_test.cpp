// SPDX-License-Identifier: Apache-2.0
// A device is measured, its row is written, and the device that is opened beside it has its figures.
#include "model/oracle/measure_device.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "devices.h"
#include "runtime/make_device.h"
#include "target/measured_rows.h"

namespace tilefuse {
namespace {

namespace fs = std::filesystem;

TEST(MeasureDevice, ADeviceTakesTheRowThatIsWritten) {
  for (const testing::NamedDevice &one : testing::devices()) {
    runtime::Device &device = *one.device;
    const model::DeviceMeasurement measured = model::measure_device(device);
    ASSERT_GE(measured.figures.size(), 3U) << one.name;
    for (const model::MeasuredFigure &figure : measured.figures)
      EXPECT_GT(figure.measured, 0) << one.name << " " << figure.key;
    const fs::path folder = fs::temp_directory_path() / ("measured_" + std::to_string(::getpid()));
    fs::create_directories(folder);
    std::ofstream(folder / "row.toml") << to_toml(measured.row, measured.like);
    const std::vector<MeasuredRow> rows = read_measured_rows(folder.string());
    fs::remove_all(folder);
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0].device, device.name());
    const auto again = runtime::make_device(one.name, 0, builtin_targets(), {}, rows);
    EXPECT_EQ(again->target().gbytes_per_s, rows[0].target.gbytes_per_s);
    EXPECT_EQ(again->target().gflops_per_unit, rows[0].target.gflops_per_unit);
    EXPECT_EQ(again->target().launch_us, rows[0].target.launch_us);
    EXPECT_NE(again->target(), device.target());
    EXPECT_EQ(again->target().name, device.target().name);
  }
}

} // namespace
} // namespace tilefuse
