// SPDX-License-Identifier: Apache-2.0
// Which producers join their consumers, and that planning stays within its time and its quota.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/index.h"
#include "cost/profit.h"
#include "poly/fuse.h"
#include "poly/group_legality.h"
#include "poly/needs.h"
#include "poly/post_ops.h"
#include "schedule/wgmma/wgmma_tiles.h"
#include "tile/tile.h"

namespace tilefuse::poly {
namespace {

using program::TensorId;

// The gradients of a convolution of stride 2 behind a ReLU: by its input, in four residue classes,
// and by its filter.
struct Backward {
  TensorId masked, by_input, by_filter;
};

class Fusing : public ::testing::Test {
protected:
  Fusing() {
    library_.add(
        "function mix(X[N, C, H, W], K[M, C]) -> (O) {\n"
        "  O[n, m, y, x : N, M, H, W] = +(X[n, c, y, x] * K[m, c]);\n"
        "}\n"
        "function deep(X[N, C, H, W], K[C, R, S]; OY, OX, ST) -> (O) {\n"
        "  O[n, c, y, x : N, C, OY, OX] = +(X[n, c, ST*y + r - 1, ST*x + s - 1] * K[c, r, s]);\n"
        "}\n"
        "function conv(X[N, C, H, W], K[M, C, R, S]; OY, OX, ST, P) -> (O) {\n"
        "  O[n, m, y, x : N, M, OY, OX] = +(X[n, c, ST*y + r - P, ST*x + s - P] * K[m, c, r, s]);\n"
        "}\n"
        "function corner(X[N, C, H, W], K[C, R, S]) -> (O) {\n"
        "  O[n, c, y, x : N, C, H, W] = +(X[n, c, y + r - 1, x + s - 1] * K[c, r, s]), r + s < 3;\n"
        "}\n"
        "function pool(X[N, C, H, W]; OY, OX, ST) -> (O) {\n"
        "  O[n, c, y, x : N, C, OY, OX] = >(X[n, c, ST*y + r - 1, ST*x + s - 1]), r < 3, s < 3;\n"
        "}\n"
        "function mean(X[N, C, H, W]) -> (Y) { S[c : C] = +(X[n, c, y, x]); Y = X - reshape(S, 1, "
        "C, 1, 1); }\n"
        "function turn(X[N, C, H, W]) -> (O) { O[n, x, c, y : N, W, C, H] = =(X[n, c, y, x]); }\n"
        "function relu(X) -> (Y) { Y = max(X, 0); }\n"
        "function mask(G, Y) -> (D) { D = Y > 0 ? G : 0; }\n"
        "function by_filter(D[N, M, OY, OX], X[N, C, H, W]; R, S, ST, P) -> (O) {\n"
        "  O[m, c, r, s : M, C, R, S] = +(D[n, m, y, x] * X[n, c, ST*y + r - P, ST*x + s - P]);\n"
        "}\n"
        "function by_input(D[N, M, OY, OX], K[M, C, R, S]; H, W, ST, P) -> (O) {\n"
        "  O[n, c, ST*y + r - P, ST*x + s - P : N, C, H, W] = +(D[n, m, y, x] * K[m, c, r, s]);\n"
        "}\n"
        "function add(A, B) -> (Y) { Y = A + B; }\n",
        "test");
    program_.name = "chain";
  }

  TensorId tensor(program::Shape shape, program::Role role) {
    const auto bytes = static_cast<std::size_t>(program::elems(shape) * 4);
    program::Tensor added{.name = fmt::format("t{}", program_.tensors.size()),
                          .type = DType::F32,
                          .shape = std::move(shape),
                          .role = role};
    if (role == program::Role::Constant)
      added.data = std::make_shared<const program::Bytes>(bytes);
    const TensorId id = program_.add(added);
    if (role == program::Role::Input)
      program_.inputs.push_back(id);
    return id;
  }
  TensorId input(program::Shape shape) { return tensor(std::move(shape), program::Role::Input); }
  TensorId weights(program::Shape shape) {
    return tensor(std::move(shape), program::Role::Constant);
  }
  TensorId call(const char *function, std::vector<TensorId> args,
                tile::Attributes attributes = {}) {
    return library_.instantiate(function, args, attributes, program_, function).at(0);
  }
  TensorId conv(TensorId x, std::int64_t from, std::int64_t to, std::int64_t size) {
    return call("conv", {x, weights({to, from, 3, 3})},
                {{"OY", size}, {"OX", size}, {"ST", std::int64_t{1}}, {"P", std::int64_t{1}}});
  }
  TensorId stem_and_pool() {
    const TensorId stem =
        call("relu", {call("conv", {input({1, 3, 224, 224}), weights({8, 3, 7, 7})},
                           {{"OY", std::int64_t{112}},
                            {"OX", std::int64_t{112}},
                            {"ST", std::int64_t{2}},
                            {"P", std::int64_t{3}}})});
    return call("pool", {stem},
                {{"OY", std::int64_t{56}}, {"OX", std::int64_t{56}}, {"ST", std::int64_t{2}}});
  }
  Backward backward() {
    const TensorId x = call("relu", {input({2, 4, 12, 12})});
    const TensorId masked = call("mask", {input({2, 8, 6, 6}), input({2, 8, 6, 6})});
    const std::int64_t size = 12, taps = 3, stride = 2, pad = 1;
    return {masked,
            call("by_input", {masked, weights({8, 4, 3, 3})},
                 {{"H", size}, {"W", size}, {"ST", stride}, {"P", pad}}),
            call("by_filter", {masked, x}, {{"R", taps}, {"S", taps}, {"ST", stride}, {"P", pad}})};
  }
  std::vector<PlacedGroup> groups(std::vector<TensorId> outputs, FuseOptions options) {
    program_.outputs = std::move(outputs);
    return make_groups(program::assign_storage(program_), options, &report_);
  }
  std::vector<PlacedGroup> all(std::vector<TensorId> outputs) {
    return groups(std::move(outputs), {.level = FuseLevel::All});
  }
  std::string decisions() const {
    std::string text;
    for (const FuseDecision &decision : report_.decisions)
      text += to_text(decision);
    return text;
  }

  tile::Library library_;
  program::Program program_;
  FuseReport report_;
};

Target cpu() {
  return {.name = "cpu", .compute_units = 2, .local_bytes = 256 << 10, .l2_bytes = 512 << 10};
}

FuseOptions judged() {
  return {.level = FuseLevel::All, .judge = [](const Exchange &exchange) {
            const Group &fused = exchange.together.front()->group;
            return cost::to_verdict(cost::profit(fused, exchange.apart.back()->group, cpu()),
                                    fused);
          }};
}

// pw -> dw 3x3 stride 2 -> pw, 56 -> 28.
TEST_F(Fusing, AnInvertedResidualBlockIsOneGroup) {
  const TensorId wide = call("relu", {call("mix", {input({1, 4, 56, 56}), weights({8, 4})})});
  const TensorId deep =
      call("deep", {wide, weights({8, 3, 3})},
           {{"OY", std::int64_t{28}}, {"OX", std::int64_t{28}}, {"ST", std::int64_t{2}}});
  const std::vector<PlacedGroup> made = all({call("mix", {deep, weights({4, 8})})});
  ASSERT_EQ(made.size(), 1u) << decisions();
  const Group &group = made[0].group;
  ASSERT_EQ(group.producers.size(), 2u);
  std::vector<std::int64_t> tile;
  for (int i = 0; i < group.anchor.output_indices; ++i)
    tile.push_back(group.anchor.indices[at(i)].extent == 28 ? 7 : 4);
  const std::vector<MemberNeeds> all = needs(group, tile);
  EXPECT_EQ(all[1].executed, 8 * 784);
  EXPECT_EQ(all[2].executed, 8 * 3481);
  EXPECT_EQ(all[2].distinct, 8 * 3136);
  EXPECT_NEAR(all[2].recomputed(), 1.11, 1e-4);
}

TEST_F(Fusing, AStemAndItsPoolAreOneGroup) {
  const std::vector<PlacedGroup> made = all({stem_and_pool()});
  ASSERT_EQ(made.size(), 1u) << decisions();
  std::vector<std::int64_t> tile;
  for (int i = 0; i < made[0].group.anchor.output_indices; ++i)
    tile.push_back(made[0].group.anchor.indices[at(i)].extent == 56 ? 7 : 8);
  EXPECT_EQ(needs(made[0].group, tile)[1].executed, 8 * 14161);
}

std::string texts(const Exchange &exchange) {
  std::string all;
  for (const auto *groups : {&exchange.together, &exchange.apart})
    for (const PlacedGroup *placed : *groups)
      all += to_text(placed->group);
  return all;
}

// A pass over all offers tells what will be judged, and changes nothing.
TEST_F(Fusing, WhatIsJudgedWithoutAnyFusionIsForeseen) {
  std::vector<std::string> foreseen, asked;
  FuseOptions options = {.level = FuseLevel::All};
  options.judge = [&](const Exchange &exchange) {
    asked.push_back(texts(exchange));
    return Verdict{.is_worth = false};
  };
  const Backward pass = backward();
  const std::vector<TensorId> outputs = {stem_and_pool(), pass.by_input, pass.by_filter};
  groups(outputs, options);
  const std::vector<std::string> before = asked;
  const std::string decided = decisions();
  const std::int64_t calls = report_.isl_calls;
  asked.clear();
  report_ = {};
  options.foresee = [&](const std::vector<Exchange> &exchanges) {
    for (const Exchange &exchange : exchanges)
      foreseen.push_back(texts(exchange));
  };
  groups(outputs, options);
  EXPECT_FALSE(foreseen.empty());
  EXPECT_EQ(foreseen, before);
  EXPECT_EQ(asked, before);
  EXPECT_EQ(decisions(), decided);
  EXPECT_EQ(report_.isl_calls, calls);
}

// Where no tile of the whole height fits, tiles roll along it: halos beside each other are run
// again at most.
TEST_F(Fusing, TilesThatRollRunLittleAgain) {
  Target small = cpu();
  small.local_bytes = 16 << 10;
  std::vector<cost::Profit> all;
  const auto weigh = [&](const Exchange &exchange) {
    const Group &fused = exchange.together.front()->group;
    const Group &producer = exchange.apart.back()->group;
    all.push_back(cost::profit(fused, producer, small));
    Target items = small;
    items.lanes = LaneKind::WorkItem;
    all.push_back(cost::profit(fused, producer, items));
    return cost::to_verdict(all.front(), fused);
  };
  groups({stem_and_pool()}, {.level = FuseLevel::All, .judge = weigh});
  ASSERT_EQ(all.size(), 2u);
  EXPECT_TRUE(all[0].rolls);
  EXPECT_NEAR(all[0].recomputed, 1, 0.01) << decisions();
  EXPECT_NE(decisions().find("rolling along"), std::string::npos) << decisions();
  EXPECT_FALSE(all[1].rolls);
  EXPECT_GT(all[1].recomputed, all[0].recomputed);
}

TEST_F(Fusing, AMapIsAppliedWhileStaging) {
  const TensorId x = call("relu", {input({1, 4, 12, 12})});
  const std::vector<PlacedGroup> made = all({conv(x, 4, 4, 12)});
  ASSERT_EQ(made.size(), 1u) << decisions();
  EXPECT_EQ(made[0].group.producers.at(0).feed, Feed::Map);
}

// A map and the transposition that reads it are one map, without a buffer between them.
TEST_F(Fusing, ACopyEvaluatesTheMapThatItReads) {
  const TensorId x = input({1, 4, 6, 5});
  const std::vector<PlacedGroup> made = all({call("turn", {call("relu", {x})})});
  ASSERT_EQ(made.size(), 1u) << decisions();
  const Group &group = made[0].group;
  EXPECT_TRUE(group.producers.empty());
  EXPECT_TRUE(group.anchor.inputs.empty());
  ASSERT_EQ(made[0].buffers.size(), 2u);
  std::vector<std::byte> in(120 * 4), out(120 * 4);
  for (std::int64_t i = 0; i < 120; ++i)
    store_element(in.data(), DType::F32, i, static_cast<double>(i % 7 - 3));
  const bool in_first = group.anchor.out.slot == nest::SlotId{1};
  const std::vector<std::span<std::byte>> slots = {in_first ? in : out, in_first ? out : in};
  evaluate(group, slots);
  for (std::int64_t c = 0; c < 4; ++c)
    for (std::int64_t y = 0; y < 6; ++y)
      for (std::int64_t z = 0; z < 5; ++z) {
        const auto from = static_cast<double>((c * 30 + y * 5 + z) % 7 - 3);
        EXPECT_EQ(load_element(out.data(), DType::F32, (z * 4 + c) * 6 + y), std::max(from, 0.0));
      }
}

// (c): another reader keeps the result in memory.
TEST_F(Fusing, AResultThatOthersReadStays) {
  const TensorId x = conv(input({1, 4, 12, 12}), 4, 4, 12);
  EXPECT_EQ(all({call("relu", {x}), conv(x, 4, 4, 12)}).size(), 3u);
  EXPECT_NE(decisions().find("reads its result too"), std::string::npos) << decisions();
}

TEST_F(Fusing, EveryReaderOfAMaskEvaluatesIt) {
  const Backward made = backward();
  const std::vector<PlacedGroup> groups = all({made.by_input, made.by_filter});
  ASSERT_EQ(groups.size(), 5u) << decisions();
  for (const PlacedGroup &placed : groups) {
    ASSERT_FALSE(placed.group.producers.empty());
    EXPECT_EQ(placed.group.producers[0].feed, Feed::Map);
    EXPECT_EQ(written_slots(placed.group).size(), 1u);
    EXPECT_TRUE(is_plainly_legal(placed.group));
  }
  // The activation that the filter's gradient reads is evaluated there too.
  EXPECT_EQ(groups[4].group.producers.size(), 2u) << decisions();
  EXPECT_NE(decisions().find("every reader evaluates it"), std::string::npos) << decisions();
}

TEST_F(Fusing, TheFirstReaderStoresWhatOthersRead) {
  const Backward made = backward();
  const FuseOptions storing = {.level = FuseLevel::All, .judge = [](const Exchange &exchange) {
                                 const auto &made = exchange.together.front()->group.producers;
                                 const bool stores = made.back().stored;
                                 const bool one = exchange.together.size() == 1;
                                 return Verdict{.is_worth = stores || one, .terms = {"judged"}};
                               }};
  const std::vector<PlacedGroup> placed = groups({made.by_input, made.by_filter}, storing);
  ASSERT_EQ(placed.size(), 5u) << decisions();
  ASSERT_EQ(placed[0].group.producers.size(), 1u);
  EXPECT_TRUE(placed[0].group.producers[0].stored);
  EXPECT_EQ(written_slots(placed[0].group).size(), 2u);
  for (int g = 1; g < 4; ++g)
    EXPECT_TRUE(placed[at(g)].group.producers.empty());
  EXPECT_NE(decisions().find("stored on the way"), std::string::npos) << decisions();
}

// An output is stored by who stages it.
TEST_F(Fusing, AMaskThatIsAnOutputIsStored) {
  const Backward made = backward();
  const std::vector<PlacedGroup> placed = all({made.masked, made.by_input, made.by_filter});
  ASSERT_EQ(placed.size(), 5u) << decisions();
  EXPECT_EQ(written_slots(placed[0].group).size(), 2u);
}

// (d): statistics over everything are no producer of a tile, the half that applies them is.
TEST_F(Fusing, OnlyTheHalfOfANormalisationThatAppliesItJoins) {
  const TensorId x = call("mean", {input({2, 4, 12, 12})});
  const std::vector<PlacedGroup> made = all({conv(x, 4, 4, 12)});
  ASSERT_EQ(made.size(), 2u) << decisions();
  EXPECT_EQ(made[1].group.producers.size(), 1u);
}

// (f): many channels cost more to run again than their tensor costs to move.
TEST_F(Fusing, AConvolutionJoinsWhereItPays) {
  const TensorId few = conv(input({1, 4, 112, 112}), 4, 4, 112);
  EXPECT_EQ(groups({conv(few, 4, 4, 112)}, judged()).size(), 1u) << decisions();
  const TensorId many = conv(input({1, 512, 14, 14}), 512, 512, 14);
  EXPECT_EQ(groups({conv(many, 512, 512, 14)}, judged()).size(), 1u + 2u) << decisions();
  EXPECT_NE(decisions().find("does not pay"), std::string::npos) << decisions();
}

// (h): a producer under a constraint is isl's to decide.
TEST_F(Fusing, AQuotaThatDoesNotSufficeLeavesThingsApart) {
  const TensorId x = call("corner", {input({1, 4, 12, 12}), weights({4, 3, 3})});
  const TensorId out = conv(x, 4, 4, 12);
  EXPECT_EQ(groups({out}, {.level = FuseLevel::All, .quota = 1000}).size(), 2u);
  EXPECT_NE(decisions().find("quota"), std::string::npos) << decisions();
  EXPECT_GT(report_.isl_calls, 0);
  EXPECT_EQ(all({out}).size(), 1u) << decisions();
}

TEST_F(Fusing, PlainChainsAskNothingOfIsl) {
  const TensorId x = call("relu", {input({1, 4, 12, 12})});
  const TensorId out = conv(conv(x, 4, 4, 12), 4, 4, 12);
  const std::vector<PlacedGroup> made = groups({out}, {.level = FuseLevel::All, .quota = 1});
  EXPECT_EQ(made.size(), 1u) << decisions();
  EXPECT_EQ(report_.isl_calls, 0);
  EXPECT_TRUE(is_plainly_legal(made.at(0).group));
  EXPECT_EQ(illegal_fusion(made.at(0).group, 10'000'000), std::nullopt);
}

TEST_F(Fusing, LevelsNestInEachOther) {
  const TensorId x = call("relu", {conv(call("relu", {input({1, 4, 12, 12})}), 4, 4, 12)});
  EXPECT_EQ(groups({x}, {.level = FuseLevel::None}).size(), 3u);
  EXPECT_EQ(groups({x}, {.level = FuseLevel::Pointwise}).size(), 2u);
  EXPECT_EQ(groups({x}, {.level = FuseLevel::All}).size(), 1u);
}

TEST_F(Fusing, SixtyConvolutionsArePlannedInSeconds) {
  TensorId x = input({1, 16, 56, 56});
  for (int i = 0; i < 60; ++i)
    x = call("relu", {conv(x, 16, 16, 56)});
  const std::vector<PlacedGroup> made = groups({x}, judged());
  EXPECT_LE(made.size(), 60u);
  EXPECT_LT(report_.seconds, 5.0);
  RecordProperty("groups", static_cast<int>(made.size()));
  RecordProperty("isl_calls", static_cast<int>(report_.isl_calls));
  fmt::print("{} groups, {} isl calls, {:.3f} s\n", made.size(), report_.isl_calls,
             report_.seconds);
}

} // namespace
} // namespace tilefuse::poly
