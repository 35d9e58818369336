// SPDX-License-Identifier: Apache-2.0
#include "program/program.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "program/reference.h"

namespace tilefuse::program {
namespace {

TEST(Shape, CountsElementsAndRefusesOverflow) {
  EXPECT_EQ(elems({}), 1);
  EXPECT_EQ(elems({2, 3, 5}), 30);
  EXPECT_EQ(elems({std::int64_t{1} << 62}), std::int64_t{1} << 62);
  EXPECT_EQ(elems({7, 0}), 0);
  EXPECT_THROW(elems({std::int64_t{1} << 62, 2}), Error);
  EXPECT_THROW(elems({INT64_MAX, INT64_MAX, 0}), Error);
  EXPECT_THROW(elems({-1}), Error);
}

TEST(Shape, RowMajorStrides) {
  EXPECT_EQ(row_major({2, 3, 5}), (Shape{15, 5, 1}));
  EXPECT_EQ(row_major({}), Shape{});
  EXPECT_EQ(row_major({1, 4, 1}), (Shape{4, 1, 1}));
}

constexpr const char *kSmall = R"(program "p" {
  input %0 "x" : f32[4, 6]
  const %1 "w" : f32[6, 3]
  %2 "z" : f32[4, 3] = map[](0)
  %3 "y" : f32[4, 3] = sum[i, j, k](%0[i, k] * %1[k, j]) -> [i, j] init %2
  %4 "v" : f32[12] = view(%3)
  %5 "m" : f32[2, 12] = map[%4, %4]($0 + $1)
  output %5
})";

TEST(Program, ReadsInOrder) {
  const Program program = testing::program_of(kSmall);
  const auto ids = [](std::vector<int> numbers) {
    std::vector<TensorId> result;
    for (int number : numbers)
      result.push_back(TensorId{number});
    return result;
  };
  EXPECT_EQ(reads(program.statements[0]), ids({}));
  EXPECT_EQ(reads(program.statements[1]), ids({0, 1, 2}));
  EXPECT_EQ(reads(program.statements[2]), ids({3}));
  EXPECT_EQ(reads(program.statements[3]), ids({4, 4}));
}

TEST(Program, AddReturnsPositions) {
  Program program;
  EXPECT_EQ(to_int(program.add({.name = "a"})), 0);
  EXPECT_EQ(to_int(program.add({.name = "b"})), 1);
  EXPECT_EQ(program[TensorId{1}].name, "b");
}

// The message of verify on kSmall after a change, or "" when it passes.
template <typename Change> std::string verdict(const Change &change) {
  Program program = testing::program_of(kSmall);
  change(program);
  try {
    verify(program);
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

Contraction &product(Program &p) { return std::get<Contraction>(p.statements[1].body); }

struct Mistake {
  const char *says;
  void (*make)(Program &);
};

class Verify : public ::testing::TestWithParam<Mistake> {};

TEST_P(Verify, NamesTheBrokenInvariant) {
  const std::string text = verdict(GetParam().make);
  EXPECT_NE(text.find(GetParam().says), std::string::npos) << text;
}

INSTANTIATE_TEST_SUITE_P(
    Mistakes, Verify,
    ::testing::Values(
        Mistake{"already defined", [](Program& p) { p.statements.push_back(p.statements[0]); }},
        Mistake{"already defined", [](Program& p) { p.statements[0].out = TensorId{0}; }},
        Mistake{"read before it is defined", [](Program& p) { std::swap(p.statements[0], p.statements[1]); }},
        Mistake{"read before it is defined", [](Program& p) { p.statements.pop_back(); }},
        Mistake{"does not exist", [](Program& p) { p.outputs[0] = TensorId{99}; }},
        Mistake{"does not exist", [](Program& p) { product(p).in[0].tensor = TensorId{-1}; }},
        Mistake{"listed as an input twice", [](Program& p) { p.inputs.push_back(TensorId{0}); }},
        Mistake{"does not list", [](Program& p) { p.inputs.clear(); }},
        Mistake{"bytes of data", [](Program& p) { p[TensorId{1}].shape = {6, 4}; }},
        Mistake{"at least 1", [](Program& p) { p[TensorId{2}].shape = {4, 0}; }},
        Mistake{"cannot have shape", [](Program& p) { p[TensorId{4}].shape = {13}; }},
        Mistake{"cannot have type f16", [](Program& p) { p[TensorId{4}].type = DType::F16; }},
        Mistake{"does not broadcast", [](Program& p) { p[TensorId{5}].shape = {2, 11}; }},
        Mistake{"does not broadcast", [](Program& p) { p[TensorId{5}].shape = {}; }},
        Mistake{"the tensor f64", [](Program& p) { p[TensorId{5}].type = DType::F64; }},
        Mistake{"operand $1 of 1", [](Program& p) { std::get<Map>(p.statements[3].body).operands.pop_back(); }},
        Mistake{"no accumulator", [](Program& p) { std::get<Map>(p.statements[3].body).expr = acc(DType::F32); }},
        Mistake{"add takes 2", [](Program& p) { std::get<Map>(p.statements[3].body).expr.args.pop_back(); }},
        Mistake{"read as i32", [](Program& p) { std::get<Map>(p.statements[3].body).expr.args[0].type = DType::I32; }},
        Mistake{"cannot take 2 operands", [](Program& p) { product(p).comb = Comb::None; }},
        Mistake{"cannot take 1 operands", [](Program& p) { product(p).in.pop_back(); }},
        Mistake{"2 dimensions and 1 subscripts", [](Program& p) { product(p).out.pop_back(); }},
        Mistake{"2 dimensions and 1 subscripts", [](Program& p) { product(p).in[1].subscripts.pop_back(); }},
        Mistake{"coefficients", [](Program& p) { product(p).out[0].coeff.pop_back(); }},
        Mistake{"not an identifier", [](Program& p) { product(p).indices[0] = "i; system()"; }},
        Mistake{"used twice", [](Program& p) { product(p).indices[0] = "j"; }},
        Mistake{"nothing bounds index l",
                [](Program& p) {
                  product(p).indices.push_back("l");
                  for (Affine& a : product(p).out) a.coeff.emplace_back(0);
                  for (Access& access : product(p).in)
                    for (Affine& a : access.subscripts) a.coeff.emplace_back(0);
                }},
        Mistake{"bound is 0", [](Program& p) { product(p).constraints.push_back({product(p).out[0], 0}); }},
        Mistake{"init has shape", [](Program& p) { p[TensorId{2}].shape = {1, 3}; }},
        Mistake{"read before it is defined", [](Program& p) { product(p).init = TensorId{3}; }}));

TEST(Program, VerifyAcceptsTheUnchangedProgramAndNamesOrigins) {
  EXPECT_EQ(verdict([](Program &) {}), "");
  const std::string text = verdict([](Program &p) {
    p.statements[2].origin = "Flatten_3";
    p[TensorId{4}].shape = {13};
  });
  EXPECT_NE(text.find("%4 \"v\" from \"Flatten_3\""), std::string::npos) << text;
}

} // namespace
} // namespace tilefuse::program
