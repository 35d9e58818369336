// SPDX-License-Identifier: Apache-2.0
#include "target/target.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/error.h"
#include "paths.h"

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
  EXPECT_EQ(parse_target(to_text(target)), target);
  EXPECT_EQ(to_text(parse_target(to_text(target))), to_text(target));
  EXPECT_NE(to_text(target), to_text(Target{}));
}

TEST(Target, MalformedTextIsAnError) {
  for (const char *text :
       {"nam \"x\"", "name x", "lanes both", "vector_f32 1.5", "vector_f32 99999999999", "fp64 1",
        "name \"a\" name \"b\"", "gflops_per_unit", "\"name\" \"x\""}) {
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
