// SPDX-License-Identifier: Apache-2.0
// Every construct of the language on small tensors: the value by hand beside the text. A program is
// run by its definition (interpret.h).
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/index.h"
#include "tile/interpret.h"
#include "tile/tile.h"

namespace tilefuse::tile {
namespace {

using test::Values;

struct Case {
  std::string text; // its inputs are among kInputs
  Values result;
  Attributes attributes = {};
};

void PrintTo(const Case &c, std::ostream *out) { *out << c.text; }

const std::map<std::string, Values> kInputs = {
    {"A", {{4}, {1, 2, 3, 4}}},
    {"B", {{3}, {10, 20, 30}}},
    {"M", {{2, 3}, {1, 2, 3, 4, 5, 6}}},
    {"E", {{2, 3}, {1, 5, 2, 7, 7, 0}}},
    {"S", {{}, {7}}},
    {"P", {{4}, {12, 10, -8, 3}, DType::I32}},
    {"Q", {{4}, {10, 3, 1, 33}, DType::I32}},
    {"U", {{2}, {1, 200}, DType::U8}},
    {"C", {{4}, {1, 0, 0, 1}, DType::Bool}},
    {"x", {{2}, {5, 6}}},
};

// The names in the parameter list of the last function.
std::vector<std::string> inputs_of(const std::string &text) {
  const std::size_t open = text.find('(', text.rfind("function"));
  const std::string list = text.substr(open, text.find(')', open) - open);
  std::vector<std::string> names;
  for (std::size_t i = 1; i < list.size() && list[i] != ';'; ++i) {
    const bool begins = list[i - 1] == '(' || list[i - 1] == ' ' || list[i - 1] == '#';
    if (begins && kInputs.count(list.substr(i, 1)) != 0)
      names.push_back(list.substr(i, 1));
    if (list[i] == '[')
      i = list.find(']', i);
  }
  return names;
}

Values run(const Case &c, std::size_t output = 0) {
  std::map<std::string, std::pair<DType, program::Shape>> tensors;
  std::vector<std::vector<double>> data;
  for (const std::string &name : inputs_of(c.text)) {
    tensors[name] = {kInputs.at(name).type, kInputs.at(name).shape};
    data.push_back(kInputs.at(name).data);
  }
  const program::Program program = to_program(c.text, "t.tile", tensors, c.attributes);
  const program::TensorId out = program.outputs.at(output);
  return {program[out].shape, test::interpret(program, data)[at(out)], program[out].type};
}

class Language : public testing::TestWithParam<Case> {};

TEST_P(Language, HasTheValue) {
  const Values got = run(GetParam());
  EXPECT_EQ(got.shape, GetParam().result.shape);
  EXPECT_EQ(to_string(got.type), to_string(GetParam().result.type));
  ASSERT_EQ(got.data.size(), GetParam().result.data.size());
  for (std::size_t i = 0; i < got.data.size(); ++i)
    EXPECT_NEAR(got.data[i], GetParam().result.data[i], 1e-6) << "element " << i;
}

const std::vector<Case> kContractions = {
    {"function (A[N]) -> (O) { O[] = +(A[n]); }", {{}, {10}}},
    {"function (A[N]) -> (O) { O[] = *(A[n]); }", {{}, {24}}},
    {"function (A[N]) -> (O) { O[:] = >(A[n]); }", {{}, {4}}},
    {"function (A[N]) -> (O) { O[] = <(A[n]); }", {{}, {1}}},
    {"function (A[N]) -> (O) { O[n : N] = =(A[N - 1 - n]); }", {{4}, {4, 3, 2, 1}}},
    {"function (A[N]) -> (O) { O[n : N] ==(A[n]); }", {{4}, {1, 2, 3, 4}}},
    {"function (M[I, J], B[J]) -> (O) { O[i : I] = +(M[i, j] * B[j]); }", {{2}, {140, 320}}},
    {"function (M[I, J], B[J]) -> (O) { O[i : I] = >(M[i, j] + B[j]); }", {{2}, {33, 36}}},
    {"function (M[I, J], E[I, J]) -> (O) { O[i : I] = +(M[i, j] == E[i, j]); }",
     {{2}, {1, 0}, DType::I32}},
    {"function (M[I, J], E[I, J]) -> (O) { O[i : I] = >(M[i, j] == E[i, j]); }",
     {{2}, {1, 0}, DType::Bool}},
    {"function (E[I, J], B[J]) -> (O) {"
     "  M[i : I] = >(E[i, j]);"
     "  O[i : I] = +(E[i, j] == M[i] ? B[j]);"
     "}",
     {{2}, {20, 30}}},
    {"function (A[N]) -> (O) { O[n : N] = +(A[k]), n - k < N; }", {{4}, {1, 3, 6, 10}}},
    {"function (A[N]) -> (O) { O[x : 2] = +(A[2x]); }", {{2}, {1, 3}}},
    {"function (A[N]) -> (O) { O[x : 2] = +(A[2*x + 1]); }", {{2}, {2, 4}}},
    {"function (A[N]) -> (O) { O[x : 2*N - 1] = =(A[x/2]); }", {{7}, {1, 0, 2, 0, 3, 0, 4}}},
    {"function (A[N], B[K]) -> (O) { O[x : 2*N] = +(A[(x + k - 1)/2] * B[k]); }",
     {{8}, {20, 10 + 60, 40, 20 + 90, 60, 30 + 120, 80, 40}}},
    {"function (A[N]) -> (O) { O[2*x : 2*N] = =(A[x]); }", {{8}, {1, 0, 2, 0, 3, 0, 4, 0}}},
    {"function (A[N]) -> (O) { O[x : N + 2] = =(A[x - 1]); }", {{6}, {0, 1, 2, 3, 4, 0}}},
    {"function (A[N]) -> (O) { O[x : N - 2] = =(A[x]); }", {{2}, {1, 2}}},
    {"function (A[N]) -> (O) { O[x : 2] = +(A[x + i]), i < 2, x < 1; }", {{2}, {3, 0}}},
    {"function (A[N], B[K]) -> (O) { O[k : K] = =(A[k]), k < 1 default B; }", {{3}, {1, 20, 30}}},
    {"function (A[N], B[K]) -> (O) { O[k : K] = =(A[k]), k < 2 no_defract default B; }",
     {{3}, {1, 2, 30}}},
    {"function (A[N], B[K]) -> (O) { O[k : K] = =(A[k]), k < 2 default B no_defract; }",
     {{3}, {1, 2, 30}}},
    {"function (S[]) -> (O) { O[n : 2] = =(S[]); }", {{2}, {7, 7}}},
    {"function (S[], A[N]) -> (O) { O[n : N] = +(S[] * A[n]); }", {{4}, {7, 14, 21, 28}}},
    {"function (M[I, J]) -> (O) { O[i, 0 : I, 1] = +(M[i, j]); }", {{2, 1}, {6, 15}}},
    {"function (M[I, J]) -> (O) { O[j, i : J, I] = =(M[i, j]); }", {{3, 2}, {1, 4, 2, 5, 3, 6}}},
    {"function (A[N]) -> (O) { O[x : N] = =(A[-x + N - 1]); }", {{4}, {4, 3, 2, 1}}},
    {"function (A[N]; K) -> (O) { O[x : (N + K - 1)/K] = >(A[K*x + k]), k < K; }",
     {{2}, {3, 4}},
     {{"K", std::int64_t{3}}}},
    {"function (A[N]) -> (O) { O[x : mod(N, 3) + max(1, 2) - min(3, abs(-1))] = =(A[x]); }",
     {{2}, {1, 2}}},
};
INSTANTIATE_TEST_SUITE_P(Contractions, Language, testing::ValuesIn(kContractions));

const std::vector<Case> kPointwise = {
    {"function (A) -> (O) { O = -A*2 + 1 - A/2; }", {{4}, {-1.5, -4, -6.5, -9}}},
    {"function (A) -> (O) { O = A == 2 ? 10 : A != 3 ? 20 : 30; }", {{4}, {20, 10, 30, 20}}},
    {"function (A) -> (O) { O = A >= 2 && A < 4 || A <= 1; }", {{4}, {1, 1, 1, 0}, DType::Bool}},
    {"function (C) -> (O) { O = C ? 1.5 : 0; }", {{4}, {1.5, 0, 0, 1.5}}},
    {"function (P, Q) -> (O) { O = P & Q; }", {{4}, {8, 2, 0, 1}, DType::I32}},
    {"function (P, Q) -> (O) { O = P | Q; }", {{4}, {14, 11, -7, 35}, DType::I32}},
    {"function (P, Q) -> (O) { O = P ^ Q; }", {{4}, {6, 9, -7, 34}, DType::I32}},
    {"function (P) -> (O) { O = ~P; }", {{4}, {-13, -11, 7, -4}, DType::I32}},
    {"function (P) -> (O) { O = P << 2; }", {{4}, {48, 40, -32, 12}, DType::I32}},
    {"function (P) -> (O) { O = P >> 1; }", {{4}, {6, 5, -4, 1}, DType::I32}},
    {"function (P, Q) -> (O) { O = P << Q; }",
     {{4}, {12288, 80, -16, 6}, DType::I32}}, // 33 is 1 modulo 32
    {"function (U) -> (O) { O = ~U & 255; }", {{2}, {254, 55}, DType::U8}},
    {"function (C) -> (O) { O = ~C | C & C ^ C; }", {{4}, {0, 1, 1, 0}, DType::Bool}},
    {"function (P) -> (O) { O = P & 3 == 3 ? 1 : 0; }", // binds as in C: P & (3 == 3)
     {{4}, {0, 0, 0, 1}}},
    {"function (P) -> (O) { O = abs(min(P, 5)) + max(P, 0); }", {{4}, {17, 15, 8, 6}, DType::I32}},
    {"function (A) -> (O) { O = relu(A - 3) + ident(A); }", {{4}, {1, 2, 3, 5}}},
    {"function (A) -> (O) { O = sigmoid(A - 1) * 2; }", {{4}, {1, 1.462117, 1.761594, 1.905148}}},
    {"function (S) -> (O) { O = exp(log(S)) + sqrt(S + 2) + pow(S, 2); }", {{}, {59}}},
    {"function (S) -> (O) { O = tanh(S - 7) + sin(S - 7) + cos(S - 7) + tan(S - 7); }", {{}, {1}}},
    {"function (S) -> (O) { O = sinh(S - 6) + cosh(S - 6); }", {{}, {2.718282}}},
    {"function (A) -> (O) { O = floor(A/2) + ceil(A/2) * 10 + round(A/4) * 100; }",
     {{4}, {10, 11, 121, 122}}},
    {"function (M) -> (O) { T = softmax(M); O[] = +(T[i, j]); }", {{}, {2}}},
    {"function (M[X, Y]) -> (O) { O = exp(builtin_logsoftmax(M, X, Y)) - builtin_softmax(M, X, Y); "
     "}",
     {{2, 3}, {0, 0, 0, 0, 0, 0}}},
    {"function (B) -> (O) { O = softmax(B/10); }", {{3}, {0.090031, 0.244728, 0.665241}}},
    {"function (A) -> (O) { O = builtin_binary_crossentropy(A/8, 1, 4); }",
     {{4}, {2.079442, 1.386294, 0.980829, 0.693147}}},
    {"function (M) -> (O) { O = index(M, 0)*10 + index(M, 1); }",
     {{2, 3}, {0, 1, 2, 10, 11, 12}, DType::I32}},
    {"function (M) -> (O) { O = index(M, 1); }", {{2, 3}, {0, 1, 2, 0, 1, 2}, DType::I32}},
    {"function (M) -> (O) { O = shape(M); }", {{2}, {2, 3}, DType::I32}},
    {"function (M[I, J]) -> (O) { O = reshape(M, J, I); }", {{3, 2}, {1, 2, 3, 4, 5, 6}}},
    {"function (A) -> (O) { O = as_int(A*2, 32); }", {{4}, {2, 4, 6, 8}, DType::I32}},
    {"function (A) -> (O) { O = as_uint(A, 8); }", {{4}, {1, 2, 3, 4}, DType::U8}},
    {"function (P) -> (O) { O = as_float(P, 16); }", {{4}, {12, 10, -8, 3}, DType::F16}},
    {"function (P) -> (O) { O = cast_bf16(P) + cast_i8(P); }",
     {{4}, {24, 20, -16, 6}, DType::BF16}},
    {"function (P, A) -> (O) { O = P + A; }", {{4}, {13, 12, -5, 7}}},
    {"function (A, M) -> (O) { O = cond(cast_i32(A) > 2, 1, 0) + 0*A; }", {{4}, {0, 0, 1, 1}}},
    {"function (f32 A[N], i32 P) -> (O) { O = A*N; }", {{4}, {4, 8, 12, 16}}},
};
INSTANTIATE_TEST_SUITE_P(Pointwise, Language, testing::ValuesIn(kPointwise));

const std::vector<Case> kFunctions = {
    {"function twice(X) -> (Y) { Y = 2*X; } function f(A) -> (O) { O = twice(twice(A)); }",
     {{4}, {4, 8, 12, 16}}},
    {"function both(X[N]; K = 1) -> (Y, Z) { Y[n : K*N] = =(X[n]); Z = X - K; }"
     "function f(A) -> (O) { P, Q = both(A; K = 2); O = reshape(P, 2, 4) + Q; }",
     {{2, 4}, {0, 2, 4, 6, -1, 0, 1, 2}}},
    {"function both(X) -> (Y, Z) { Y = X + 1; Z = X - 1; }"
     "function f(A) -> (O) { O, T = both(A); }",
     {{4}, {2, 3, 4, 5}}},
    {"function (A[N]) -> (O) { M = (N + 1)/2; K = M*2; O[n : K] = +(A[n + k]), k < M; }",
     {{4}, {3, 5, 7, 4}}},
    {"function (A[N]) -> (O) { M = N/3; O = A*M; }", {{4}, {1, 2, 3, 4}}},
    {"function (A[N]; R = 0.5) -> (O) { M = R*N; O = A*M; }", {{4}, {2, 4, 6, 8}}},
    {"function (#x[#n]) -> (O) { O[$I : #n] = =(#x[$I]); }", {{2}, {5, 6}}},
    {"function (A[N]) -> (O) { A' = A + 1; O[i' : N] = =(A'[i']); }", {{4}, {2, 3, 4, 5}}},
    {"function (A[N]) -> (O) { [[pid(one, two)]] [[hint]] T[n : N] = +(A[n]); [[last]] O = T; }",
     {{4}, {1, 2, 3, 4}}},
    {"function relu(X) -> (Y) { Y = relu(X) + 100; } function f(A) -> (O) { O = relu(A); }",
     {{4}, {101, 102, 103, 104}}},
    {"function f(; K) -> (O) { O = fill(K/4, 2); }", {{2}, {0.5, 0.5}}, {{"K", std::int64_t{2}}}},
    {"function f(A[4]) -> (O) { T = A; U = T; O = T; }", {{4}, {1, 2, 3, 4}}},
};
INSTANTIATE_TEST_SUITE_P(Functions, Language, testing::ValuesIn(kFunctions));

TEST(LanguageResults, AreSeveral) {
  const Case c{"function f(A[N]) -> (O, P) { O[] = +(A[n]); P = A + 1; }", {}};
  EXPECT_EQ(run(c, 0).data, std::vector<double>{10});
  EXPECT_EQ(run(c, 1).data, (std::vector<double>{2, 3, 4, 5}));
}

} // namespace
} // namespace tilefuse::tile
