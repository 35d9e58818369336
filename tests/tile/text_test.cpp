// SPDX-License-Identifier: Apache-2.0
// What the parser and the name check say about a text: goldens of whole messages, several mistakes
// per file.
#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "tile/tile.h"

namespace tilefuse::tile {
namespace {

// The message of adding a text, or "" when it is accepted.
std::string mistakes(const std::string &text) {
  Library library;
  try {
    library.add(text, "t.tile");
  } catch (const Error &error) {
    EXPECT_EQ(error.code(), ErrorCode::Syntax);
    EXPECT_TRUE(library.functions().empty());
    return error.what();
  }
  return "";
}

// A body put into a function of X[N, C] and attribute A with result Y.
std::string in_function(const std::string &body) {
  return "function f(X[N, C], B; A = 1) -> (Y) { " + body + " }";
}

testing::AssertionResult says(const std::string &body, const std::string &message) {
  const std::string got = mistakes(in_function(body));
  if (got.find("error: " + message + "\n") != std::string::npos)
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << "got: " << got;
}

TEST(TileText, AcceptsTheLanguage) {
  EXPECT_EQ(mistakes(R"(
    // comment
    function conv2d(I[N, C, H, W], K[M, C, R, S]; SY = 1, SX = 1, PY = -2, EPS = 0.5, OY, OX) -> (O) {
      T[n, m, y, x : N, M, OY, OX] = +(I[n, c, SY*y + r - PY, SX*x + s] * K[m, c, r, s]), r + s < R + S;
      O = T*EPS - (T > 0 && T < 1 ? T : -T) / 2.5e0;
    }
    function scalar(X[], Z[1, N]) -> (O, P) {
      O[] = >(X[]);
      P[k, n : 1, N/1] = <(X[] + Z[k, (n + 1 - 1)/1]) default Z;
    }
    function nothing(; N) -> (O) { O = fill(1/N, N, 2); }
    function twice(X) -> (Y) { Y = conv2d(X, X; OY = 1, OX = 2) + max(X, 0); }
    function assigned(X[N]) -> (Y) { Y[n : N] ==(X[n]); }
  )"),
            "");
}

TEST(TileText, ReportsSeveralMistakesWithLinesAndCarets) {
  const std::string text = "function good(X) -> (Y) { Y = X; }\n"
                           "function one(X[N]) -> (Y) {\n"
                           "\tT[n : N] = +(Z[n]);\n"
                           "  Y = T + q;\n"
                           "}\n"
                           "function two(X) -> (Y) {\n"
                           "  Y = X +;\n"
                           "  Z = (X;\n"
                           "}\n"
                           "functoin three(X) -> (Y) { Y = X; }\n"
                           "function four(x) -> (Y) { Y = x; }\n";
  EXPECT_EQ(mistakes(text),
            "t.tile:3:15: error: 'Z' is not defined\n"
            "   T[n : N] = +(Z[n]);\n"
            "                ^\n"
            "t.tile:4:11: error: 'q' is no tensor or number; an index stands between [ ] only\n"
            "    Y = T + q;\n"
            "            ^\n"
            "t.tile:7:10: error: expected a number, a name or '(', got ';'\n"
            "    Y = X +;\n"
            "           ^\n"
            "t.tile:8:9: error: expected ')', got ';'\n"
            "    Z = (X;\n"
            "          ^\n"
            "t.tile:10:1: error: expected 'function', got 'functoin'\n"
            "  functoin three(X) -> (Y) { Y = X; }\n"
            "  ^\n"
            "t.tile:11:15: error: expected a tensor (it starts with A-Z), got 'x'\n"
            "  function four(x) -> (Y) { Y = x; }\n"
            "                ^");
}

TEST(TileText, CaretsCountCodePointsAndLongLinesAreCut) {
  EXPECT_EQ(mistakes("// ä\nfunction f(X) -> (Y) { /* ü */ Y = X; }"),
            "t.tile:2:24: error: expected a statement that defines a tensor (it starts with A-Z), "
            "got '/'\n"
            "  function f(X) -> (Y) { /* ü */ Y = X; }\n"
            "                         ^");
  const std::string message =
      mistakes("function f(X) -> (Y) { Y = X" + std::string(1000, ' ') + "@ }");
  EXPECT_LT(message.size(), 400U);
  EXPECT_NE(message.find("\n  " + std::string(60, ' ') + "@ }\n  " + std::string(60, ' ') + "^"),
            std::string::npos);
}

TEST(TileText, ReportsSyntax) {
  EXPECT_TRUE(says("Y = X", "expected ';', got '}'"));
  EXPECT_TRUE(says("Y X;", "expected '=' or '[', got 'X'"));
  EXPECT_TRUE(says("Y[n, c] = +(X[n, c]);", "expected ':' and the sizes of the result, got ']'"));
  EXPECT_TRUE(
      says("Y[n : N] = -(X[n, c]);", "expected one of the aggregations + * > < =, got '-'"));
  EXPECT_TRUE(says("Y[n : N] = +(X[n, c] / X[n, c]);", "expected '*', '+', '==' or ')', got '/'"));
  EXPECT_TRUE(says("Y[n : N] = +(X[n, c]), c > 2;", "expected '<', got '>'"));
  EXPECT_TRUE(
      says("Y[n : N] = +(X[n, c]) default 0;", "expected a tensor (it starts with A-Z), got '0'"));
  EXPECT_TRUE(says("Y = X ? X;", "expected ':' of '?:', got ';'"));
  EXPECT_TRUE(says("Y = max(X, 1;", "expected the name of an attribute, got '}'"));
  EXPECT_TRUE(says("Y = 99999999999999999999*X;",
                   "expected a number in range, got '99999999999999999999'"));
  EXPECT_TRUE(says("Y = X % 2;", "expected ';', got '%'"));
  EXPECT_TRUE(says("Y = X < 1 < 2;", "expected ';', got '<'"));
  EXPECT_EQ(mistakes("function f(X) -> (Y) { Y = X;").substr(0, 79),
            "t.tile:1:30: error: expected '}' at the end of the function, got the end of the");
  EXPECT_EQ(mistakes("function f(X) -> (Y) { Y = \"X\"; }").substr(0, 40),
            "t.tile:1:28: error: Tile has no strings\n");
}

TEST(TileText, ReportsNames) {
  EXPECT_TRUE(says("Y = Z;", "'Z' is not defined"));
  EXPECT_TRUE(says("Y = T; T = X;", "'T' is not defined"));
  EXPECT_TRUE(says("Y = X; Y = X;", "'Y' is defined already, as a tensor in line 1"));
  EXPECT_TRUE(says("N = X; Y = N;", "'N' is defined already, as a dimension in line 1"));
  EXPECT_TRUE(says("A = X; Y = A;", "'A' is defined already, as an attribute in line 1"));
  EXPECT_TRUE(says("X = B; Y = X;", "'X' is defined already, as a tensor in line 1"));
  EXPECT_EQ(mistakes(in_function("T = X; Y = X;")), "") << "what is not used is allowed";
  EXPECT_TRUE(says("T = X + T; Y = X;", "'T' is not defined"));
  EXPECT_TRUE(says("Z = X;", "result 'Y' is not defined by any statement"));
  EXPECT_TRUE(says("Y[n : N] = +(N[n]);", "'N' is a dimension; a tensor is needed here"));
  EXPECT_TRUE(says("Y[n : X] = +(X[n, c]);",
                   "'X' is a tensor; a dimension, an attribute or a numeral is needed here"));
  EXPECT_TRUE(
      says("Y[n : n] = +(X[n, c]);",
           "index 'n' cannot stand here; a size is made of dimensions, attributes and numerals"));
  EXPECT_TRUE(says("Y = n;", "'n' is no tensor or number; an index stands between [ ] only"));
  EXPECT_EQ(mistakes("function f(X, X) -> (Y, Y) { Y = X; }"),
            "t.tile:1:15: error: 'X' is defined already, as a tensor in line 1\n"
            "  function f(X, X) -> (Y, Y) { Y = X; }\n"
            "                ^\n"
            "t.tile:1:25: error: result 'Y' is named twice\n"
            "  function f(X, X) -> (Y, Y) { Y = X; }\n"
            "                          ^");
}

TEST(TileText, ReportsFormsAndRanks) {
  EXPECT_TRUE(says("Y[n : N] = +(X[n]);", "'X' has 2 dimensions, got 1 subscript"));
  EXPECT_TRUE(says("T[n : N] = +(X[n, c]); Y[n : N] = +(T[n, 0]);",
                   "'T' has 1 dimension, got 2 subscripts"));
  EXPECT_TRUE(says("Y[n, c : N] = +(X[n, c]);", "2 subscripts but 1 size"));
  EXPECT_TRUE(says("Y[n : N] = +(X[n, n*c]);", "a subscript cannot hold a product of indices"));
  EXPECT_TRUE(says("Y[n : N] = +(X[n, 2/(c + 1)]);", "a subscript cannot be divided by an index"));
  EXPECT_TRUE(says("Y[n : N] = +(X[n, 0.5*c]);",
                   "only integers under + - * / min max mod abs are possible here"));
  EXPECT_TRUE(says("Y[n : N] = +(X[n, exp(c)]);",
                   "only integers under + - * / min max mod abs are possible here"));
  EXPECT_TRUE(
      says("Y[n : N] = +(X[n, max(c, 0)]);",
           "index 'c' cannot stand here; a size is made of dimensions, attributes and numerals"));
  const std::string picks =
      "only the first operand of a sum, or of a sum of products, is read where another tensor says";
  EXPECT_EQ(mistakes(in_function("Y[n : N] = +(X[B[n], 0] * X[n, 0]);")), "");
  EXPECT_TRUE(says("Y[n : N] = >(X[B[n], 0]);", picks));
  EXPECT_TRUE(says("Y[n : N] = +(X[B[n], 0] + X[n, 0]);", picks));
  EXPECT_TRUE(says("Y[n : N] = +(X[n, 0] * X[B[n], 0]);", picks));
  EXPECT_TRUE(says("Y[n : N] = +(X[X[n], 0]);", "'X' has 2 dimensions, got 1 subscript"));
  EXPECT_TRUE(says("Y[n : N] = +(X[B[Z[n]], 0]);", "expected ']', got '['"));
  EXPECT_TRUE(says("Y[n : N] = +(X[B[n] + 1, 0]);", "expected ']', got '+'"));
  EXPECT_TRUE(
      says("Y[B[n] : N] = +(X[n, 0]);", "expected ':' and the sizes of the result, got '['"));
  EXPECT_TRUE(says("Y[n, c : N, C] = =(X[n, c]) default N;",
                   "'N' is a dimension; a tensor is needed here"));
}

TEST(TileText, ReportsCalls) {
  EXPECT_TRUE(says("Y = foo(X);", "there is no function 'foo'"));
  EXPECT_TRUE(says("Y = f(X, B);", "'f' calls itself; functions cannot recur"));
  EXPECT_TRUE(says("Y = max(X);", "'max' takes 2 arguments, got 1"));
  EXPECT_TRUE(says("Y = cast_f32(X, X);", "'cast_f32' takes 1 argument, got 2"));
  EXPECT_TRUE(says("Y = exp(X; A = 1);", "'exp' takes no attributes"));
  EXPECT_TRUE(says("Y = reshape();", "'reshape' is used as reshape(X, D0, …)"));
  EXPECT_TRUE(says("Y = fill(B, 3) + X;",
                   "'B' is a tensor; a dimension, an attribute or a numeral is needed here"));
  EXPECT_TRUE(says("Y = cast_like(X, X + 1);", "the name of a tensor is needed here"));
  EXPECT_TRUE(says("Y = X; } function g(X) -> (Z) { Z = f(X); ", "'f' takes 2 tensors, got 1"));
  EXPECT_TRUE(
      says("Y = g(X); } function g(X) -> (Z) { Z = X; ",
           "'g' is defined further down; a function stands above its calls, so that none recurs"));
  EXPECT_TRUE(
      says("Y = X; } function g(X; P) -> (Z) { Z = f(X, X; Q = 1); ", "'f' has no attribute 'Q'"));
  EXPECT_TRUE(says("Y = X; } function g(X; P) -> (Z) { Z = X; } function h(X) -> (Y) { Y = g(X); ",
                   "'g' needs attribute 'P'"));
  EXPECT_TRUE(
      says("Y = X; } function g(X) -> (Z, Q) { Z = X; Q = X; } function h(X) -> (Y) { Y = g(X); ",
           "'g' has 2 results; an expression needs 1"));
  EXPECT_TRUE(says("Y = X; } function f(X) -> (Z) { Z = X; ",
                   "function 'f' is defined already, in t.tile line 1"));
}

TEST(TileText, AFailedFileAddsNothing) {
  Library library;
  library.add("function f(X) -> (Y) { Y = X; }", "a.tile");
  EXPECT_THROW(
      library.add("function g(X) -> (Y) { Y = X; } function h(X) -> (Y) { Y = Z; }", "b.tile"),
      Error);
  EXPECT_EQ(library.functions(), std::vector<std::string>{"f"});
}

TEST(TileText, DeepNestingIsAnError) {
  const std::string deep = "nested deeper than 200 levels";
  const auto repeated = [](const std::string &text, int times) {
    std::string result;
    for (int i = 0; i < times; ++i)
      result += text;
    return result;
  };
  const int n = 10000;
  EXPECT_NE(
      mistakes(in_function("Y = " + repeated("(", n) + "X" + repeated(")", n) + ";")).find(deep),
      std::string::npos);
  EXPECT_NE(mistakes(in_function("Y = " + repeated("-", n) + "X;")).find(deep), std::string::npos);
  EXPECT_NE(
      mistakes(in_function("Y = " + repeated("exp(", n) + "X" + repeated(")", n) + ";")).find(deep),
      std::string::npos);
  EXPECT_NE(mistakes(in_function("Y = X" + repeated(" ? X : X", n) + ";")).find(deep),
            std::string::npos);
  EXPECT_NE(mistakes(in_function("Y = X" + repeated(" + X", n) + ";")).find(deep),
            std::string::npos);
  EXPECT_NE(mistakes(in_function("Y[n : N] = +(X[n, c" + repeated("*(1", n) + "]);")).find(deep),
            std::string::npos);
  EXPECT_EQ(mistakes(in_function("Y = " + repeated("(", 190) + "X" + repeated(")", 190) + ";")),
            "");
}

TEST(TileText, ManyMistakesAreCut) {
  std::string body;
  for (int i = 0; i < 100; ++i)
    body += "@;\n";
  const std::string message = mistakes(in_function(body));
  EXPECT_NE(message.find("t.tile: 80 more mistakes are not shown"), std::string::npos) << message;
}

} // namespace
} // namespace tilefuse::tile
