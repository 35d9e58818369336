// SPDX-License-Identifier: Apache-2.0
// Operator × type × awkward shape: every device against the evaluator in double precision. Small
// integers must be exact where the operator only adds, multiplies, compares and moves; real inputs
// stay within a bound from the sum's length.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "model/devices.h"
#include "model/session.h"
#include "nest/evaluate/reference.h"
#include "nest/fold/fold.h"
#include "paths.h"
#include "tile/tile.h"

namespace tilefuse {
namespace {

using program::HostTensor;
using program::Shape;
using tile::Attributes;

struct Argument {
  Shape shape;
  bool constant = false;
};

struct Case {
  std::string function;
  std::vector<Argument> args;
  Attributes attributes;
  bool positive = false; // inputs in (0.5, 2): for log, sqrt, pow, division
};

tile::Attribute whole(std::int64_t value) { return value; }

std::vector<Case> convolutions() {
  std::vector<Case> cases;
  const auto conv = [&](Shape image, Shape filter, std::int64_t stride, std::int64_t dilation,
                        std::int64_t pad) {
    const auto size = [&](std::int64_t in, std::int64_t taps) {
      return (in + 2 * pad - (taps - 1) * dilation - 1) / stride + 1;
    };
    cases.push_back({"conv2d",
                     {{image}, {filter, true}},
                     {{"SY", stride},
                      {"SX", stride},
                      {"DY", dilation},
                      {"DX", dilation},
                      {"PY", pad},
                      {"PX", pad},
                      {"OY", size(image[2], filter[2])},
                      {"OX", size(image[3], filter[3])}}});
  };
  conv({1, 3, 7, 7}, {8, 3, 3, 3}, 1, 1, 1);
  conv({2, 5, 13, 11}, {17, 5, 3, 3}, 2, 1, 1);
  conv({1, 1, 5, 5}, {1, 1, 5, 5}, 1, 1, 2);
  conv({1, 16, 14, 14}, {10, 16, 1, 1}, 1, 1, 0);
  conv({1, 8, 9, 9}, {24, 8, 3, 3}, 3, 2, 2);
  conv({1, 3, 23, 23}, {64, 3, 7, 7}, 2, 1, 3);
  conv({3, 7, 1, 1}, {5, 7, 1, 1}, 1, 1, 0);
  cases.push_back({"depthwise_conv2d",
                   {{{1, 12, 7, 7}}, {{12, 1, 3, 3}, true}},
                   {{"PY", whole(1)}, {"PX", whole(1)}, {"OY", whole(7)}, {"OX", whole(7)}}});
  cases.push_back(
      {"group_conv2d",
       {{{1, 12, 5, 5}}, {{18, 4, 3, 3}, true}},
       {{"PY", whole(1)}, {"PX", whole(1)}, {"OY", whole(5)}, {"OX", whole(5)}, {"G", whole(3)}}});
  cases.push_back(
      {"conv1d", {{{1, 3, 17}}, {{6, 3, 3}, true}}, {{"PX", whole(1)}, {"OX", whole(17)}}});
  cases.push_back({"conv2d",
                   {{{1, 3, 6, 6}}, {{4, 3, 3, 3}}},
                   {{"PY", whole(1)}, {"PX", whole(1)}, {"OY", whole(6)}, {"OX", whole(6)}}});
  return cases;
}

std::vector<Case> others() {
  return {
      {"gemm_nn", {{{3, 7}}, {{7, 5}, true}}, {}},
      {"gemm_nt", {{{1, 64}}, {{10, 64}, true}}, {}},
      {"gemm_tn", {{{7, 3}}, {{7, 19}}}, {}},
      {"gemm_tt", {{{16, 2}}, {{9, 16}, true}}, {}},
      {"matmul_33", {{{2, 3, 5}}, {{2, 5, 8}}}, {}},
      {"add", {{{1, 5, 3, 7}}, {{5, 1, 1}}}, {}},
      {"mul", {{{2, 3}}, {{1}}}, {}},
      {"sub", {{{1, 1}}, {{4, 5}}}, {}},
      {"relu", {{{1, 3, 5, 5}}}, {}},
      {"transpose4",
       {{{2, 3, 5, 7}}},
       {{"A0", whole(0)}, {"A1", whole(2)}, {"A2", whole(3)}, {"A3", whole(1)}}},
      {"transpose2", {{{13, 17}}}, {{"A0", whole(1)}, {"A1", whole(0)}}},
      {"turn_and_clamp", {{{5, 9}}}, {}},
      {"slice", {{{2, 9, 3}}}, {{"START", whole(7)}, {"STEP", whole(-2)}, {"COUNT", whole(3)}}},
      {"pad", {{{2, 5, 3}}}, {{"LEADING", whole(2)}, {"SIZE", whole(9)}}},
      {"pad_value", {{{2, 5, 3}}}, {{"LEADING", whole(1)}, {"SIZE", whole(7)}, {"VALUE", 3.0}}},
  };
}

std::vector<Case> real_valued() {
  return {
      {"sigmoid", {{{1, 19}}}, {}},
      {"exp", {{{3, 7}}}, {}},
      {"tanh", {{{2, 11}}}, {}},
      {"erf", {{{5}}}, {}},
      {"log", {{{3, 5}}}, {}, true},
      {"sqrt", {{{3, 5}}}, {}, true},
      {"div", {{{3, 5}}, {{5}}}, {}, true},
      {"pow", {{{3, 5}}, {{5}}}, {}, true},
      {"gelu", {{{2, 9}}}, {}},
      {"softplus", {{{2, 9}}}, {}},
      {"softmax", {{{2, 10, 3}}}, {}},
      {"log_softmax", {{{1, 17, 1}}}, {}},
      {"lrn",
       {{{1, 7, 3, 3}}},
       {{"SIZE", whole(5)}, {"ALPHA", 0.0001}, {"BETA", 0.75}, {"BIAS", 1.0}}},
  };
}

class Operators : public ::testing::Test {
protected:
  static const tile::Library &ops() {
    static const tile::Library library = [] {
      tile::Library all = tile::read_library(TILEFUSE_SOURCE_DIR "/ops");
      all.add("function turn_and_clamp(X[A, B]) -> (O) { T[b, a : B, A] = =(X[a, b]); O = max(T + "
              "1, 0); }\n"
              "function bits(A[N], B[N]) -> (O) { O = bit_xor(bit_and(A, B), bit_left(A, B)) + "
              "bit_or(bit_right(A, 1), bit_not(B)); }",
              "test");
      return all;
    }();
    return library;
  }

  HostTensor values(const Argument &arg, DType type, bool integers, bool positive) {
    HostTensor tensor = program::make_host_tensor("x", type, arg.shape);
    std::uniform_int_distribution<int> whole_values(-3, 3);
    std::uniform_real_distribution<double> real_values(positive ? 0.5 : -2.0, 2.0);
    for (std::int64_t i = 0; i < program::elems(arg.shape); ++i)
      program::set(tensor, i, integers ? whole_values(engine_) : real_values(engine_));
    return tensor;
  }

  void check(const Case &test, DType type, bool integers) {
    SCOPED_TRACE(test.function + " " + std::string(to_string(type)));
    program::Program program;
    program.name = "operator";
    std::vector<program::TensorId> ids;
    std::vector<HostTensor> inputs;
    std::map<std::string, HostTensor> by_name;
    for (const Argument &arg : test.args) {
      HostTensor tensor = values(arg, type, integers, test.positive);
      tensor.name = "x" + std::to_string(ids.size());
      const bool constant = arg.constant;
      ids.push_back(program.add(
          {.name = tensor.name,
           .type = type,
           .shape = arg.shape,
           .role = constant ? program::Role::Constant : program::Role::Input,
           .data = constant ? std::make_shared<const program::Bytes>(tensor.data) : nullptr}));
      if (constant)
        continue;
      program.inputs.push_back(ids.back());
      by_name[tensor.name] = tensor;
      inputs.push_back(std::move(tensor));
    }
    program.outputs =
        ops().instantiate(test.function, ids, test.attributes, program, test.function);
    const HostTensor expected = nest::evaluate_program(program, by_name).at(0);
    for (testing::NamedDevice &on : testing::devices())
      compare(program, on, inputs, expected, integers);
  }

  void compare(const program::Program &program, testing::NamedDevice &on,
               const std::vector<HostTensor> &inputs, const HostTensor &expected, bool exact) {
    SCOPED_TRACE(on.name);
    runtime::KernelCache cache("", [](const std::string &) {});
    model::Session session(program, *on.device, cache, {});
    const HostTensor got = session.run(inputs).at(0);
    ASSERT_EQ(got.shape, expected.shape);
    const double unit = expected.type == DType::F16 ? 2e-3 : 3e-6;
    for (std::int64_t i = 0; i < program::elems(got.shape); ++i) {
      const double want = program::get(expected, i);
      const double bound = exact ? 0 : unit * (1 + std::abs(want)) * 4;
      ASSERT_NEAR(program::get(got, i), want, bound) << "element " << i;
    }
  }

  std::mt19937 engine_{42};
};

TEST_F(Operators, ConvolutionsOfIntegersAreExact) {
  for (const Case &test : convolutions()) {
    check(test, DType::F32, true);
    check(test, DType::F16, true);
  }
}

TEST_F(Operators, ProductsMapsAndMovesOfIntegersAreExact) {
  for (const Case &test : others()) {
    check(test, DType::F32, true);
    check(test, DType::F16, true);
  }
}

TEST_F(Operators, BitOperationsAreExact) {
  for (const DType type : {DType::I32, DType::I8, DType::U8, DType::I64, DType::U16, DType::U32})
    check({"bits", {{{37}}, {{37}}}, {}}, type, true);
}

TEST_F(Operators, ConvolutionsOfRealsStayWithinTheirBound) {
  for (const Case &test : convolutions())
    check(test, DType::F32, false);
}

TEST_F(Operators, FunctionsOfRealsStayWithinTheirBound) {
  for (const Case &test : real_valued())
    check(test, DType::F32, false);
}

} // namespace
} // namespace tilefuse
