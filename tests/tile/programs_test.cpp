// SPDX-License-Identifier: Apache-2.0
// Whole programs of several statements and functions, against their definition as loops in double.
// Each runs twice: by its definition (interpret.h), and flattened to nests in the types it says.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "base/index.h"
#include "nest/evaluate/reference.h"
#include "tile/interpret.h"
#include "tile/tile.h"

namespace tilefuse::tile {
namespace {

using I = std::int64_t;
using List = std::vector<double>;
using Inputs = std::vector<std::pair<std::string, test::Values>>;

// Element [i, j] of a matrix with `columns` columns.
double at(const List &data, I columns, I i, I j) {
  return data[static_cast<std::size_t>(i * columns + j)];
}

program::Bytes bytes_of(const program::Tensor &tensor, const List &data) {
  program::HostTensor host = program::make_host_tensor(tensor.name, tensor.type, tensor.shape);
  for (std::size_t i = 0; i < data.size(); ++i)
    program::set(host, static_cast<I>(i), data[i]);
  return host.data;
}

// Every output, from the nests of the program's statements.
std::vector<List> flattened(const program::Program &program, const std::vector<List> &inputs) {
  std::vector<program::Bytes> bytes(program.tensors.size());
  std::vector<const program::Bytes *> data(program.tensors.size(), nullptr);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    bytes[static_cast<std::size_t>(program.inputs[i])] =
        bytes_of(program[program.inputs[i]], inputs[i]);
  for (std::size_t i = 0; i < data.size(); ++i)
    data[i] = program.tensors[i].data ? program.tensors[i].data.get() : &bytes[i];
  std::map<program::TensorId, program::HostTensor> results;
  for (const program::Statement &statement : program.statements) {
    program::HostTensor result = nest::run_statement(program, statement, data);
    bytes[static_cast<std::size_t>(statement.out)] = result.data;
    results[statement.out] = std::move(result);
  }
  std::vector<List> outputs;
  for (const program::TensorId out : program.outputs) {
    List list;
    for (I i = 0; i < program::elems(program[out].shape); ++i)
      list.push_back(program::get(results.at(out), i));
    outputs.push_back(std::move(list));
  }
  return outputs;
}

void expect_near(const List &got, const List &want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i)
    EXPECT_NEAR(got[i], want[i], tolerance * (1 + std::abs(want[i]))) << "element " << i;
}

// The last function of `text` on inputs in the order of its parameters gives `want`, by result.
void expect_values(const std::string &text, const Inputs &inputs, const std::vector<List> &want,
                   const Attributes &attributes = {}) {
  std::map<std::string, std::pair<DType, program::Shape>> tensors;
  std::vector<List> data;
  for (const auto &[name, values] : inputs) {
    tensors[name] = {values.type, values.shape};
    data.push_back(values.data);
  }
  const program::Program program = to_program(text, "t.tile", tensors, attributes);
  ASSERT_EQ(program.outputs.size(), want.size());
  const std::vector<List> interpreted = test::interpret(program, data);
  const std::vector<List> nests = flattened(program, data);
  for (std::size_t i = 0; i < want.size(); ++i) {
    SCOPED_TRACE("result " + std::to_string(i));
    expect_near(interpreted[static_cast<std::size_t>(program.outputs[i])], want[i], 1e-6);
    expect_near(nests[i], want[i], 1e-5);
  }
}

List softmax_rows(const List &x, I rows, I columns) {
  List result;
  for (I r = 0; r < rows; ++r) {
    double total = 0;
    for (I c = 0; c < columns; ++c)
      total += std::exp(at(x, columns, r, c));
    for (I c = 0; c < columns; ++c)
      result.push_back(std::exp(at(x, columns, r, c)) / total);
  }
  return result;
}

constexpr const char *kSoftmax = R"(
function softmax_rows(X[R, C]) -> (Y) {
  M[r, k : R, 1] = >(X[r, c]);
  E = exp(X - M);
  S[r, k : R, 1] = +(E[r, c]);
  Y = E/S;
}
)";

TEST(Programs, ConvolutionBiasReluPool) {
  const test::Values x = test::numbers({1, 7}), w = test::numbers({3, 3}, 2),
                     b = test::numbers({3}, 3);
  List pooled;
  for (I m = 0; m < 3; ++m)
    for (I o = 0; o < 3; ++o) {
      double best = 0;
      for (I p = 2 * o; p < 2 * o + 2; ++p) {
        double sum = b.data[static_cast<std::size_t>(m)];
        for (I k = 0; k < 3; ++k)
          sum += p + k - 1 < 0 || p + k - 1 >= 7
                     ? 0
                     : at(x.data, 7, 0, p + k - 1) * at(w.data, 3, m, k);
        best = std::max(best, sum);
      }
      pooled.push_back(best);
    }
  expect_values(R"(
function conv(X[N, W], K[M, S]) -> (Y) { Y[n, m, x : N, M, W] = +(X[n, x + s - 1]*K[m, s]); }
function relu(X) -> (Y) { Y = X < 0 ? 0 : X; }
function pool(X[N, M, W]; K) -> (Y) { Y[n, m, x : N, M, W/K] = >(X[n, m, K*x + j]), j < K; }
function (X[N, W], K[M, S], B[M]) -> (Y) { Y = pool(relu(conv(X, K) + reshape(B, M, 1)); K = 2); }
)",
                {{"X", x}, {"K", w}, {"B", b}}, {pooled});
}

TEST(Programs, BatchNormalizationOfABatch) {
  const I n = 5, c = 3;
  const test::Values x = test::numbers({n, c}), scale = test::numbers({c}, 2),
                     bias = test::numbers({c}, 3);
  List y(static_cast<std::size_t>(n * c)), means, variances;
  for (I j = 0; j < c; ++j) {
    double mean = 0, variance = 0;
    for (I i = 0; i < n; ++i)
      mean += at(x.data, c, i, j) / double(n);
    for (I i = 0; i < n; ++i)
      variance += (at(x.data, c, i, j) - mean) * (at(x.data, c, i, j) - mean) / double(n);
    for (I i = 0; i < n; ++i)
      y[static_cast<std::size_t>(i * c + j)] = (at(x.data, c, i, j) - mean) /
                                                   std::sqrt(variance + 0.5) *
                                                   scale.data[static_cast<std::size_t>(j)] +
                                               bias.data[static_cast<std::size_t>(j)];
    means.push_back(mean);
    variances.push_back(variance);
  }
  expect_values(R"(
function mean(X[N, C]) -> (M) { S[c : C] = +(X[n, c]); M = S/N; }
function (X[N, C], SCALE[C], BIAS[C]; EPSILON) -> (Y, M, V) {
  M = mean(X);
  Z = X - M;
  V = mean(Z*Z);
  Y = Z/sqrt(V + EPSILON)*SCALE + BIAS;
}
)",
                {{"X", x}, {"SCALE", scale}, {"BIAS", bias}}, {y, means, variances},
                {{"EPSILON", 0.5}});
}

TEST(Programs, SoftmaxOfTwoOperands) {
  const test::Values a = test::numbers({3, 4}), b = test::numbers({3, 4}, 2);
  const List left = softmax_rows(a.data, 3, 4), right = softmax_rows(b.data, 3, 4);
  List want;
  for (std::size_t i = 0; i < left.size(); ++i)
    want.push_back(left[i] * std::log(right[i]));
  expect_values(std::string(kSoftmax) +
                    "function (A, B) -> (Y) { Y = softmax_rows(A)*log(softmax_rows(B)); }",
                {{"A", a}, {"B", b}}, {want});
}

TEST(Programs, LayerNormalization) {
  const I rows = 3, columns = 4;
  const test::Values x = test::numbers({rows, columns}), scale = test::numbers({columns}, 2);
  List want;
  for (I r = 0; r < rows; ++r) {
    double mean = 0, square = 0;
    for (I c = 0; c < columns; ++c) {
      mean += at(x.data, columns, r, c) / double(columns);
      square += at(x.data, columns, r, c) * at(x.data, columns, r, c) / double(columns);
    }
    for (I c = 0; c < columns; ++c)
      want.push_back((at(x.data, columns, r, c) - mean) / std::sqrt(square - mean * mean + 0.25) *
                     scale.data[static_cast<std::size_t>(c)]);
  }
  expect_values(R"(
function (X[R, C], SCALE[C]) -> (Y) {
  T[r, k : R, 1] = +(X[r, c]);
  Z = X - T/C;
  V[r, k : R, 1] = +(Z[r, c]*Z[r, c]);
  Y = Z/sqrt(V/C + 0.25)*SCALE;
}
)",
                {{"X", x}, {"SCALE", scale}}, {want});
}

TEST(Programs, Attention) {
  const I tokens = 4, width = 3;
  const test::Values q = test::numbers({tokens, width}), k = test::numbers({tokens, width}, 2),
                     v = test::numbers({tokens, width}, 3);
  List scores, want;
  for (I i = 0; i < tokens; ++i)
    for (I j = 0; j < tokens; ++j) {
      double dot = 0;
      for (I d = 0; d < width; ++d)
        dot += at(q.data, width, i, d) * at(k.data, width, j, d);
      scores.push_back(dot / std::sqrt(double(width)));
    }
  const List share = softmax_rows(scores, tokens, tokens);
  for (I i = 0; i < tokens; ++i)
    for (I d = 0; d < width; ++d) {
      double sum = 0;
      for (I j = 0; j < tokens; ++j)
        sum += at(share, tokens, i, j) * at(v.data, width, j, d);
      want.push_back(sum);
    }
  expect_values(std::string(kSoftmax) + R"(
function (Q[T, D], K[T, D], V[T, D]) -> (Y) {
  S[i, j : T, T] = +(Q[i, d]*K[j, d]);
  P = softmax_rows(S/sqrt(D));
  Y[i, d : T, D] = +(P[i, j]*V[j, d]);
}
)",
                {{"Q", q}, {"K", k}, {"V", v}}, {want});
}

TEST(Programs, CumulativeSumMaximumAndProduct) {
  const test::Values x = test::numbers({6});
  List sums, maxima, products;
  for (std::size_t i = 0; i < x.data.size(); ++i) {
    sums.push_back(x.data[i] + (i == 0 ? 0 : sums[i - 1]));
    maxima.push_back(i == 0 ? x.data[i] : std::max(x.data[i], maxima[i - 1]));
    products.push_back(x.data[i] / 4 * (i == 0 ? 1 : products[i - 1]));
  }
  expect_values(R"(
function (X[N]) -> (S, M, P) {
  S[i : N] = +(X[i - j]), j < N;
  M[i : N] = >(X[i - j]), j < N;
  Z = X/4.0;
  P[i : N] = *(Z[i - j]), j < N;
}
)",
                {{"X", x}}, {sums, maxima, products});
}

TEST(Programs, TransposedConvolutionWithASkip) {
  const test::Values x = test::numbers({4}), k = test::numbers({3}, 2),
                     skip = test::numbers({9}, 3);
  List want = skip.data;
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 3; ++j)
      want[2 * i + j] += x.data[i] * k.data[j];
  expect_values(R"(
function up(X[N], K[S]) -> (Y) { Y[y : 2*N + 1] = +(X[(y - s)/2]*K[s]); }
function (X[N], K[S], B[M]) -> (Y) { Y = up(X, K) + B; }
)",
                {{"X", x}, {"K", k}, {"B", skip}}, {want});
}

TEST(Programs, EvenElementsWrittenOverADefault) {
  const test::Values x = test::numbers({4}), d = test::numbers({8}, 2);
  List filled = d.data, sum;
  for (std::size_t i = 0; i < 4; ++i)
    filled[2 * i] = x.data[i];
  for (std::size_t i = 0; i + 1 < 8; ++i)
    sum.push_back(filled[i] + filled[i + 1]);
  expect_values(R"(
function (X[N], D[M]) -> (Y) {
  F[2*n : M] = =(X[n]) default D;
  Y[i : M - 1] = +(F[i + j]), j < 2;
}
)",
                {{"X", x}, {"D", d}}, {sum});
}

TEST(Programs, NearestNeighbour) {
  const I points = 5, centres = 3, width = 2;
  const test::Values x = test::numbers({points, width}), c = test::numbers({centres, width}, 2);
  List want;
  for (I p = 0; p < points; ++p) {
    double best = INFINITY;
    for (I q = 0; q < centres; ++q) {
      double distance = 0;
      for (I d = 0; d < width; ++d)
        distance += std::pow(at(x.data, width, p, d) - at(c.data, width, q, d), 2);
      best = std::min(best, distance);
    }
    want.push_back(std::sqrt(best));
  }
  expect_values(R"(
function squares(X[N, D]) -> (S) { S[n : N] = +(X[n, d]*X[n, d]); }
function (X[N, D], C[K, D]) -> (Y) {
  P[n, k : N, K] = +(X[n, d]*C[k, d]);
  A = reshape(squares(X), N, 1) + squares(C) - 2*P;
  M[n : N] = <(A[n, k]);
  Y = sqrt(M);
}
)",
                {{"X", x}, {"C", c}}, {want});
}

TEST(Programs, WeightsByKey) {
  const test::Values keys = {{6}, {2, 0, 2, 1, 9, 0}, DType::I32}, weights = test::numbers({6}, 2);
  const test::Values names = {{4}, {0, 1, 2, 3}, DType::I32};
  List want(4, 0);
  for (std::size_t i = 0; i < 6; ++i)
    if (keys.data[i] < 4)
      want[static_cast<std::size_t>(keys.data[i])] += weights.data[i];
  expect_values("function (X[N], K[M], W[N]) -> (Y) { Y[k : M] = +(X[n] == K[k] ? W[n]); }",
                {{"X", keys}, {"K", names}, {"W", weights}}, {want});
}

TEST(Programs, ProductOfPolynomials) {
  const test::Values a = test::numbers({4}), b = test::numbers({3}, 2);
  List product(6, 0), derived;
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 3; ++j)
      product[i + j] += a.data[i] * b.data[j];
  for (std::size_t i = 1; i < 6; ++i)
    derived.push_back(double(i) * product[i]);
  expect_values(R"(
function product(A[N], B[M]) -> (Y) { Y[i + j : N + M - 1] = +(A[i]*B[j]); }
function (A[N], B[M]) -> (P, D) {
  P = product(A, B);
  T = P*index(P, 0);
  D[i : N + M - 2] = +(T[i + 1]);
}
)",
                {{"A", a}, {"B", b}}, {product, derived});
}

} // namespace
} // namespace tilefuse::tile
