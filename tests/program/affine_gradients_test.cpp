// SPDX-License-Identifier: Apache-2.0
// Gradients that are affine in what comes back and in a product's result are folded into the
// gradients of the product; all others stay.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "program/program.h"
#include "program/reference.h"
#include "program/rewrite/affine_gradients.h"

namespace tilefuse::program {
namespace {

// A product of 3 channels to 8, what comes back, and the gradient of a normalisation, %8 "g".
struct Layer {
  std::string type = "f32";
  std::string data = "[2, 3, 5, 4]", filter = "[8, 3, 1, 1]", result = "[2, 8, 5, 4]";
  std::string channels = "[8, 1, 1]";
  std::string indices = "n, m, y, x, c, r, s";
  std::string at_data = "n, c, y + r, x + s", at_filter = "m, c, r, s", at_result = "n, m, y, x";
  std::string points = "n, m, y, x", at_channels = "m, 0, 0";
  std::string sums = "  %7 \"s\" : f32{channels} = sum[{points}](%2[{points}] * %6[{points}]) -> "
                     "[{at_channels}]\n";
  std::string gradient = "map[%2, %6, %3, %4, %5, %7]({type}({f}($0) * $2 + ($3 * ({f}($1) - $5 / "
                         "($4 * $4 + 1)) + $3 * ({f}($1) - $5) - $4)))";
  std::string more; // statements

  Program program() const {
    std::string text = R"(program "p" {
  input %0 "a" : {type}{data}
  input %1 "w" : {type}{filter}
  input %2 "dz" : {type}{result}
  input %3 "k" : f32{channels}
  input %4 "l" : f32{channels}
  input %5 "n" : f32[1]
  %6 "x" : {type}{result} = sum[{indices}](%0[{at_data}] * %1[{at_filter}]) -> [{at_result}]
)" + sums +
                       "  %8 \"g\" : {type}{result} = " + gradient + R"(
  %9 "da" : {type}{data} = sum[{indices}](%8[{at_result}] * %1[{at_filter}]) -> [{at_data}]
  %10 "dw" : f32{filter} = sum[{indices}](%8[{at_result}] * %0[{at_data}]) -> [{at_filter}]
)" + more + "  output %9\n  output %10\n}\n";
    const std::vector<std::pair<std::string, std::string>> words = {
        {"type", type},
        {"data", data},
        {"filter", filter},
        {"result", result},
        {"channels", channels},
        {"indices", indices},
        {"at_data", at_data},
        {"at_filter", at_filter},
        {"at_result", at_result},
        {"points", points},
        {"at_channels", at_channels},
        {"f", type == "f32" ? "" : "f32"}};
    for (const auto &[name, value] : words)
      for (std::size_t at = 0; (at = text.find("{" + name + "}")) != std::string::npos;)
        text.replace(at, name.size() + 2, value);
    return testing::program_of(text);
  }
};

bool has(const Program &program, const std::string &name) {
  for (const Statement &statement : program.statements)
    if (program[statement.out].name == name)
      return true;
  return false;
}

// The program with every fold that is offered, which gives what the given one gives.
Program folded(const Program &before) {
  double price = 1; // 2 as it is, 1 folded
  const Program after =
      affine_gradients(before, [&](const Program &) { return price = 3 - price; });
  const auto expected = testing::run(before), found = testing::run(after);
  EXPECT_EQ(expected.size(), found.size());
  for (std::size_t k = 0; k < expected.size(); ++k)
    for (std::size_t i = 0; i < expected[k].size(); ++i)
      EXPECT_NEAR(found[k][i], expected[k][i], 1e-9 * (1 + std::abs(expected[k][i])))
          << to_text(after);
  return after;
}

// Neither g is made, nor x where a sum alone reads it.
bool is_folded(const Layer &layer) {
  const Program after = folded(layer.program());
  return !has(after, "g") && !has(after, "x");
}

TEST(AffineGradients, OfEveryType) {
  for (const char *type : {"f32", "f16", "bf16"})
    EXPECT_TRUE(is_folded({.type = type})) << type;
}

TEST(AffineGradients, OfEveryOrderOfDimensions) {
  Layer dense{.data = "[7, 3]", .filter = "[8, 3]", .result = "[7, 8]", .channels = "[8]"};
  dense.indices = "p, m, c";
  dense.at_data = "p, c", dense.at_filter = "m, c", dense.at_result = dense.points = "p, m";
  dense.at_channels = "m";
  EXPECT_TRUE(is_folded(dense));
  Layer turned = dense;
  turned.filter = "[3, 8]", turned.at_filter = "c, m";
  EXPECT_TRUE(is_folded(turned));
  Layer planes = dense;
  planes.data = "[3, 7]", planes.result = "[8, 7]", planes.channels = "[8, 1]";
  planes.at_data = "c, p", planes.at_result = planes.points = "m, p", planes.at_channels = "m, 0";
  EXPECT_TRUE(is_folded(planes));
  Layer innermost{.data = "[2, 5, 4, 3]", .result = "[2, 5, 4, 8]", .channels = "[8]"};
  innermost.at_data = "n, y + r, x + s, c";
  innermost.at_result = innermost.points = "n, y, x, m", innermost.at_channels = "m";
  EXPECT_TRUE(is_folded(innermost));
}

TEST(AffineGradients, OfEveryFormOfSum) {
  const std::string again = "  %11 \"t\" : f32[8] = sum[{points}]($1 * $0 of %2[{points}], "
                            "%6[{points}]) -> [m]\n  output %11\n";
  EXPECT_TRUE(is_folded({.more = again}));
  Layer without{.sums = "",
                .gradient = "map[%2, %6, %3, %4]({type}({f}($0) * $2 + {f}($1) / ($3 * $3 + 2)))"};
  EXPECT_TRUE(is_folded(without));
  // Factors that are numbers.
  EXPECT_TRUE(is_folded({.sums = "", .gradient = "map[%2, %6]($0 + $1 * 2 - 1)"}));
  // Not of the product alone: x is read again.
  const std::string squares =
      "  %11 \"t\" : f32[8] = sum[{points}](%6[{points}] * %6[{points}]) -> [m]\n  output %11\n";
  const Program after = folded(Layer{.more = squares}.program());
  EXPECT_FALSE(has(after, "g"));
  EXPECT_TRUE(has(after, "x"));
}

// Small maps that g alone reads are evaluated where its factors are.
TEST(AffineGradients, FactorsThatMapsAndViewsCompute) {
  Layer layer;
  layer.sums += "  %12 \"q\" : f32[8, 1, 1] = map[%7, %4, %5]($0 * $1 - $2)\n"
                "  %13 \"flat\" : f32[1, 8] = view(%12)\n"
                "  %14 \"line\" : f32[1, 8, 1, 1] = view(%13)\n";
  layer.gradient = "map[%2, %6, %3, %14]($0 * $2 + ($1 - $2) * $3)";
  const Program after = folded(layer.program());
  EXPECT_FALSE(has(after, "g") || has(after, "x") || has(after, "q"));
}

TEST(AffineGradients, OthersStay) {
  const auto stays = [](const Layer &layer) { return has(folded(layer.program()), "g"); };
  EXPECT_TRUE(stays({.more = "  output %8\n"}));
  EXPECT_TRUE(
      stays({.more = "  %11 \"r\" : f32[2, 8, 5, 4] = map[%8](max($0, 0))\n  output %11\n"}));
  EXPECT_TRUE(stays({.gradient = "map[%2, %6, %3](max($0, 0) * $2 + $1)"}));
  EXPECT_TRUE(stays({.gradient = "map[%2, %6, %3]($0 * $2 + $1 * $1)"}));
  EXPECT_TRUE(stays({.gradient = "map[%2, %6, %3]($0 / ($1 * $1 + 1) + $2)"}));
  EXPECT_TRUE(stays({.gradient = "map[%2, %2, %3]($0 * $2 + $1)"}));
  Layer taps{.data = "[2, 3, 6, 4]", .filter = "[8, 3, 2, 1]"};
  EXPECT_TRUE(stays(taps));
  Layer strided{.data = "[2, 3, 9, 7]"};
  strided.at_data = "n, c, 2*y + r, 2*x + s";
  EXPECT_TRUE(stays(strided));
  Layer grouped{.data = "[2, 8, 5, 4]", .filter = "[8, 1, 1, 1]"};
  grouped.indices = "n, m, y, x, r, s", grouped.at_data = "n, m, y + r, x + s";
  grouped.at_filter = "m, 0, r, s";
  EXPECT_TRUE(stays(grouped));
}

TEST(AffineGradients, WhereTheyAreNoQuicker) {
  int asked = 0;
  const Program before = Layer{.type = "f16"}.program();
  const Program after = affine_gradients(before, [&](const Program &of) {
    ++asked;
    EXPECT_EQ(of[of.inputs[2]].shape, (Shape{40, 8}));
    EXPECT_EQ(of[of.inputs[1]].shape, (Shape{8, 3}));
    return 1.0;
  });
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(to_text(after), to_text(before));
}

} // namespace
} // namespace tilefuse::program
