// SPDX-License-Identifier: Apache-2.0
#include "target/target.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/error.h"
#include "paths.h"
#include "target/device_rows.h"

namespace tilefuse {
namespace {

class Directory {
public:
  explicit Directory(const std::string &name)
      : path_(std::filesystem::path(::testing::TempDir()) / ("tilefuse_" + name)) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~Directory() { std::filesystem::remove_all(path_); }
  void write(const std::string &name, std::string_view text) const {
    std::ofstream(path_ / name) << text;
  }
  std::string path() const { return path_.string(); }

private:
  std::filesystem::path path_;
};

// The error of reading one device file with this text, without the directory.
std::string mistake(std::string_view text) {
  const Directory directory("mistake");
  directory.write("d.toml", text);
  try {
    read_targets(directory.path());
  } catch (const Error &error) {
    EXPECT_EQ(error.code(), ErrorCode::Io);
    return std::filesystem::path(error.where()).filename().string() + ": " + error.message();
  }
  return "no error";
}

TEST(Target, TextComesBack) {
  Target target;
  target.name = "a \"b\"\n";
  target.isa = "znver3;+avx2";
  target.lanes = LaneKind::WorkItem;
  target.gflops_per_unit = 0.1;
  target.local_bytes = std::int64_t{1} << 40;
  target.fp64 = false;
  target.features = {Feature::MatrixUnits, Feature::EitherLanes};
  target.dots = {{find_dot_op("dot2.s16.s16.s32"), 115.2}};
  target.rates_like = "cuda_sm90";
  target.rates.barrier_cycles = 0.3;
  EXPECT_EQ(parse_target(to_text(target)), target);
  EXPECT_EQ(to_text(parse_target(to_text(target))), to_text(target));
  EXPECT_NE(to_text(target), to_text(Target{}));
}

TEST(Target, MalformedTextIsAnError) {
  for (const char *text :
       {"nam \"x\"", "name x", "lanes both", "vector_f32 1.5", "vector_f32 99999999999", "fp64 1",
        "name \"a\" name \"b\"", "gflops_per_unit", "\"name\" \"x\"", "rates.barrier 3",
        "barrier_cycles 3", "rates.barrier_cycles x", "features matrix", "dots dot3",
        "dots dot2.s16.s16.s32"}) {
    EXPECT_THROW(parse_target(text), Error) << text;
  }
}

TEST(Target, ShippedRows) {
  const std::vector<Target> rows = read_targets(TILEFUSE_SOURCE_DIR "/devices");
  const auto find = [&](std::string_view name) {
    for (const Target &row : rows)
      if (row.name == name)
        return row;
    ADD_FAILURE() << name;
    return Target{};
  };
  EXPECT_EQ(find("cpu_avx2").isa, "x86-64-v3");
  EXPECT_EQ(find("cpu_avx2").vector_registers, 16);
  EXPECT_EQ(find("cpu_avx512").vector_f32, 16);
  EXPECT_EQ(find("opencl_cpu").lanes, LaneKind::Vector);
  EXPECT_FALSE(find("opencl_mali").local_is_hw);
  EXPECT_EQ(find("opencl_amd").max_group, 256);
  for (const char *name : {"opencl_cpu_avx512", "opencl_gpu", "opencl_nvidia", "opencl_nvidia_sm90",
                           "opencl_intel", "opencl_adreno"})
    find(name);
  EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end(),
                             [](const Target &a, const Target &b) { return a.name < b.name; }));
}

// Work-items are priced by rates; those of rows that were not measured are another row's.
TEST(Target, ShippedRowsHaveRatesAndFeatures) {
  for (const Target &row : read_targets(TILEFUSE_SOURCE_DIR "/devices")) {
    EXPECT_EQ(parse_target(to_text(row)), row);
    EXPECT_NE(row.features, Features{}) << row.name;
    EXPECT_EQ(row.rates_like, row.lanes == LaneKind::WorkItem ? "cuda_sm90" : "") << row.name;
    for (const RateField &rate : rate_fields())
      EXPECT_EQ(row.lanes == LaneKind::WorkItem, row.rates.*rate.member != 1)
          << row.name << " " << rate.key;
  }
}

const std::string kFamily =
    "name = \"cuda_sm90\"\nbackend = \"cuda\"\nisa = \"sm_90a\"\n"
    "lanes = \"workitem\"\nwarp = 32\n"
    "features = [\"matrix_units\", \"warpgroup_matrix\", \"early_launch\"]\n";

std::string with_every_rate(std::string text) {
  text += "[rates]\n";
  for (const RateField &rate : rate_fields())
    text += std::string(rate.key) + " = 7.0\n";
  return text;
}

Target read_beside_family(const std::string &text) {
  const Directory directory("family");
  directory.write("family.toml", with_every_rate(kFamily));
  directory.write("own.toml", text);
  for (const Target &target : read_targets(directory.path()))
    if (target.name == "own")
      return target;
  ADD_FAILURE() << text;
  return {};
}

TEST(Target, WhatAUsersRowLeavesOutIsItsFamilys) {
  const std::string own = "name = \"own\"\nbackend = \"cuda\"\nlanes = \"workitem\"\nwarp = 32\n";
  const Target plain = read_beside_family(own + "isa = \"sm_90a\"\n");
  EXPECT_EQ(to_text(plain.features), "matrix_units warpgroup_matrix early_launch");
  EXPECT_EQ(plain.rates_like, "cuda_sm90");
  EXPECT_EQ(plain.rates.barrier_cycles, 7);
  EXPECT_EQ(to_text(read_beside_family(own + "isa = \"sm_100a\"\n").features),
            "matrix_units early_launch");
  const Target some = read_beside_family(own + "isa = \"sm_90a\"\nfeatures = []\n"
                                               "[rates]\nbarrier_cycles = 9\n");
  EXPECT_EQ(some.features, Features{});
  EXPECT_EQ(some.rates_like, "cuda_sm90");
  EXPECT_EQ(some.rates.barrier_cycles, 9);
  EXPECT_EQ(some.rates.schedulers, 7);
  EXPECT_EQ(read_beside_family(with_every_rate(own)).rates_like, "own");
}

TEST(Target, RatesInACircleAreAnError) {
  const Directory directory("circle");
  directory.write("a.toml", "name = \"a\"\nbackend = \"llvm\"\nrates_like = \"b\"\n");
  directory.write("b.toml", "name = \"b\"\nbackend = \"llvm\"\nrates_like = \"a\"\n");
  EXPECT_THROW(read_targets(directory.path()), Error);
}

TEST(Target, MistakesNameFileAndLine) {
  EXPECT_EQ(mistake("name = \"d\"\nbackend = \"llvm\"\nvector = 8\n"),
            "d.toml:3:1: unknown key 'vector'");
  EXPECT_EQ(mistake("name = \"d\"\nbackend = \"llvm\"\nvector_f32 = \"8\"\n"),
            "d.toml:3:14: key 'vector_f32' needs an integer from 1 to 2147483647");
  EXPECT_EQ(mistake("name = \"d\"\nbackend = \"llvm\"\nlanes = \"x\"\n"),
            "d.toml:3:9: key 'lanes' needs \"vector\" or \"workitem\"");
  EXPECT_EQ(mistake("name = \"d\"\nbackend = \"llvm\"\nfp64 = 1\n"),
            "d.toml:3:8: key 'fp64' needs true or false");
  EXPECT_EQ(mistake("name = \"d\"\nbackend = \"llvm\"\nlaunch_us = -1\n"),
            "d.toml:3:13: key 'launch_us' needs a number above 0");
  EXPECT_EQ(mistake("name = \"d\"\nbackend = \"llvm\"\nlocal_bytes = -1\n"),
            "d.toml:3:15: key 'local_bytes' needs an integer of at least 0");
  EXPECT_EQ(mistake("name = \"d\"\n"), "d.toml:1:1: key 'backend' is missing");
  EXPECT_EQ(mistake("backend = \"llvm\"\n"), "d.toml:1:1: key 'name' is missing");
  EXPECT_EQ(mistake("name = \"d\"\nbackend = \"metal\"\n"),
            "d.toml:2:11: backend is \"metal\", need \"llvm\", \"opencl\" or \"cuda\"");
  EXPECT_EQ(mistake("name = \"d\"\nbackend = \"cuda\"\nfeatures = [\"matrix\"]\n").substr(0, 47),
            "d.toml:3:12: key 'features' needs features amon");
  EXPECT_EQ(
      mistake("name = \"d\"\nbackend = \"cuda\"\nfeatures = [\"matrix_units\"]\n"),
      "d.toml:3:12: feature 'matrix_units' needs the backend \"cuda\", lanes \"workitem\" and a "
      "warp of 32");
  EXPECT_EQ(mistake("name = \"d\"\nbackend = \"cuda\"\nisa = \"sm_75\"\n"
                    "features = [\"async_copies\"]\n"),
            "d.toml:4:12: feature 'async_copies' needs an isa that has it");
  EXPECT_EQ(mistake("name = \"d\"\nbackend = \"llvm\"\ndots = 3\n"),
            "d.toml:3:8: key 'dots' needs a table of dot products and their rates");
  EXPECT_EQ(mistake("name = \"d\"\nbackend = \"llvm\"\ndots = { dot3 = 1 }\n").substr(0, 55),
            "d.toml:3:8: key 'dots' needs dot products among dot2.s1");
  EXPECT_EQ(mistake("name = \"d\"\nbackend = \"llvm\"\ndots = { \"dot2.s16.s16.s32\" = 0 }\n"),
            "d.toml:3:31: key 'dots' needs a number above 0");
  EXPECT_EQ(mistake("name = \"d\"\nbackend = \"llvm\"\nrates = 3\n"),
            "d.toml:3:1: unknown key 'rates'");
  EXPECT_EQ(mistake("name = \"d\"\nbackend = \"llvm\"\n[rates]\nclock = 3\n"),
            "d.toml:4:1: unknown key 'clock'");
  EXPECT_EQ(mistake("name = \"d\"\nbackend = \"llvm\"\n[rates]\nbarrier_cycles = 0\n"),
            "d.toml:4:18: key 'barrier_cycles' needs a number above 0");
  EXPECT_EQ(mistake("name = \"d\"\nbackend = \"cuda\"\nlanes = \"workitem\"\n"),
            "d.toml:1:1: no row 'cuda_sm80' states the rates of 'd'");
  EXPECT_EQ(mistake("name = \"d\"\nbackend = \"cuda\"\nrates_like = \"d\"\n"),
            "d.toml:3:14: no row 'd' states the rates of 'd'");
  EXPECT_EQ(mistake("name = \"d\"\nname = \"e\"\n").substr(0, 9), "d.toml:2:");
  EXPECT_EQ(mistake("name = ").substr(0, 9), "d.toml:1:");
}

TEST(Target, NamesAreUnique) {
  const Directory directory("twice");
  directory.write("a.toml", "name = \"d\"\nbackend = \"llvm\"\n");
  directory.write("b.toml", "name = \"d\"\nbackend = \"llvm\"\n");
  EXPECT_THROW(read_targets(directory.path()), Error);
}

TEST(Target, OtherFilesAreIgnoredAndAMissingDirectoryIsAnError) {
  const Directory directory("other");
  directory.write("readme.md", "name");
  EXPECT_TRUE(read_targets(directory.path()).empty());
  EXPECT_THROW(read_targets(directory.path() + "/none"), Error);
}

} // namespace
} // namespace tilefuse
