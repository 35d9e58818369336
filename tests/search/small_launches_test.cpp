// SPDX-License-Identifier: Apache-2.0
// Small kernels that share a launch: those that do not depend on each other.
#include <gtest/gtest.h>

#include "poly/fuse.h"
#include "program/program.h"
#include "program/storage/storage.h"
#include "search/network/launches.h"
#include "search/pick.h"
#include "target/rows.h"


namespace tilefuse::search {
namespace {

Target sm90() { return testing::target_row("cuda_sm90"); }

// How many parts each launch of the program's kernels has.
std::vector<std::size_t> parts_of(const char *text) {
  const Target target = sm90();
  const program::StoredProgram stored = program::assign_storage(program::parse_program(text));
  std::vector<launch::Part> kernels;
  for (poly::PlacedGroup &placed : poly::make_groups(stored, {.level = poly::FuseLevel::None})) {
    schedule::Schedule schedule = pick(placed.group.anchor, target);
    kernels.push_back({std::move(placed), std::move(schedule)});
  }
  std::vector<std::size_t> parts;
  for (const launch::Launch &launch :
       choose_launches(std::move(kernels), target, pick_of_size(target)))
    parts.push_back(launch.parts.size());
  return parts;
}

TEST(SmallLaunches, RunIndependentMapsBesideEachOther) {
  EXPECT_EQ(parts_of(R"(program "p" {
  input %0 "a" : f32[256]
  %1 "b" : f32[256] = map[%0]($0 + 1.0)
  %2 "c" : f32[256] = map[%0](2.0*$0)
  %3 "d" : f32[256] = map[%1, %2]($0*$1)
  output %3
})"),
            (std::vector<std::size_t>{2, 1}));
}

// The third map passes the second, on which it does not depend.
TEST(SmallLaunches, PassWhatTheyDoNotDependOn) {
  EXPECT_EQ(parts_of(R"(program "p" {
  input %0 "a" : f32[256]
  %1 "b" : f32[256] = map[%0]($0 + 1.0)
  %2 "c" : f32[256] = map[%1](2.0*$0)
  %3 "d" : f32[256] = map[%0](exp($0))
  output %2
  output %3
})"),
            (std::vector<std::size_t>{2, 1}));
}

TEST(SmallLaunches, LargeMapsHaveTheirOwn) {
  EXPECT_EQ(parts_of(R"(program "p" {
  input %0 "a" : f32[64, 1048576]
  %1 "b" : f32[64, 1048576] = map[%0]($0 + 1.0)
  %2 "c" : f32[64, 1048576] = map[%0](2.0*$0)
  output %1
  output %2
})"),
            (std::vector<std::size_t>{1, 1}));
}

} // namespace
} // namespace tilefuse::search
