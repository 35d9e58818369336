// SPDX-License-Identifier: Apache-2.0
// What passes share: counts, names that are switched off, results as numbered files.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "base/pass_context.h"
#include "base/thread_pool.h"

namespace tilefuse {
namespace {

namespace fs = std::filesystem;

fs::path fresh_folder(const std::string &name) {
  const fs::path folder = fs::path(::testing::TempDir()) / name;
  fs::remove_all(folder);
  return folder;
}

std::string read(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(PassContext, CountsRunsInTheOrderOfTheFirst) {
  PassContext passes;
  passes.note("second", 1, "a", "b");
  passes.note("first", 2, "b", "b");
  passes.note("second", 4, "b", "b");
  const std::vector<PassTime> times = passes.times();
  ASSERT_EQ(times.size(), 2U);
  EXPECT_EQ(times[0].name, "second");
  EXPECT_EQ(times[0].runs, 2);
  EXPECT_EQ(times[0].changes, 1);
  EXPECT_EQ(times[0].seconds, 5);
  EXPECT_EQ(times[1].name, "first");
  EXPECT_EQ(times[1].changes, 0);
}

TEST(PassContext, CountsFromSeveralThreads) {
  PassContext passes;
  ThreadPool pool(4);
  pool.parallel_for(1000, [&](int, std::int64_t) { passes.note("lower", 1); });
  ASSERT_EQ(passes.times().size(), 1U);
  EXPECT_EQ(passes.times()[0].runs, 1000);
  EXPECT_EQ(passes.times()[0].seconds, 1000);
}

TEST(PassContext, WritesWhatChangedUnderTheNumberOfItsRun) {
  const fs::path folder = fresh_folder("pass_context");
  PassContext passes;
  EXPECT_FALSE(passes.is_watched());
  passes.dump_to((folder / "deep").string());
  EXPECT_TRUE(passes.is_watched());
  EXPECT_FALSE(passes.is_timed());
  passes.note("one", 0, "", "1");
  passes.note("two", 0, "1", "1");
  passes.note("three", 0, "1", "3");
  std::vector<std::string> names;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder / "deep"))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"pass00.one.txt", "pass02.three.txt"}));
  EXPECT_EQ(read(folder / "deep" / "pass02.three.txt"), "3");
}

TEST(PassContext, SaysWhereItCannotWrite) {
  const fs::path file = fresh_folder("pass_context_file");
  std::ofstream(file) << "in the way";
  PassContext passes;
  passes.dump_to(file.string());
  EXPECT_THROW(passes.note("one", 0, "", "1"), Error);
}

TEST(PassContext, KnowsWhatIsSwitchedOff) {
  PassContext passes;
  passes.disable("one");
  EXPECT_TRUE(passes.is_disabled("one"));
  EXPECT_FALSE(passes.is_disabled("on"));
}

} // namespace
} // namespace tilefuse
