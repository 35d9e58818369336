// SPDX-License-Identifier: Apache-2.0
// From functions and shapes to program statements: text of small programs, and what is said when
// shapes do not fit.
#include <gtest/gtest.h>

#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "program/host_tensor.h"
#include "tile/tile.h"

namespace tilefuse::tile {
namespace {

using program::Program;
using program::Shape;
using program::TensorId;
using Tensors = std::map<std::string, std::pair<DType, Shape>>;

Tensors f32(const std::map<std::string, Shape> &shapes) {
  Tensors tensors;
  for (const auto &[name, shape] : shapes)
    tensors[name] = {DType::F32, shape};
  return tensors;
}

std::string error_of(const std::string &text, const Tensors &tensors,
                     const Attributes &attributes = {}) {
  try {
    to_program(text, "t.tile", tensors, attributes);
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

const program::Tensor &result(const Program &program) { return program[program.outputs.at(0)]; }

// "; A, B"
std::string declarations(const Attributes &attributes) {
  std::vector<std::string> names;
  for (const auto &[name, value] : attributes)
    names.push_back(name);
  return names.empty() ? "" : fmt::format("; {}", fmt::join(names, ", "));
}

// The body of a function of X with result Y, and the text of its program without the declaration
// lines.
Program body(const std::string &statements, const Tensors &tensors,
             const Attributes &attributes = {}) {
  std::vector<std::string> names;
  for (const auto &[name, tensor] : tensors)
    names.push_back(name);
  const std::string text = fmt::format("function f({}{}) -> (Y) {{ {} }}", fmt::join(names, ", "),
                                       declarations(attributes), statements);
  return to_program(text, "t.tile", tensors, attributes);
}

std::string map_text(const std::string &expression, const Tensors &tensors,
                     const Attributes &attributes = {}) {
  const Program p = body("Y = " + expression + ";", tensors, attributes);
  return program::to_text(std::get<program::Map>(p.statements.at(0).body).expr) + " " +
         std::string(to_string(result(p).type));
}

TEST(TileInstantiate, ConvolutionBecomesAContraction) {
  const Program p =
      to_program(R"(
    function conv(I[N, C, W], K[M, C, S]; SX = 1, PX = 0, OX) -> (O) {
      T[n, m, x : N, M, OX] = +(I[n, c, SX*x + s - PX] * K[m, c, s]), s < S - 1;
      O = max(T, 0);
    })",
                 "t.tile", f32({{"I", {1, 3, 8}}, {"K", {4, 3, 3}}}),
                 {{"SX", std::int64_t{2}}, {"PX", std::int64_t{1}}, {"OX", std::int64_t{4}}});
  const std::string text = program::to_text(p);
  EXPECT_NE(
      text.find(
          "sum[n, m, x, c, s](%0[n, c, 2*x + s - 1] * %1[m, c, s]) -> [n, m, x] where 0 <= s < 2"),
      std::string::npos)
      << text;
  EXPECT_EQ(p.statements.size(), 2U);
  EXPECT_EQ(p.statements[0].origin, "t.tile:3");
  EXPECT_EQ(result(p).shape, (Shape{1, 4, 4}));
  EXPECT_EQ(p.inputs.size(), 2U);
  EXPECT_EQ(p.name, "conv");
}

TEST(TileInstantiate, SubscriptsKeepFractionsOnceAnIndexIsDivided) {
  const Program p = body("T[n : N] = +(X[(n + 3)/2 + (N - 1)/2]); Y = T;", f32({{"X", {5}}}),
                         {{"N", std::int64_t{4}}});
  const auto &c = std::get<program::Contraction>(p.statements.at(0).body);
  EXPECT_EQ(c.in[0].subscripts[0].coeff[0], Rational(1, 2));
  EXPECT_EQ(c.in[0].subscripts[0].constant, Rational(5, 2));
}

TEST(TileInstantiate, ElementsOfATensorAreSubscripts) {
  const Program p = body("Y[o, in : 2, 3] = +(X[o, J[in], in]);",
                         {{"X", {DType::F32, {2, 5, 3}}}, {"J", {DType::I32, {3}}}});
  const std::string text = program::to_text(p);
  EXPECT_NE(text.find("sum[o, in, _at"), std::string::npos) << text;
  const auto &c = std::get<program::Contraction>(p.statements.at(0).body);
  EXPECT_EQ(c.comb, program::Comb::Pick);
  EXPECT_EQ(c.in.size(), 2U);
  EXPECT_EQ(c.picks.size(), 1U);
  EXPECT_TRUE(program::is_index(c.in[0].subscripts[1], c.picks[0]));
}

TEST(TileInstantiate, SizesDivideWithoutFraction) {
  const Program p = to_program("function f(X[N]) -> (Y) { Y[n : (N + 2)/2 - -1] = =(X[n]); }",
                               "t.tile", f32({{"X", {5}}}), {});
  EXPECT_EQ(result(p).shape, (Shape{4}));
}

TEST(TileInstantiate, MapsBroadcastAndTakeTypes) {
  EXPECT_EQ(result(body("Y = A + B;", f32({{"A", {2, 1, 4}}, {"B", {3, 1}}}))).shape,
            (Shape{2, 3, 4}));
  EXPECT_EQ(result(body("Y = A < B;", f32({{"A", {2}}, {"B", {1}}}))).type, DType::Bool);
  const Tensors mixed{{"A", {DType::F16, {2}}}, {"B", {DType::F32, {2}}}};
  EXPECT_EQ(result(body("Y = A*B;", mixed)).type, DType::F32);
  EXPECT_EQ(result(body("Y = cast_like(A*B, A);", mixed)).type, DType::F16);
  EXPECT_EQ(result(body("Y[n : 2] = +(A[n] * B[n]);", mixed)).type, DType::F32);
  EXPECT_EQ(result(body("Y[n : 2] = +(A[n] * A[n]);", mixed)).type, DType::F16) << "B is unused";
  EXPECT_EQ(result(body("Y = max(A, 0);", {{"A", {DType::I8, {2}}}})).type, DType::I8);
}

TEST(TileInstantiate, NumbersFold) {
  const Tensors x = f32({{"X", {2}}});
  const Attributes a{{"A", 3.0}, {"K", std::int64_t{4}}};
  EXPECT_EQ(map_text("X + A*K - 1", x, a), map_text("X + 12 - 1", x, a));
  EXPECT_EQ(map_text("X*(1/K)", x, a), map_text("X*0.25", x, a));
  EXPECT_EQ(map_text("X + (A > K ? 1 : 2)", x, a), map_text("X + 2", x, a));
  EXPECT_EQ(map_text("max(1*X/1, X*(K - A)*2)", x, a), map_text("max(X, X*2)", x, a));
  EXPECT_EQ(map_text("X + sqrt(K)", x, a), map_text("X + 2", x, a));
}

TEST(TileInstantiate, IdentitiesMakeNoStatement) {
  const Program p =
      body("T = X; U = reshape(T, 2, 3); V = broadcast(U, 2, 3); Y = permute(V, 0, 1)*1;",
           f32({{"X", {2, 3}}}));
  EXPECT_TRUE(p.statements.empty());
  EXPECT_EQ(p.outputs, p.inputs);
}

TEST(TileInstantiate, PermutesByViewWhereNothingMoves) {
  const auto first = [](const Shape &shape, const std::string &axes) {
    return body("Y = permute(X, " + axes + ");", f32({{"X", shape}}));
  };
  EXPECT_TRUE(std::holds_alternative<program::View>(
      first({1, 5, 1, 3}, "1, 0, 3, 2").statements.at(0).body));
  const Program moved = first({2, 5, 1, 3}, "0, 3, 1, 2");
  EXPECT_EQ(result(moved).shape, (Shape{2, 3, 5, 1}));
  EXPECT_NE(program::to_text(moved).find(
                "assign[i0, i1, i2, i3](%0[i0, i2, i3, i1]) -> [i0, i1, i2, i3]"),
            std::string::npos)
      << program::to_text(moved);
}

TEST(TileInstantiate, FillsHoldData) {
  const Program p = to_program(
      "function f(X[N]; V) -> (Y) { F = fill_like(X, V/2, N, 2); G = fill(3, 1); Y = F + G; }",
      "t.tile", {{"X", {DType::F16, {3}}}}, {{"V", 5.0}});
  const program::Tensor &f = p.tensors.at(1);
  EXPECT_EQ(f.role, program::Role::Constant);
  EXPECT_EQ(f.type, DType::F16);
  EXPECT_EQ(f.shape, (Shape{3, 2}));
  EXPECT_EQ(load_element(f.data->data(), f.type, 5), 2.5);
  EXPECT_EQ(p.tensors.at(2).type, DType::F32);
}

TEST(TileInstantiate, CallsInlineWithAttributes) {
  const std::string text = R"(
    function scaled(X; A, B = 1) -> (Y) { Y = A*X + B; }
    function f(X[N, C]; K = 2) -> (Y) { Y = scaled(X - 1; A = K*C) / scaled(X; A = 0.5, B = N); })";
  const Program p = to_program(text, "t.tile", f32({{"X", {2, 3}}}), {});
  ASSERT_EQ(p.statements.size(), 4U);
  EXPECT_EQ(p.statements[0].origin, "t.tile:3");
  EXPECT_EQ(p.statements[1].origin, "t.tile:2");
  EXPECT_NE(program::to_text(std::get<program::Map>(p.statements[1].body).expr).find("6"),
            std::string::npos);
}

TEST(TileInstantiate, OriginIsPassedOn) {
  Library library;
  library.add(
      "function g(X) -> (Y) { Y = X + 1; } function f(X) -> (Y) { T = reshape(X, 4); Y = g(T); }",
      "t.tile");
  Program p;
  const TensorId x =
      p.add({.name = "x", .type = DType::F32, .shape = {2, 2}, .role = program::Role::Input});
  p.inputs = {x};
  p.outputs = library.instantiate("f", std::vector{x}, {}, p, "Conv 'c\"1'");
  for (const program::Statement &statement : p.statements)
    EXPECT_EQ(statement.origin, "Conv 'c\"1'");
  program::verify(p);
  EXPECT_THROW(library.instantiate("h", std::vector{x}, {}, p, "n"), Error);
}

TEST(TileInstantiate, ShapeMistakesNameOriginLineGotAndNeeded) {
  Library library;
  library.add("function g(I[N, C], K[M, C]) -> (O) { O[n, m : N, M] = +(I[n, c] * K[m, c]); }\n"
              "function f(I, K) -> (O) {\n  O = 1 + g(I, K);\n}\n",
              "t.tile");
  Program p;
  const TensorId i = p.add({.name = "i", .type = DType::F32, .shape = {2, 3}});
  const TensorId k = p.add({.name = "k", .type = DType::F32, .shape = {5, 4}});
  try {
    library.instantiate("f", std::vector{i, k}, {}, p, "Gemm 'fc'");
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.code(), ErrorCode::Shape);
    EXPECT_STREQ(error.what(), "Gemm 'fc': error: g: dimension 1 of K[M, C] is 4 in f32[5, 4], "
                               "need 3 as in I[N, C] f32[2, 3]\n"
                               "note: in g at t.tile:1:21\n"
                               "note: in f at t.tile:3:11");
  }
}

TEST(TileInstantiate, ReportsBinding) {
  const std::string text = "function f(X[N, 1], Z[N]; A, B = 2) -> (Y) { Y = X*A + Z*B; }";
  const auto say = [&](const Shape &x, const Shape &z, const Attributes &attributes) {
    const std::string what = error_of(text, f32({{"X", x}, {"Z", z}}), attributes);
    return what.substr(0, what.find('\n'));
  };
  const Attributes a{{"A", 1.0}};
  EXPECT_EQ(say({2, 1}, {2}, a), "");
  EXPECT_EQ(say({2}, {2}, a), "t.tile:1:12: error: f: X is f32[2], need 2 dimensions: X[N, 1]");
  EXPECT_EQ(say({2, 3}, {2}, a),
            "t.tile:1:12: error: f: dimension 1 of X[N, 1] is 3 in f32[2, 3], need 1");
  EXPECT_EQ(
      say({2, 1}, {3}, a),
      "t.tile:1:21: error: f: dimension 0 of Z[N] is 3 in f32[3], need 2 as in X[N, 1] f32[2, 1]");
  EXPECT_EQ(say({2, 1}, {2}, {}), "t.tile:1:27: error: f: needs attribute A");
  EXPECT_EQ(say({2, 1}, {2}, {{"A", 1.0}, {"Q", 1.0}}),
            "t.tile:1:10: error: f: got attribute Q, it takes: A, B");
  EXPECT_EQ(
      error_of(text, f32({{"X", {2, 1}}}), a),
      "t.tile: error: f needs the type and shape of tensor Z\nnote: --tensor \"Z=f32[1, 3, 8, "
      "8]\" gives them; --function names another function");
  EXPECT_EQ(error_of(text, f32({{"X", {2, 1}}, {"Z", {2}}, {"Q", {2}}}), a),
            "t.tile: error: 3 tensors are given, f takes 2");
  EXPECT_EQ(error_of(text, f32({{"X", {2, 1}}, {"Z", {0}}}), a),
            "t.tile: error: tensor Z has a size below 1");
  EXPECT_EQ(error_of("// nothing", {}), "t.tile: error: the text holds no function");
}

TEST(TileInstantiate, ReportsStatements) {
  const auto say = [](const std::string &statements, const Attributes &attributes = {}) {
    const std::string text = fmt::format("function f(X[N, C], B{}) -> (Y) {{ {} }}",
                                         declarations(attributes), statements);
    const Tensors tensors{{"X", {DType::F32, {2, 3}}}, {"B", {DType::Bool, {4}}}};
    const std::string what = error_of(text, tensors, attributes);
    const std::size_t begin = what.find("f: ");
    return begin == std::string::npos ? what : what.substr(begin, what.find('\n') - begin);
  };
  const std::int64_t big = std::int64_t{1} << 62;
  EXPECT_EQ(say("Y = X + B;"),
            "f: bool[4] does not broadcast with [2, 3]: 4 against 3; sizes must be equal or 1");
  EXPECT_EQ(say("Y = relu(1 + 2);"), "f: a number is no tensor; fill(VALUE, D0, …) makes one");
  EXPECT_EQ(say("Y = reshape(X, 5);"), "f: f32[2, 3] has 6 elements, [5] needs 5");
  EXPECT_EQ(say("Y = reshape(X, N - 2, 3);"), "f: a size is 0, it must be at least 1");
  EXPECT_EQ(say("Y = broadcast(X, 4, 2, 4);"), "f: f32[2, 3] does not broadcast to [4, 2, 4]");
  EXPECT_EQ(say("Y = permute(X, 0, 0);"), "f: axis 0 of f32[2, 3] is named twice");
  EXPECT_EQ(say("Y = permute(X, 0, 2);"), "f: axis 2 of f32[2, 3] is not there");
  EXPECT_EQ(say("Y = permute(X, 0);"), "f: got 1 axes, f32[2, 3] has 2");
  EXPECT_EQ(say("Y = permute(X, 0, 1 - 2);"), "f: axis -1 of f32[2, 3] is not there");
  EXPECT_EQ(say("Y[n : N] = +(B[n, 0]);"), "f: B is bool[4], got 2 subscripts");
  EXPECT_EQ(say("Y[n : 4] = +(X[B[n], 0]);"),
            "f: B is bool[4], a subscript needs integers; cast it, as in cast_i32(B)");
  EXPECT_EQ(say("Y[n : 4] = +(X[B[n, 0], 0]);"), "f: B is bool[4], got 2 subscripts");
  EXPECT_EQ(say("Y[n : 4] = +(B[n]);"),
            "f: bool has no sums and products; cast the operands, as in cast_i32(X)");
  EXPECT_EQ(say("Y[n : N] = =(X[n, c]);"),
            "f: index c takes several values for one element of the result; '=' assigns once");
  EXPECT_EQ(say("Y[n : N] = =(X[n, 2*c]), c < 2;").substr(0, 10), "f: index c");
  EXPECT_EQ(say("Y[n : N] = =(X[n, 3*c + 1]);"), "");
  EXPECT_EQ(say("Y[n : N] = =(X[n, c]), c < 1;"), "");
  EXPECT_EQ(say("Y[n : N] = +(X[n, c]), c < N - 2;"),
            "f: the constraint's bound is 0, it must be at least 1");
  EXPECT_EQ(say("Y[n : N] = +(X[n, c]) default B;"), "f: default B is bool[4], need f32[2]");
  EXPECT_EQ(say("Y[n : N/(N - 2)] = +(X[n, c]);"), "f: 2 is divided by zero");
  EXPECT_EQ(say("Y[n : A] = +(X[n, c]);", {{"A", 0.5}}), "f: A is 0.5, an integer is needed here");
  EXPECT_EQ(say("Y[n : A*4] = +(X[n, c]);", {{"A", big}}),
            "f: 4611686018427387904 * 4 does not fit in 64 bits");
  EXPECT_EQ(say("Y[n, m : A, 4] = =(X[n, m]);", {{"A", big}}),
            "f: Y[4611686018427387904, 4, …] has more than 2^62 elements");
  EXPECT_EQ(say("Y[n : N] = +(X[n, A*c]);", {{"A", big}}),
            "f: 4611686018427387904 * 1 does not fit in 62 bits");
  EXPECT_EQ(say("Y = fill(1, A, 2) + X;", {{"A", std::int64_t{1} << 40}}),
            "f: [1099511627776, 2] has 2199023255552 elements, the constants of a function have at "
            "most 67108864");
}

TEST(TileInstantiate, ManyNestedCallsAreAnError) {
  std::string deep = "function f0(X) -> (Y) { Y = X + 1; }";
  std::string wide = deep;
  for (int i = 1; i <= 100; ++i) {
    deep += fmt::format("function f{}(X) -> (Y) {{ Y = f{}(X); }}", i, i - 1);
    if (i <= 40)
      wide += fmt::format("function f{0}(X) -> (Y) {{ Y = f{1}(X) + f{1}(X); }}", i, i - 1);
  }
  EXPECT_NE(error_of(deep, f32({{"X", {1}}})).find("functions are nested deeper than 64 calls"),
            std::string::npos);
  EXPECT_NE(error_of(wide, f32({{"X", {1}}})).find("more than 100000 statements"),
            std::string::npos);
}

} // namespace
} // namespace tilefuse::tile
