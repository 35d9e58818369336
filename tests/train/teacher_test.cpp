// SPDX-License-Identifier: Apache-2.0
// The loss of a teacher's scores (ops/training.tile) and its gradient, beside their formulas.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "base/index.h"
#include "nest/evaluate/reference.h"
#include "program/append.h"
#include "program/gradient/gradient.h"
#include "program/host_tensor.h"
#include "tile/tile.h"

namespace tilefuse::train {
namespace {

using program::HostTensor;
using program::Program;
using program::Role;
using program::TensorId;

constexpr std::int64_t kPictures = 3, kClasses = 4;
constexpr double kTemperature = 2.5;

HostTensor tensor(const char *name, const program::Shape &shape,
                  const std::vector<double> &values) {
  HostTensor made = program::make_host_tensor(name, DType::F32, shape);
  for (std::size_t i = 0; i < values.size(); ++i)
    program::set(made, static_cast<std::int64_t>(i), values[i]);
  return made;
}

// Of one picture, of scores divided by the temperature.
std::vector<double> shares(const std::vector<double> &scores, std::int64_t picture) {
  std::vector<double> of(kClasses);
  for (std::int64_t c = 0; c < kClasses; ++c)
    of[at(c)] = std::exp(scores[at(picture * kClasses + c)] / kTemperature);
  const double sum = std::accumulate(of.begin(), of.end(), 0.0);
  for (double &share : of)
    share /= sum;
  return of;
}

TEST(Teacher, LossAndGradientAreTheFormulas) {
  const std::vector<double> own = {1, -2, 0.5, 3, 0, 0, 0, 0, 40, -30, 2, 7},
                            teacher = {2, 1, -1, 0, 0, 0, 0, 0, 35, -20, 30, 1};
  Program forward;
  for (const char *name : {"x", "y"})
    forward.inputs.push_back(
        forward.add({name, DType::F32, {kPictures, kClasses}, Role::Input, nullptr}));
  const TensorId loss =
      tile::operators()
          .instantiate("teacher_loss", forward.inputs, {{"TEMPERATURE", kTemperature}}, forward, "")
          .front();
  forward[loss].name = "loss";
  forward.outputs = {loss};
  const Program whole = program::gradient(
      forward, {.outputs = {loss}, .by = {forward.inputs[0]}, .keep_outputs = true});
  const std::vector<HostTensor> results =
      nest::evaluate_program(whole, {{"x", tensor("x", {kPictures, kClasses}, own)},
                                     {"y", tensor("y", {kPictures, kClasses}, teacher)},
                                     {"grad loss", tensor("grad loss", {1}, {1})}});
  double want = 0;
  for (std::int64_t n = 0; n < kPictures; ++n) {
    const std::vector<double> p = shares(own, n), q = shares(teacher, n);
    for (std::int64_t c = 0; c < kClasses; ++c) {
      want += kTemperature * kTemperature * q[at(c)] * std::log(q[at(c)] / p[at(c)]) / kPictures;
      EXPECT_NEAR(program::get(results[0], n * kClasses + c),
                  kTemperature * (p[at(c)] - q[at(c)]) / kPictures, 1e-6);
    }
  }
  EXPECT_NEAR(program::get(results[1], 0), want, 1e-5 * want);
}

// Numbers of tensors are another program's; inputs are those that are given.
TEST(Teacher, ProgramsAreAppended) {
  Program to = program::parse_program(R"(program "to" {
  input %0 "x" : f32[2]
  %1 "double" : f32[2] = map[%0]($0 + $0)
  output %1
}
)");
  const Program from = program::parse_program(R"(program "from" {
  input %0 "a" : f32[2]
  input %1 "b" : f32[2]
  %2 "flat" : f32[1, 2] = view(%0)
  %3 "sum" : f32[1] = sum[n, c](%2[n, c] * %1[c]) -> [n]
  output %3
}
)");
  to.outputs = program::append(to, from, std::vector<TensorId>{to.outputs[0], to.inputs[0]});
  program::verify(to);
  EXPECT_EQ(program::to_text(to), R"(program "to" {
  input %0 "x" : f32[2]
  %1 "double" : f32[2] = map[%0]($0 + $0)
  %2 "flat" : f32[1, 2] = view(%1)
  %3 "sum" : f32[1] = sum[n, c](%2[n, c] * %0[c]) -> [n]
  output %3
}
)");
}

} // namespace
} // namespace tilefuse::train
