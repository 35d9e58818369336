// SPDX-License-Identifier: Apache-2.0
// Launches as values: their text, and why parts cannot be one launch.
#include "launch/launch.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "launch/arguments.h"
#include "launch/legal.h"
#include "launch/text.h"
#include "target/rows.h"

namespace tilefuse::launch {
namespace {

constexpr schedule::IndexId kOnly{0}; // output index of the nests here

Target work_items() {
  return testing::with_row({.name = "test",
                            .backend = "opencl",
                            .lanes = LaneKind::WorkItem,
                            .max_group = 256,
                            .local_bytes = 32768},
                           "opencl_gpu");
}

// Every other element of 8 from `first` on, of buffer 1: twice those of buffer 0, or zeros.
Part half(int first, bool is_zero = false) {
  const std::string input = is_zero ? "" : " in 0 + 0 [x:4*1]\n";
  const std::string slots = is_zero ? "0 f32 8" : "0 f32 4, 1 f32 8";
  const std::string text = "nest half {\n index x 4\n slot " + slots + "\n acc f32 = assign\n" +
                           input + " out " + (is_zero ? "0" : "1") + " + 0 [2*x + " +
                           std::to_string(first) + ":8*1]\n post " + (is_zero ? "0" : "acc * 2") +
                           "\n}\n";
  Part part;
  part.placed.group.anchor = nest::parse_nest(text);
  if (!is_zero)
    part.placed.buffers.push_back(program::BufferId{0});
  part.placed.buffers.push_back(program::BufferId{1});
  part.schedule = schedule::scalar_schedule(part.placed.group.anchor);
  part.schedule.lanes = LaneKind::WorkItem;
  return part;
}

Launch halves() { return {{half(0), half(1)}}; }

std::string refusal(const Launch &launch) {
  return illegal(launch, work_items()).value_or("legal");
}

TEST(Launch, TextReadsBack) {
  Launch launch = halves();
  launch.parts.push_back(half(1, true));
  launch.parts[2].place = Place::Dealt;
  const std::string text = to_text(launch);
  EXPECT_EQ(text.substr(0, 32), "launch\npart blocks\nbuffers 0 1\ng");
  const Launch read = parse_launch(text);
  EXPECT_EQ(to_text(read), text);
  ASSERT_EQ(read.parts.size(), 3U);
  EXPECT_EQ(read.parts[2].place, Place::Dealt);
  EXPECT_EQ(read.parts[1].placed.group, launch.parts[1].placed.group);
  EXPECT_EQ(read.parts[1].schedule, launch.parts[1].schedule);
  EXPECT_FALSE(read.join);
  launch.join = schedule::TileWalk{{{kOnly, 4}, {std::nullopt, 2}}, {1}, {4}, 32};
  EXPECT_EQ(parse_launch(to_text(launch)).join, launch.join);
}

TEST(Launch, TextErrorsSayWhere) {
  const auto refused = [](std::string text, const std::string &from, const std::string &to) {
    if (const std::size_t at = text.find(from); at != std::string::npos)
      text.replace(at, from.size(), to);
    try {
      parse_launch(text, "l");
    } catch (const Error &error) {
      return error.message();
    }
    return std::string("read");
  };
  const std::string text = to_text(halves());
  EXPECT_EQ(refused(text, "launch", "lunch"), "a launch begins with the line 'launch'");
  EXPECT_NE(refused(text, "part blocks", "part beside")
                .find("blocks, dealt, between, in step or following"),
            std::string::npos);
  EXPECT_NE(refused(text, "schedule ", "shedule "), "read");
  EXPECT_NE(refused(text, "group\n", "grp\n"), "read");
  EXPECT_NE(refused(text, "buffers 0", "buffers 4294967296").find("smaller numbers of buffers"),
            std::string::npos);
}

TEST(Launch, ArgumentsAreShared) {
  const Launch launch = halves();
  const Arguments found = arguments(launch);
  EXPECT_EQ(found.all.size(), 2U);
  EXPECT_EQ(found.of_parts, (std::vector<std::vector<int>>{{0, 1}, {0, 1}}));
  EXPECT_EQ(buffer_of(launch, found.all[1]), program::BufferId{1});
}

TEST(Launch, PartsFitBesideEachOther) {
  EXPECT_EQ(refusal(halves()), "legal");
  Launch dealt = {{half(0), half(1, true)}};
  dealt.parts[1].place = Place::Dealt;
  EXPECT_EQ(refusal(dealt), "legal");
}

TEST(Launch, RefusalsSayWhy) {
  EXPECT_EQ(refusal({}), "it has no part");
  Launch launch = halves();
  launch.parts[0].place = Place::Dealt;
  EXPECT_EQ(refusal(launch), "its first part has no blocks of its own");
  launch = halves();
  launch.parts[1].placed.buffers.pop_back();
  EXPECT_EQ(refusal(launch), "part 1: it has 1 buffers for 2 slots");
  launch = halves();
  launch.parts[1].schedule.splits.clear();
  EXPECT_EQ(refusal(launch).substr(0, 8), "part 1: ");
  launch = halves();
  launch.parts[1].placed.buffers = {program::BufferId{1}, program::BufferId{2}};
  EXPECT_EQ(refusal(launch), "part 1 reads what part 0 writes");
  launch = halves();
  launch.parts[1].schedule.splits[0] = {.tile = 4, .lane = 4};
  EXPECT_EQ(refusal(launch), "part 1: it has 4 work-items a block, the first part 1");
  const auto placed = [](Place place) {
    Launch two = halves();
    two.parts[1].place = place;
    return refusal(two);
  };
  EXPECT_EQ(placed(Place::Dealt),
            "part 1: only work-items that read no inputs are dealt to others");
  EXPECT_EQ(placed(Place::Between),
            "part 1: its points do not lie beside results of the first part");
  EXPECT_EQ(placed(Place::InStep), "part 1: it is not multiplied as the first part is");
  EXPECT_EQ(placed(Place::Following), "part 1: two parts write one tensor");
}

TEST(Launch, JoinsWalkTheirTiles) {
  Launch launch = halves();
  launch.join = schedule::TileWalk{{{kOnly, 4}, {std::nullopt, 2}}, {1}, {4}, 0};
  EXPECT_EQ(refusal(launch), "the first part has other blocks than tiles and parts of them");
  launch.join->digits[0].index = schedule::IndexId{1};
  EXPECT_EQ(refusal(launch), "the join walks other indices than it has");
  launch.join->digits[0] = {kOnly, 0};
  EXPECT_EQ(refusal(launch), "the join walks other indices than it has");
  launch.join->digits[0] = {kOnly, 4};
  launch.join->first_item = 1;
  EXPECT_EQ(refusal(launch), "work-item 1 of 1 joins");
  launch.join->blocks.clear();
  EXPECT_EQ(refusal(launch), "the join walks other indices than it has");
  launch.parts.pop_back();
  EXPECT_EQ(refusal(launch).substr(0, 18), "a join of 1 parts;");
}

} // namespace
} // namespace tilefuse::launch
