// SPDX-License-Identifier: Apache-2.0
#include "train/residual.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tile/tile.h"

namespace tilefuse::train {
namespace {

// Positions of sums, and which operand is the branch.
using Found = std::vector<std::pair<std::size_t, std::size_t>>;

Found branches(const char *body) {
  const program::Shape shape{2, 3, 4, 4};
  const program::Program program =
      tile::to_program(std::string("function net(X, K) -> (Y) { ") + body + " }", "net.tile",
                       {{"X", {DType::F32, shape}}, {"K", {DType::F32, shape}}}, {});
  Found found;
  for (const Branch &each : residual_branches(program, program.inputs.front()))
    found.emplace_back(each.statement, each.operand);
  return found;
}

TEST(Residual, IsWhatHasMoreBehindIt) {
  EXPECT_EQ(branches("A = exp(X); B = exp(A); Y = X + B;"), (Found{{2, 1}}));
  EXPECT_EQ(branches("A = exp(X); B = exp(A); Y = B + X;"), (Found{{2, 0}}));
  EXPECT_EQ(branches("A = exp(X); B = exp(A); C = sqrt(X); S = C + B; D = exp(S); Y = D + S;"),
            (Found{{3, 1}, {5, 0}}));
}

TEST(Residual, OtherSumsAreNone) {
  EXPECT_EQ(branches("A = exp(X); B = sqrt(X); Y = A + B;"), Found()) << "as many statements each";
  EXPECT_EQ(branches("A = exp(X); Y = A + K;"), Found()) << "one is of no picture";
  EXPECT_EQ(branches("A = exp(X); Y = A*X;"), Found()) << "a product";
  EXPECT_EQ(branches("A = exp(X); Y = A + X + 1;"), Found()) << "more than a sum of two";
}

} // namespace
} // namespace tilefuse::train
