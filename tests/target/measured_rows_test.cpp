// SPDX-License-Identifier: Apache-2.0
// Rows that were measured: what is written is read back, and goes before what is stated.
#include "target/measured_rows.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/error.h"

namespace tilefuse {
namespace {

namespace fs = std::filesystem;

class Folder {
public:
  Folder() : path_(fs::temp_directory_path() / ("measured_rows_" + std::to_string(::getpid()))) {
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  void put(const std::string &name, const std::string &text) const {
    std::ofstream(path_ / name) << text;
  }
  std::string path() const { return path_.string(); }

private:
  fs::path path_;
};

Target builtin(const std::string &name) {
  for (const Target &target : builtin_targets())
    if (target.name == name)
      return target;
  ADD_FAILURE() << name;
  return {};
}

// A row of a GPU, some of whose rates were measured.
MeasuredRow measured_gpu() {
  MeasuredRow row{"A \"card\"", builtin("cuda_sm80")};
  row.target.name = measured_name(row.target, row.device);
  row.target.gflops_per_unit = 171.5;
  row.target.gbytes_per_s = 1444;
  row.target.launch_us = 2.75;
  row.target.rates.l2_over_memory = 2.5;
  return row;
}

TEST(MeasuredRows, WhatIsWrittenIsReadBack) {
  const Folder folder;
  const MeasuredRow gpu = measured_gpu();
  MeasuredRow cpu{"a processor", builtin("cpu_avx512_vnni")};
  cpu.target.name = measured_name(cpu.target, cpu.device);
  folder.put("gpu.toml", to_toml(gpu, builtin("cuda_sm90").rates));
  folder.put("cpu.toml", to_toml(cpu, {}));
  const std::vector<MeasuredRow> rows = read_measured_rows(folder.path());
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].device, cpu.device);
  EXPECT_EQ(rows[0].target, cpu.target);
  EXPECT_EQ(rows[1].device, gpu.device);
  EXPECT_EQ(rows[1].target, gpu.target);
}

TEST(MeasuredRows, GoBeforeWhatIsStated) {
  const std::vector<MeasuredRow> rows = {measured_gpu()};
  const Target stated = builtin("cuda_sm80");
  const Target target = with_measurements(stated, rows[0].device, rows);
  EXPECT_EQ(target.name, stated.name);
  EXPECT_EQ(target.gflops_per_unit, 171.5);
  EXPECT_EQ(target.gbytes_per_s, 1444);
  EXPECT_EQ(target.launch_us, 2.75);
  EXPECT_EQ(target.rates.l2_over_memory, 2.5);
  EXPECT_EQ(with_measurements(stated, "another", rows), stated);
  const Target opencl = builtin("opencl_nvidia");
  EXPECT_EQ(with_measurements(opencl, rows[0].device, rows), opencl);
}

TEST(MeasuredRows, NoFolderHasNone) {
  EXPECT_TRUE(read_measured_rows("/no/such/folder").empty());
  EXPECT_TRUE(read_measured_rows("").empty());
}

TEST(MeasuredRows, ARowNamesItsDevice) {
  const Folder folder;
  folder.put("x.toml", "name = \"x\"\nbackend = \"llvm\"\n");
  try {
    read_measured_rows(folder.path());
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.message(), "key 'measured_on' needs the name of a device");
  }
}

TEST(MeasuredRows, TheFolderIsTheUsers) {
  ::setenv("TILEFUSE_DEVICES", "/some/where", 1);
  EXPECT_EQ(measured_folder(), "/some/where");
  ::unsetenv("TILEFUSE_DEVICES");
  ::setenv("XDG_CONFIG_HOME", "/config", 1);
  EXPECT_EQ(measured_folder(), "/config/tilefuse/devices");
  ::unsetenv("XDG_CONFIG_HOME");
}

} // namespace
} // namespace tilefuse
