// SPDX-License-Identifier: Apache-2.0
// Random nests under random splits of their reduction, both kernels under random schedules in the
// simulator, against the evaluator on the whole nest. Small integers: exact.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/index.h"
#include "lower/algorithm_cases.h"
#include "nest/flatten/split.h"
#include "nest/index.h"
#include "search/pick.h"

namespace tilefuse {
namespace {

using Bytes = std::vector<std::byte>;
using testing::Random;

nest::ReductionSplit random_split(Random &random, const nest::Nest &nest) {
  nest::ReductionSplit split;
  for (const nest::IndexId i : reduced_indices(nest)) {
    std::vector<std::int64_t> divisors;
    const std::int64_t extent = nest::extent(nest, i);
    for (std::int64_t parts = 2; parts <= extent; ++parts)
      if (extent % parts == 0)
        divisors.push_back(parts);
    if (!divisors.empty() && random.chance(70))
      split.push_back({i, random.of(divisors)});
  }
  if (random.chance(30))
    std::reverse(split.begin(), split.end());
  return split;
}

// The slots of one of the two nests; the scratch is filled with what nothing sums up to.
std::vector<Bytes> slots_of(const nest::Nest &part,
                            const std::vector<std::optional<nest::SlotId>> &from,
                            const std::vector<Bytes> &whole) {
  std::vector<Bytes> slots;
  for (std::size_t s = 0; s < from.size(); ++s) {
    if (from[s]) {
      slots.push_back(whole[at(*from[s])]);
      continue;
    }
    Bytes &scratch = slots.emplace_back(
        static_cast<std::size_t>(part.slots[s].elems * size_bytes(part.slots[s].type)));
    for (std::int64_t i = 0; i < part.slots[s].elems; ++i)
      store_element(scratch.data(), part.slots[s].type, i, 77);
  }
  return slots;
}

using Pick = std::function<schedule::Schedule(const nest::Nest &)>;

Bytes in_two_kernels(const nest::Nest &nest, const nest::ReductionSplit &split,
                     const std::vector<Bytes> &slots, const Target &target, const Pick &pick) {
  const nest::SplitNests nests = nest::split_reduction(nest, split);
  const Bytes scratch = testing::simulated(nests.partial, pick(nests.partial), target,
                                           slots_of(nests.partial, nests.partial_slots, slots));
  std::vector<Bytes> rest = slots_of(nests.join, nests.join_slots, slots);
  rest[at(nests.join.inputs[0].slot)] = scratch;
  return testing::simulated(nests.join, pick(nests.join), target, rest);
}

TEST(Split, RandomNestsAreExactInTwoKernels) {
  int split_nests = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    Random random(seed);
    const nest::Nest nest =
        testing::random_nest(random, random.chance(80) ? DType::F32 : DType::F16);
    const nest::ReductionSplit split = random_split(random, nest);
    if (split.empty() || nest::illegal_split(nest, split))
      continue;
    ++split_nests;
    const auto slots = testing::integer_slots(random, nest);
    const Target target =
        random.chance(50) ? testing::vector_test_target() : testing::group_test_target();
    SCOPED_TRACE(nest::to_text(nest) + nest::to_text(nest, split) + " seed " +
                 std::to_string(seed));
    const auto got = in_two_kernels(nest, split, slots, target, [&](const nest::Nest &part) {
      return testing::random_schedule(random, part, target);
    });
    ASSERT_EQ(got, testing::evaluated(nest, slots));
  }
  EXPECT_GE(split_nests, 150);
}

TEST(Split, AwkwardConvolutionsAreExactAsPicked) {
  for (const testing::ConvShape &shape : testing::awkward_shapes()) {
    const nest::Nest nest = testing::conv_nest(shape);
    Random random(7);
    const auto slots = testing::integer_slots(random, nest);
    const nest::ReductionSplit split = random_split(random, nest);
    if (split.empty())
      continue;
    for (const Target &target : {testing::vector_test_target(), testing::group_test_target()}) {
      SCOPED_TRACE(nest::to_text(nest) + nest::to_text(nest, split) + target.name);
      const auto got = in_two_kernels(nest, split, slots, target, [&](const nest::Nest &part) {
        return search::pick(part, target);
      });
      ASSERT_EQ(got, testing::evaluated(nest, slots));
    }
  }
}

} // namespace
} // namespace tilefuse
