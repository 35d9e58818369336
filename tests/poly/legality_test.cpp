// SPDX-License-Identifier: Apache-2.0
// Each rule of legality refuses what breaks it, and takes what does not.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "nest/fold/fold.h"
#include "poly/isl/legality.h"
#include "program/storage/storage.h"
#include "tile/tile.h"

namespace tilefuse::poly {
namespace {

const char *const kText = "function chain(X[8, 8], K[3, 3]) -> (O) {\n"
                          "  Q = round(X);\n"
                          "  C[h, w : 6, 6] = +(Q[h + r, w + s] * K[r, s]);\n"
                          "  O = max(C, 0);\n"
                          "}\n"
                          "function padded(X[8, 8], K[3, 3]) -> (O) {\n"
                          "  Q = 1 / (1 + exp(-X));\n"
                          "  O[h, w : 8, 8] = +(Q[h + r - 1, w + s - 1] * K[r, s]);\n"
                          "}\n"
                          "function residual(X[8, 8], K[3, 3]) -> (O) {\n"
                          "  R = max(X, 0);\n"
                          "  C[h, w : 8, 8] = +(R[h + r - 1, w + s - 1] * K[r, s]);\n"
                          "  O = X + C;\n"
                          "}\n"
                          "function two(X[8, 8], K[3, 3]) -> (O, P) {\n"
                          "  Q = round(X);\n"
                          "  O[h, w : 6, 6] = +(Q[h + r, w + s] * K[r, s]);\n"
                          "  P = exp(Q);\n"
                          "}\n"
                          "function sums(X[8, 8], K[3, 3]) -> (O) {\n"
                          "  A[h, w : 8, 8] = +(X[h + r - 1, w + s - 1] * K[r, s]);\n"
                          "  O[h, w : 8, 8] = +(A[h + r - 1, w + s - 1] * K[r, s]);\n"
                          "}\n";

Scop scop_of(const char *function, std::vector<std::string> in_place = {}) {
  const std::map<std::string, std::pair<DType, program::Shape>> tensors = {
      {"X", {DType::F32, {8, 8}}}, {"K", {DType::F32, {3, 3}}}};
  return make_scop(
      program::assign_storage(tile::to_program(kText, "chain.tile", tensors, {}, function)),
      in_place);
}

Fusion propose(const Scop &scop, const Chosen &producers, const Chosen &consumers,
               std::vector<std::int64_t> sizes = {2, 2}) {
  return propose(scop, dependences(scop), producers, consumers, sizes);
}

// S0 round, S1 S2 the convolution, S3 max.
Fusion chain() { return propose(scop_of("chain"), {"S0"}, {"S1", "S2", "S3"}); }

void expect_refusal(const Refusal &refusal, const char *part) {
  ASSERT_TRUE(refusal);
  EXPECT_NE(refusal->find(part), std::string::npos) << *refusal;
}

TEST(Legality, AChainIsLegalAndItsTileIsDerived) {
  const Fusion fusion = chain();
  EXPECT_EQ(refusals(fusion), std::vector<std::string>());
  EXPECT_EQ(fusion.extension.pairs().count(), 144);
  EXPECT_EQ(fusion.extension.range().count(), 64);
  EXPECT_EQ(is_needed_elsewhere(fusion, Points(std::string("{ O[h, w] }"))), std::nullopt);
}

TEST(Legality, L1RefusesASchedulerThatRunsTheResultFirst) {
  const Fusion fusion = chain();
  EXPECT_EQ(runs_backwards(fusion, fusion.deps.schedule), std::nullopt);
  const Relation early(
      "{ S1[h, w] -> [h, w, 1]; S2[h, w, r, s] -> [h, w, 2]; S3[h, w] -> [h, w, 0] }");
  expect_refusal(runs_backwards(fusion, early), "backwards");
}

TEST(Legality, L2RefusesATileWithoutItsHalo) {
  Fusion fusion = chain();
  fusion.extension = Relation("{ [a, b] -> S0[h, w] : 2a <= h <= 2a + 2 and 2b <= w <= 2b + 3 }")
                         .from(fusion.tiles.range());
  expect_refusal(misses_sources(fusion), "lacks what it reads");
}

TEST(Legality, L3RefusesProducersWithoutTheirOwn) {
  const Scop scop = scop_of("sums");
  Fusion fusion = propose(scop, {"S0", "S1"}, {"S2", "S3"});
  EXPECT_EQ(refusals(fusion), std::vector<std::string>());
  fusion.extension = fusion.extension - Relation("{ [a, b] -> S0[h, w] : h = 2a }");
  expect_refusal(misses_transitive_sources(fusion), "lacks what it reads");
  fusion = propose(scop, {"S1", "S0"}, {"S2", "S3"});
  expect_refusal(misses_transitive_sources(fusion), "S1 would run before S0");
}

TEST(Legality, L4RefusesPartOfAReduction) {
  const Scop scop = scop_of("sums");
  Fusion fusion = propose(scop, {"S0", "S1"}, {"S2", "S3"});
  fusion.extension = fusion.extension - Relation("{ [a, b] -> S1[h, w, r, s] : r = 2 }");
  expect_refusal(splits_reduction(fusion), "part of a reduction");
  fusion = propose(scop, {"S0", "S1"}, {"S2", "S3"});
  fusion.tiles = Relation("{ S2[h, w] -> [h, 0]; S3[h, w, r, s] -> [h, r] }")
                     .from(universe(scop, {"S2", "S3"}));
  expect_refusal(splits_reduction(fusion), "several tiles write one element");
}

TEST(Legality, L5RefusesQuantisationInPlace) {
  const Fusion fusion = propose(scop_of("chain", {"Q"}), {"S0"}, {"S1", "S2", "S3"});
  EXPECT_EQ(fusion.extension.pairs().count(), 144); // as out of place: only the rule tells
  expect_refusal(overwrites_its_input(fusion), "overwrites what it reads");
  ASSERT_EQ(refusals(fusion).size(), 1u);
  expect_refusal(refusals(fusion)[0], "overwrites what it reads");
}

TEST(Legality, L6KeepsAnOriginalThatOthersRead) {
  const Scop scop = scop_of("two");
  const Fusion fusion = propose(scop, {"S0"}, {"S1", "S2"});
  EXPECT_EQ(refusals(fusion), std::vector<std::string>());
  expect_refusal(is_needed_elsewhere(fusion, Points(std::string("{ }"))), "others read");
  expect_refusal(is_needed_elsewhere(chain(), Points(std::string("{ Q[h, w] }"))), "asked for");
}

TEST(Legality, L7WantsEachResultStoredOnce) {
  const Fusion fusion = chain();
  const Points tiles = fusion.tiles.range();
  const auto stores = [&](const char *text) {
    return Relation(text).from(tiles) & fusion.extension;
  };
  // Each tile its first two rows and columns, the last tiles all they have.
  const char *const owner =
      "{ [a, b] -> S0[h, w] : 2a <= h and (h < 2a + 2 or a = 2) and 2b <= w and "
      "(w < 2b + 2 or b = 2) }";
  EXPECT_EQ(stores_wrongly(fusion, stores(owner)), std::nullopt);
  expect_refusal(stores_wrongly(fusion, fusion.extension), "several tiles store");
  expect_refusal(
      stores_wrongly(fusion,
                     stores("{ [a, b] -> S0[h, w] : 2a <= h < 2a + 2 and 2b <= w < 2b + 2 }")),
      "no tile stores");
  expect_refusal(
      stores_wrongly(fusion, Relation("{ [0, 0] -> S0[h, w] : 0 <= h < 8 and 0 <= w < 8 }")),
      "stores what it lacks");
}

TEST(Legality, L8RefusesAResidualSumInPlace) {
  EXPECT_EQ(refusals(propose(scop_of("residual"), {"S0"}, {"S1", "S2", "S3"})),
            std::vector<std::string>());
  const Fusion fusion = propose(scop_of("residual", {"O"}), {"S0"}, {"S1", "S2", "S3"});
  expect_refusal(consumers_overwrite_its_input(fusion), "consumer overwrites");
  ASSERT_EQ(refusals(fusion).size(), 1u);
}

TEST(Legality, L9RefusesWhatGivesAnotherResultEachTime) {
  Scop scop = scop_of("chain");
  scop.statements[0].is_pure = false;
  expect_refusal(is_impure(propose(scop, {"S0"}, {"S1", "S2", "S3"})), "another result");
}

TEST(Legality, L10LeavesPaddingToTheConsumer) {
  Fusion fusion = propose(scop_of("padded"), {"S0"}, {"S1", "S2"});
  EXPECT_EQ(refusals(fusion), std::vector<std::string>());
  EXPECT_EQ(fusion.extension.pairs().count(), 14 * 14);
  fusion.extension =
      Relation("{ [a, b] -> S0[h, w] : 2a - 1 <= h <= 2a + 2 and 2b - 1 <= w <= 2b + 2 }")
          .from(fusion.tiles.range());
  expect_refusal(computes_padding(fusion), "only padding");
}

TEST(Legality, AQuotaThatDoesNotSufficeRefuses) {
  const Scop scop = scop_of("chain");
  const Quota quota(1000);
  const Fusion fusion = propose(scop, {"S0"}, {"S1", "S2", "S3"});
  EXPECT_TRUE(quota.is_exceeded());
  ASSERT_FALSE(refusals(fusion).empty());
  EXPECT_NE(refusals(fusion)[0].find("quota"), std::string::npos);
}

TEST(Legality, TheContextRecoversFromAQuota) {
  {
    const Quota quota(1000);
    chain();
    EXPECT_TRUE(quota.is_exceeded());
  }
  EXPECT_EQ(refusals(chain()), std::vector<std::string>());
}

// Tiles of rows taken as one number are no boxes: only the relation knows them.
std::int64_t linear_tiles(std::int64_t rows) {
  const Relation tiles(
      fmt::format("{{ C[h, w] -> [floor((56h + w)/{})] : 0 <= h < 56 and 0 <= w < 56 }}", rows));
  const Relation reads("{ C[h, w] -> Q[x, y] : h - 1 <= x <= h + 1 and w - 1 <= y <= w + 1 and "
                       "0 <= x < 56 and 0 <= y < 56 }");
  return tiles.reversed().then(reads).pairs().count().value_or(-1);
}

TEST(Legality, LinearTilesCostMoreThanSquareOnes) {
  EXPECT_EQ(linear_tiles(128), 5866);
  EXPECT_EQ(linear_tiles(112), 6160);
}

} // namespace
} // namespace tilefuse::poly
