// SPDX-License-Identifier: Apache-2.0
// Producers in a group: their text, their rules, what they compute.
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/index.h"
#include "poly/group.h"
#include "poly/post_ops.h"
#include "tile/tile.h"

namespace tilefuse {
namespace {

using program::TensorId;

class Attached : public ::testing::Test {
protected:
  Attached() {
    library_.add("function mix(X[N, C, H, W], K[M, C]) -> (O) {\n"
                 "  O[n, m, y, x : N, M, H, W] = +(X[n, c, y, x] * K[m, c]);\n"
                 "}\n"
                 "function deep(X[N, C, H, W], K[C, R, S]; OY, OX) -> (O) {\n"
                 "  O[n, c, y, x : N, C, OY, OX] = +(X[n, c, y + r - 1, x + s - 1] * K[c, r, s]);\n"
                 "}\n"
                 "function relu(X) -> (Y) { Y = max(X, 0); }\n",
                 "test");
    program_.name = "chain";
  }

  TensorId tensor(const char *name, program::Shape shape, program::Role role) {
    const auto bytes = static_cast<std::size_t>(program::elems(shape) * 4);
    program::Tensor added{
        .name = name, .type = DType::F32, .shape = std::move(shape), .role = role};
    if (role == program::Role::Constant)
      added.data = std::make_shared<const program::Bytes>(bytes);
    const TensorId id = program_.add(added);
    if (role == program::Role::Input)
      program_.inputs.push_back(id);
    return id;
  }
  TensorId call(const char *function, std::vector<TensorId> args,
                tile::Attributes attributes = {}) {
    return library_.instantiate(function, args, attributes, program_, function).at(0);
  }
  std::vector<poly::PlacedGroup> groups(TensorId output) {
    program_.outputs = {output};
    return poly::make_groups(program::assign_storage(program_));
  }
  // relu(mix) of a 4x6 image, then a depthwise 3x3, then another mix.
  std::vector<poly::PlacedGroup> chain() {
    const TensorId x = tensor("x", {1, 3, 4, 6}, program::Role::Input);
    const TensorId wide = tensor("wide", {5, 3}, program::Role::Constant);
    const TensorId taps = tensor("taps", {5, 3, 3}, program::Role::Constant);
    const TensorId narrow = tensor("narrow", {2, 5}, program::Role::Constant);
    const TensorId a = call("relu", {call("mix", {x, wide})});
    const TensorId b = call("deep", {a, taps}, {{"OY", std::int64_t{4}}, {"OX", std::int64_t{6}}});
    return groups(call("mix", {b, narrow}));
  }

  tile::Library library_;
  program::Program program_;
};

std::vector<program::Bytes> make_buffers(const std::vector<poly::PlacedGroup> &all) {
  std::vector<program::Bytes> buffers;
  for (const poly::PlacedGroup &placed : all)
    for (std::size_t s = 0; s < placed.buffers.size(); ++s) {
      const auto b = static_cast<std::size_t>(to_int(placed.buffers[s]));
      const nest::Slot slot = poly::group_slots(placed.group)[s];
      buffers.resize(std::max(buffers.size(), b + 1));
      buffers[b].resize(static_cast<std::size_t>(slot.elems * 4));
      for (std::int64_t i = 0; i < slot.elems; ++i)
        store_element(buffers[b].data(), slot.type, i, static_cast<double>(i * 7 % 11 - 5));
    }
  return buffers;
}

void run(const poly::PlacedGroup &placed, std::vector<program::Bytes> &buffers) {
  std::vector<std::span<std::byte>> slots;
  for (const program::BufferId buffer : placed.buffers)
    slots.emplace_back(buffers[at(buffer)]);
  poly::evaluate(placed.group, slots);
}

TEST_F(Attached, AChainIsOneGroupThatComputesTheSame) {
  const std::vector<poly::PlacedGroup> all = chain();
  ASSERT_EQ(all.size(), 3u);
  std::string why;
  const auto inner = poly::attach(all[1], poly::kAnchor, 0, all[0], &why);
  ASSERT_TRUE(inner) << why;
  const auto whole = poly::attach(all[2], poly::kAnchor, 0, *inner, &why);
  ASSERT_TRUE(whole) << why;
  ASSERT_EQ(whole->group.producers.size(), 2u);
  EXPECT_EQ(whole->group.producers[1].consumer, poly::MemberId{1});
  EXPECT_EQ(whole->group.producers[0].feed, poly::Feed::Produce);
  EXPECT_EQ(whole->origin, "mix + relu + deep");
  const std::string text = poly::to_text(whole->group);
  const poly::Group read = poly::parse_group(text);
  EXPECT_EQ(read, whole->group);
  EXPECT_EQ(poly::to_text(read), text);
  std::vector<program::Bytes> one = make_buffers(all);
  std::vector<program::Bytes> three = one;
  run(*whole, one);
  for (const poly::PlacedGroup &placed : all)
    run(placed, three);
  EXPECT_EQ(one, three);
}

// The pixels of a 1x1 convolution are one index; its depthwise producer walks rows and columns.
TEST_F(Attached, MergedIndicesAreSplitAgain) {
  const std::vector<poly::PlacedGroup> all = chain();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[2].group.anchor.output_indices, 2);
  const auto pair = poly::attach(all[2], poly::kAnchor, 0, all[1]);
  ASSERT_TRUE(pair);
  EXPECT_EQ(pair->group.anchor.output_indices, 3);
  EXPECT_EQ(poly::match_dims(pair->group.anchor.inputs[0], all[1].group.anchor)->size(), 4u);
}

TEST_F(Attached, APointwiseProducerIsAMap) {
  const TensorId x = tensor("x", {1, 3, 4, 6}, program::Role::Input);
  const TensorId taps = tensor("taps", {3, 3, 3}, program::Role::Constant);
  const std::vector<poly::PlacedGroup> all = groups(
      call("deep", {call("relu", {x}), taps}, {{"OY", std::int64_t{4}}, {"OX", std::int64_t{6}}}));
  ASSERT_EQ(all.size(), 2u);
  const auto pair = poly::attach(all[1], poly::kAnchor, 0, all[0]);
  ASSERT_TRUE(pair);
  EXPECT_EQ(pair->group.producers[0].feed, poly::Feed::Map);
  EXPECT_EQ(pair->group.producers[0].nest.output_indices, 3);
}

TEST_F(Attached, WhatCannotRunPerTileIsRefused) {
  const std::vector<poly::PlacedGroup> all = chain();
  std::string why;
  EXPECT_FALSE(poly::attach(all[2], poly::kAnchor, 0, all[0], &why));
  EXPECT_NE(why.find("does not write the slot"), std::string::npos);
  poly::Group group = poly::attach(all[1], poly::kAnchor, 0, all[0])->group;
  group.producers[0].slots[0] = group.producers[0].slots.back();
  EXPECT_TRUE(poly::broken_rule(group));
  poly::PlacedGroup in_place = all[0]; // reads what it writes
  in_place.group.anchor.inputs[0].slot = in_place.group.anchor.out.slot;
  in_place.group.anchor.inputs[0].dims = {};
  EXPECT_FALSE(poly::attach(all[1], poly::kAnchor, 0, in_place, &why));
  EXPECT_NE(why.find("writes what it reads, so it cannot run again"), std::string::npos);
  poly::PlacedGroup over = all[1]; // writes what its producer reads
  over.group.anchor.out.slot = over.buffers.next_id();
  over.group.anchor.slots.push_back(all[0].group.anchor.slots[0]);
  over.buffers.push_back(all[0].buffers[0]);
  EXPECT_FALSE(poly::attach(over, poly::kAnchor, 0, all[0], &why));
  EXPECT_NE(why.find("the anchor writes what member"), std::string::npos);
}

TEST_F(Attached, DamagedProducersAreErrors) {
  const std::vector<poly::PlacedGroup> all = chain();
  const std::string text = poly::to_text(poly::attach(all[1], poly::kAnchor, 0, all[0])->group);
  const auto with = [&](const std::string &from, const std::string &to) {
    std::string changed = text;
    return changed.replace(changed.find(from), from.size(), to);
  };
  EXPECT_THROW(poly::parse_group(with("input 0 of 0", "input 2 of 0")), Error);
  EXPECT_THROW(poly::parse_group(with("input 0 of 0", "input 0 of 1")), Error);
  EXPECT_THROW(poly::parse_group(with("produce", "map")), Error);
  EXPECT_THROW(poly::parse_group(with("produce", "make")), Error);
  EXPECT_THROW(poly::parse_group(with("slots", "slots 70000")), Error);
}

} // namespace
} // namespace tilefuse
