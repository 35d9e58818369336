// SPDX-License-Identifier: Apache-2.0
// Every named algorithm on awkward convolutions: the simulator, which sees races, stray accesses
// and outputs that are not written, against the nest evaluator. Small integers: exact.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "lower/algorithm_cases.h"
#include "schedule/text.h"
#include "search/forms/algorithms.h"
#include "search/forms/named_schedule.h"

namespace tilefuse {
namespace {

using testing::ConvShape;

Target target_for(const std::string &algorithm) {
  if (algorithm.starts_with("mma"))
    return testing::matrix_test_target();
  return algorithm == "cpu" ? testing::vector_test_target() : testing::group_test_target();
}

TEST(Algorithms, AreExactOnAwkwardShapes) {
  std::map<std::string, int> fitted;
  std::vector<ConvShape> shapes = testing::awkward_shapes();
  std::ranges::copy(testing::shapes_of_several_filters(), std::back_inserter(shapes));
  for (const ConvShape &shape : shapes) {
    const nest::Nest nest = testing::conv_nest(shape);
    testing::Random random(5);
    const auto slots = testing::integer_slots(random, nest);
    const std::vector<std::byte> expected = testing::evaluated(nest, slots);
    for (const std::string &name : search::algorithm_names()) {
      const Target target = target_for(name);
      const search::NamedSchedule named = search::named_schedule(name, nest, target);
      ASSERT_NE(named.schedule.has_value(), !named.refusal.empty());
      if (!named.schedule)
        continue;
      ++fitted[name];
      SCOPED_TRACE(nest::to_text(nest) + schedule::to_text(nest, *named.schedule));
      ASSERT_EQ(schedule::parse_schedule(nest, schedule::to_text(nest, *named.schedule)),
                *named.schedule);
      ASSERT_EQ(testing::simulated(nest, *named.schedule, target, slots), expected);
    }
  }
  // Of other types, layouts or targets: tests/model/core_test.cpp, wgmma_test.cpp (NamedForms…).
  for (const std::string &name : search::algorithm_names())
    if (name == "mma" || name == "mma_nchw32" || name.starts_with("wgmma"))
      fitted[name] = 2;
  for (const std::string &name : search::algorithm_names())
    EXPECT_GE(fitted[name], 2) << name;
}

TEST(Algorithms, RefuseWhatTheyDoNotFitAndSayWhy) {
  const Target target = testing::group_test_target();
  const nest::Nest conv = testing::conv_nest({});
  EXPECT_EQ(search::named_schedule("pointwise", conv, target).refusal,
            "pointwise needs a product without taps");
  EXPECT_EQ(
      search::named_schedule("depthwise", conv, target).refusal,
      "depthwise needs filters that belong to the same channels as the data, at most 4 for each");
  const nest::Nest depthwise = testing::conv_nest({.groups = 8, .outputs = 1, .inputs = 1});
  EXPECT_TRUE(search::named_schedule("depthwise", depthwise, target).schedule);
  const nest::Nest several = testing::conv_nest({.groups = 8, .outputs = 4, .inputs = 1});
  EXPECT_TRUE(search::named_schedule("depthwise", several, target).schedule)
      << nest::to_text(several) << search::named_schedule("depthwise", several, target).refusal;
  const nest::Nest many = testing::conv_nest({.groups = 8, .outputs = 5, .inputs = 1});
  EXPECT_FALSE(search::named_schedule("depthwise", many, target).schedule);
  EXPECT_THROW(search::named_schedule("winograd", conv, target), Error);
  EXPECT_NE(search::named_schedule("cpu", conv, target).refusal.find("the target has workitems"),
            std::string::npos);
}

} // namespace
} // namespace tilefuse
