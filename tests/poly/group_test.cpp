// SPDX-License-Identifier: Apache-2.0
#include "poly/group.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tile/tile.h"

namespace tilefuse {
namespace {

using program::TensorId;

class Groups : public ::testing::Test {
 protected:
  Groups() {
    library_.add(
        "function mix(X[N, C, H, W], K[M, C]) -> (O) {\n"
        "  O[n, m, y, x : N, M, H, W] = +(X[n, c, y, x] * K[m, c]);\n"
        "}\n"
        "function relu(X) -> (Y) { Y = max(X, 0); }\n"
        "function add(A, B) -> (Y) { Y = A + B; }\n"
        "function join(A[N, C, H, W], B[N, D, H, W]) -> (O) {\n"
        "  P[n, c, y, x : N, C + D, H, W] = =(A[n, c, y, x]);\n"
        "  O[n, C + c, y, x : N, C + D, H, W] = =(B[n, c, y, x]) default P;\n"
        "}\n",
        "test");
    program_.name = "groups";
    x_ = program_.add({.name = "x", .type = DType::F32, .shape = {1, 4, 3, 3}, .role = program::Role::Input});
    k_ = program_.add({.name = "k",
                       .type = DType::F32,
                       .shape = {4, 4},
                       .role = program::Role::Constant,
                       .data = std::make_shared<const program::Bytes>(64)});
    program_.inputs = {x_};
  }

  TensorId call(const char* function, std::vector<TensorId> args) {
    return library_.instantiate(function, args, {}, program_, function).at(0);
  }
  std::vector<poly::PlacedGroup> groups(std::vector<TensorId> outputs) {
    program_.outputs = std::move(outputs);
    return poly::make_groups(program::assign_storage(program_));
  }

  tile::Library library_;
  program::Program program_;
  TensorId x_{};
  TensorId k_{};
};

TEST_F(Groups, MapsFuseIntoTheirOnlyProducer) {
  const std::vector<poly::PlacedGroup> all = groups({call("relu", {call("relu", {call("mix", {x_, k_})})})});
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].origin, "mix + relu + relu");
  const std::string text = poly::to_text(all[0].group);
  EXPECT_EQ(poly::to_text(poly::parse_group(text)), text);
}

TEST_F(Groups, AResultReadTwiceStaysInMemory) {
  const TensorId mixed = call("mix", {x_, k_});
  EXPECT_EQ(groups({call("add", {call("relu", {mixed}), call("mix", {mixed, k_})})}).size(), 3u);
}

TEST_F(Groups, AResultThatLiesInAConcatenationIsNotFusedAway) {
  const TensorId piece = call("mix", {x_, k_});
  const TensorId other = call("mix", {x_, k_});
  const TensorId whole = call("join", {piece, other});
  const std::vector<poly::PlacedGroup> all = groups({call("relu", {whole}), call("relu", {piece})});
  EXPECT_EQ(all.size(), 4u);
}

TEST_F(Groups, AResidualSumFusesIntoTheLaterOfItsProducers) {
  const std::vector<poly::PlacedGroup> all =
      groups({call("relu", {call("add", {call("mix", {x_, k_}), x_})})});
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].group.anchor.extras.size(), 1u);
}

TEST_F(Groups, DamagedTextIsAnError) {
  EXPECT_THROW(poly::parse_group("group\nnest"), Error);
  EXPECT_THROW(poly::parse_group(""), Error);
}

}  // namespace
}  // namespace tilefuse
