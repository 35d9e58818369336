// SPDX-License-Identifier: Apache-2.0
#include "program/finite_difference.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace tilefuse::program::testing {
namespace {

constexpr double kStep = 1e-5;
constexpr double kTolerance = 2e-6;      // of the sum of the terms' sizes
constexpr std::int64_t kEachElement = 6; // directions along one element, up to this many
constexpr int kDirections = 3;

std::vector<TensorId> floating(const Program &program, const std::vector<TensorId> &ids) {
  std::vector<TensorId> result;
  for (TensorId id : ids)
    if (is_float(program[id].type))
      result.push_back(id);
  return result;
}

Values uniform(std::size_t count, double low, double high, std::mt19937 &random) {
  std::uniform_real_distribution<double> values(low, high);
  Values result(count);
  for (double &value : result)
    value = values(random);
  return result;
}

Expr without_rounding(Expr expr) {
  if (expr.kind == Expr::Kind::Call && rounded_type(expr.op))
    return without_rounding(expr.args[0]);
  for (Expr &arg : expr.args)
    arg = without_rounding(std::move(arg));
  return expr;
}

// Rounding is a staircase, whose differences are noise: its gradient is that of what it rounds.
Program without_rounding(Program program) {
  for (Statement &statement : program.statements)
    if (auto *map = std::get_if<Map>(&statement.body))
      map->expr = without_rounding(std::move(map->expr));
  return program;
}

double dot(const Values &a, const Values &b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

class Check {
public:
  Check(const Program &program, const Source &source, unsigned seed)
      : program_(program), smooth_(without_rounding(program)), random_(seed) {
    for (TensorId id : program.inputs)
      inputs_.push_back(source(program[id], random_));
    for (TensorId id : floating(program, program.outputs))
      weights_.push_back(uniform(count(id), -1, 1, random_));
  }

  std::string run() {
    const Program derived = gradient_by_inputs(program_);
    verify(derived);
    std::vector<Values> given = inputs_;
    given.insert(given.end(), weights_.begin(), weights_.end());
    const std::vector<Values> gradients = testing::run(derived, given);
    std::size_t next = 0;
    for (std::size_t k = 0; k < program_.inputs.size(); ++k)
      if (is_float(program_[program_.inputs[k]].type))
        compare(k, gradients.at(next++));
    return mismatch_.empty() ? "" : mismatch_ + to_text(program_) + to_text(derived);
  }

private:
  std::size_t count(TensorId id) const {
    return static_cast<std::size_t>(elems(program_[id].shape));
  }

  double weighted_output(const std::vector<Values> &inputs) const {
    const std::vector<Values> outputs = testing::run(smooth_, inputs);
    double sum = 0;
    std::size_t next = 0;
    for (std::size_t o = 0; o < outputs.size(); ++o)
      if (is_float(program_[program_.outputs[o]].type))
        sum += dot(outputs[o], weights_[next++]);
    return sum;
  }

  double change(std::size_t k, const Values &direction) const {
    std::vector<Values> up = inputs_;
    std::vector<Values> down = inputs_;
    for (std::size_t i = 0; i < direction.size(); ++i) {
      up[k][i] += kStep * direction[i];
      down[k][i] -= kStep * direction[i];
    }
    return (weighted_output(up) - weighted_output(down)) / (2 * kStep);
  }

  void compare(std::size_t k, const Values &gradient) {
    const std::size_t size = inputs_[k].size();
    ASSERT_EQ(gradient.size(), size);
    double scale = 1;
    for (double value : gradient)
      scale += std::fabs(value);
    for (const Values &direction : directions(size)) {
      const double got = dot(gradient, direction);
      const double want = change(k, direction);
      if (!(std::fabs(got - want) <= kTolerance * scale))
        mismatch_ +=
            fmt::format("by {}: got {}, want {}\n", program_[program_.inputs[k]].name, got, want);
    }
  }

  std::vector<Values> directions(std::size_t size) {
    std::vector<Values> result;
    for (std::size_t i = 0; i < size && size <= kEachElement; ++i) {
      result.emplace_back(size, 0);
      result.back()[i] = 1;
    }
    for (int i = 0; i < kDirections && size > kEachElement; ++i)
      result.push_back(uniform(size, -1, 1, random_));
    return result;
  }

  const Program &program_;
  const Program smooth_;
  std::mt19937 random_;
  std::vector<Values> inputs_;
  std::vector<Values> weights_; // by floating output
  std::string mismatch_;
};

} // namespace

Values any_values(const Tensor &tensor, std::mt19937 &random) {
  Values values = uniform(static_cast<std::size_t>(elems(tensor.shape)), -1.9, 1.9, random);
  for (double &value : values) {
    value += value < 0 ? -0.05 : 0.05;
    if (!is_float(tensor.type))
      value = tensor.type == DType::Bool ? value > 0 : std::round(value);
  }
  return values;
}

Values positive_values(const Tensor &tensor, std::mt19937 &random) {
  return uniform(static_cast<std::size_t>(elems(tensor.shape)), 0.5, 2, random);
}

Program gradient_by_inputs(const Program &program, bool keep_outputs) {
  return gradient(program, {.by = floating(program, program.inputs), .keep_outputs = keep_outputs});
}

std::string gradient_mismatch(const Program &program, const Source &source, unsigned seed) {
  verify(program);
  return Check(program, source, seed).run();
}

void expect_gradients(const Program &program, const Source &source) {
  EXPECT_EQ(gradient_mismatch(program, source), "");
}

} // namespace tilefuse::program::testing
