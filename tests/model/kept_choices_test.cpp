// SPDX-License-Identifier: Apache-2.0
// Answers of the search in the kernel cache: asked for again they are not searched for; one that is
// stale, of something else or no answer at all is.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <vector>

#include "base/hash.h"
#include "nest/nest.h"
#include "paths.h"
#include "program/program.h"
#include "runtime/store/sqlite.h"
#include "schedule/text.h"
#include "search/network/kept_choices.h"
#include "search/network/program_price.h"
#include "search/pick.h"
#include "target/device_rows.h"

namespace tilefuse::model {
namespace {

poly::Group gemm(int m) {
  return {nest::parse_nest(fmt::format("nest gemm {{\n  index m {0}, y 40 | c 16\n"
                                       "  slot 0 f32 640, 1 f32 {1}, 2 f32 {2}\n"
                                       "  acc f32 = sum mul\n"
                                       "  in 0 + 0 [y:40*16, c:16*1]\n"
                                       "  in 1 + 0 [m:{0}*16, c:16*1]\n"
                                       "  out 2 + 0 [m:{0}*40, y:40*1]\n  post acc\n}}\n",
                                       m, m * 16, m * 40))};
}

class KeptChoicesTest : public ::testing::Test {
protected:
  KeptChoicesTest()
      : path_(std::filesystem::path(::testing::TempDir()) / "kept_choices" / "kernels.sqlite"),
        target_(read_targets(TILEFUSE_SOURCE_DIR "/devices").front()) {
    std::filesystem::remove(path_);
  }

  // How many searches one start needs for the group.
  int start(const poly::Group &group, const std::string &version = "1",
            std::string_view question = search::kPick) {
    runtime::KernelCache cache(path_.string(), [](const std::string &why) { FAIL() << why; });
    search::KeptChoices kept(&cache, target_, version);
    const auto search = [&] { return search::pick(group.anchor, target_); };
    EXPECT_EQ(kept.schedule(question, group, search), search());
    kept.write();
    return kept.searched();
  }

  // All texts of the file become `text`, as if they had been written so.
  void rewrite(const std::string &text) {
    runtime::Connection connection(path_.string(), 1000);
    runtime::Statement keys(connection, "SELECT key FROM texts");
    std::vector<std::string> all;
    while (keys.step())
      all.emplace_back(keys.blob(0));
    keys.reset();
    for (const std::string &key : all) {
      const std::string hash = content_hash(key + "\n" + text);
      runtime::Statement update(connection, "UPDATE texts SET text = ?, hash = ? WHERE key = ?");
      update.bind_blob(1, text).bind(2, hash).bind(3, key).step();
    }
  }

  std::filesystem::path path_;
  Target target_;
};

TEST_F(KeptChoicesTest, SecondStartSearchesNothing) {
  EXPECT_EQ(start(gemm(24)), 1);
  EXPECT_EQ(start(gemm(24)), 0);
}

TEST_F(KeptChoicesTest, AnotherQuestionGroupTargetOrVersionIsSearchedFor) {
  start(gemm(24));
  EXPECT_EQ(start(gemm(25)), 1);
  EXPECT_EQ(start(gemm(24), "2"), 1);
  EXPECT_EQ(start(gemm(24), "1", "pick otherwise"), 1);
  target_.compute_units += 1;
  EXPECT_EQ(start(gemm(24)), 1);
}

TEST_F(KeptChoicesTest, WhatIsNoLegalScheduleIsSearchedForAndReplaced) {
  start(gemm(24));
  const std::string other =
      schedule::to_text(gemm(24).anchor, search::pick(gemm(24).anchor, target_));
  for (const std::string &text : std::vector<std::string>{
           "nonsense", "", "none", other.substr(0, other.size() / 2),
           "schedule x vector\n  tile   m:99999999 y:40\n  lane   m:99999999\n"}) {
    rewrite(text);
    EXPECT_EQ(start(gemm(24)), 1) << text;
    EXPECT_EQ(start(gemm(24)), 0) << text;
  }
}

// A note is not written unless it is asked for.
TEST_F(KeptChoicesTest, NotesAnswerWithoutASearch) {
  const poly::Group group = gemm(24);
  const schedule::Schedule found = search::pick(group.anchor, target_);
  {
    runtime::KernelCache cache(path_.string(), {});
    search::KeptChoices kept(&cache, target_, "1");
    kept.note(search::kPick, group, found);
    kept.write();
  }
  EXPECT_EQ(start(group), 1);
  search::KeptChoices kept(nullptr, target_);
  kept.note(search::kPick, group, found);
  EXPECT_EQ(kept.schedule(search::kPick, group, [] { return schedule::Schedule(); }), found);
  EXPECT_EQ(kept.searched(), 0);
}

TEST_F(KeptChoicesTest, NotesAreFoundByTheirQuestionAndGroup) {
  const poly::Group group = gemm(24);
  const schedule::Schedule found = search::pick(group.anchor, target_);
  search::KeptChoices kept(nullptr, target_);
  EXPECT_EQ(kept.noted(search::kPick, group), std::nullopt);
  kept.note(search::kPick, group, found);
  EXPECT_EQ(kept.noted(search::kPick, group), found);
  EXPECT_EQ(kept.noted("pick otherwise", group), std::nullopt);
  EXPECT_EQ(kept.noted(search::kPick, gemm(25)), std::nullopt);
  EXPECT_EQ(kept.searched(), 0);
}

TEST_F(KeptChoicesTest, NothingFoundIsAnAnswer) {
  const poly::Group group = gemm(24);
  for (const int searches : {1, 0}) {
    runtime::KernelCache cache(path_.string(), {});
    search::KeptChoices kept(&cache, target_);
    EXPECT_EQ(kept.schedule_if_any("pick of 64", group, [] { return std::nullopt; }), std::nullopt);
    EXPECT_EQ(kept.searched(), searches);
    kept.write();
  }
}

TEST_F(KeptChoicesTest, ForeseenGroupsAreSearchedForOnceEach) {
  search::KeptChoices kept(nullptr, target_);
  const poly::Group first = gemm(24), second = gemm(25), again = gemm(24);
  const auto search = [&](const poly::Group &group) { return search::pick(group.anchor, target_); };
  kept.foresee(search::kPick, std::array{&first, &second, &again}, search);
  EXPECT_EQ(kept.searched(), 2);
  EXPECT_EQ(kept.schedule(search::kPick, second, [&] { return search(second); }), search(second));
  EXPECT_EQ(kept.searched(), 2);
}

program::Program product(const std::string &name) {
  return program::parse_program(
      fmt::format("program \"p\" {{\n  input %0 \"{0} left\" : f32[64, 32]\n"
                  "  input %1 \"{0} right\" : f32[32, 48]\n"
                  "  %2 \"{0}\" : f32[64, 48] = sum[m, n, k](%0[m, k] * %1[k, n]) -> [m, n]\n"
                  "  output %2\n}}",
                  name));
}

TEST_F(KeptChoicesTest, WhatAProgramTakesIsKeptWithoutNames) {
  std::vector<double> first;
  for (const bool is_first : {true, false}) {
    runtime::KernelCache cache(path_.string(), [](const std::string &why) { FAIL() << why; });
    search::KeptChoices kept(&cache, target_);
    const std::vector<double> seconds = search::predicted_seconds(
        std::array{product(is_first ? "a" : "b"), product("c")}, target_, kept);
    EXPECT_GT(seconds[0], 0);
    EXPECT_EQ(seconds[0], seconds[1]);
    EXPECT_EQ(kept.searched() > 0, is_first);
    kept.write();
    if (is_first)
      first = seconds;
    EXPECT_EQ(seconds, first);
  }
  rewrite("no number");
  runtime::KernelCache cache(path_.string(), [](const std::string &why) { FAIL() << why; });
  search::KeptChoices kept(&cache, target_);
  EXPECT_EQ(search::predicted_seconds(std::array{product("a")}, target_, kept)[0], first[0]);
  EXPECT_GT(kept.searched(), 0);
}

} // namespace
} // namespace tilefuse::model
