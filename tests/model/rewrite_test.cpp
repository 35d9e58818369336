// SPDX-License-Identifier: Apache-2.0
// Algorithms that are other programs: forward convolutions and their gradients on odd shapes give
// what the program gives, by the evaluator and on every device. Gradients' kernels under the named
// schedules.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "base/index.h"
#include "lower/algorithm_cases.h"
#include "model/compile.h"
#include "model/devices.h"
#include "model/oracle/simulate_group.h"
#include "model/passes.h"
#include "model/session.h"
#include "nest/evaluate/reference.h"
#include "nest/flatten/split.h"
#include "nest/fold/fold.h"
#include "poly/post_ops.h"
#include "program/gradient/gradient.h"
#include "program/rewrite/rewrite.h"
#include "search/forms/algorithms.h"
#include "search/forms/named_schedule.h"
#include "tile/tile.h"

namespace tilefuse {
namespace {

using program::HostTensor;
using program::Program;
using program::Shape;

struct Case {
  Shape image, filter;
  std::int64_t stride = 1, dilation = 1, before = 1, after = 1, groups = 1;
  bool constant = true; // the filter is known at load time
};

std::string text(const Case &c) {
  return fmt::format("{}x{}x{}x{} filter {}x{} stride {} dilation {} pad {} {} groups {}",
                     c.image[0], c.image[1], c.image[2], c.image[3], c.filter[0], c.filter[2],
                     c.stride, c.dilation, c.before, c.after, c.groups);
}

std::vector<Case> cases() {
  return {
      {.image = {1, 8, 7, 7}, .filter = {16, 8, 3, 3}},
      {.image = {2, 3, 14, 14}, .filter = {8, 3, 3, 3}, .constant = false},
      {.image = {1, 5, 13, 11}, .filter = {7, 5, 3, 3}, .before = 0, .after = 2},
      {.image = {1, 4, 11, 9}, .filter = {5, 4, 3, 3}, .stride = 2},
      {.image = {1, 3, 17, 10}, .filter = {4, 3, 5, 5}, .stride = 3, .before = 2, .after = 1},
      {.image = {1, 4, 13, 13}, .filter = {6, 4, 3, 3}, .dilation = 2, .before = 2, .after = 2},
      {.image = {1, 6, 7, 5}, .filter = {4, 3, 3, 3}, .groups = 2},
      {.image = {1, 1, 1, 1}, .filter = {1, 1, 3, 3}},
  };
}

// Small integers.
HostTensor values(const std::string &name, const Shape &shape, std::int64_t step) {
  HostTensor tensor = program::make_host_tensor(name, DType::F32, shape);
  for (std::int64_t i = 0; i < program::elems(shape); ++i)
    program::set(tensor, i, static_cast<double>((i * step + i / 5) % 7 - 3));
  return tensor;
}

// relu(conv(x, w)), or the gradients of 2 * conv(x, w) by x and w.
Program program_of(const Case &c, bool gradient) {
  tile::Library ops;
  for (const auto &[name, g, extent] :
       {std::array{"conv", "", ""}, std::array{"group_conv", "g, ", "G, "}})
    ops.add(fmt::format("function {0}(X[N, {2}C, H, W], K[{2}M, C, R, S]; OY, OX) -> (O) {{\n"
                        "  T[n, {1}m, y, x : N, {2}M, OY, OX] = +(X[n, {1}c, {3}*y + {4}*r - {5}, "
                        "{3}*x + {4}*s - {5}] * K[{1}m, c, r, s]);\n  O = {6};\n}}\n",
                        name, g, extent, c.stride, c.dilation, c.before,
                        gradient ? "2 * T" : "max(T, 0)"),
            "test");
  Program program;
  const auto grouped = [&](Shape shape, std::size_t d) {
    if (c.groups > 1) {
      shape[d] /= c.groups;
      shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(d), c.groups);
    }
    return shape;
  };
  const Shape image = grouped(c.image, 1);
  const Shape filter = grouped(c.filter, 0);
  const program::TensorId x =
      program.add({.name = "x", .type = DType::F32, .shape = image, .role = program::Role::Input});
  program.inputs = {x};
  program::Tensor w = {.name = "w", .type = DType::F32, .shape = filter};
  const bool constant = c.constant && !gradient;
  w.role = constant ? program::Role::Constant : program::Role::Input;
  if (constant)
    w.data = std::make_shared<const program::Bytes>(values("w", filter, 3).data);
  const program::TensorId k = program.add(std::move(w));
  if (!constant)
    program.inputs.push_back(k);
  const auto size = [&](std::size_t d) {
    return (c.image[d] + c.before + c.after - (c.filter[d] - 1) * c.dilation - 1) / c.stride + 1;
  };
  program.outputs = ops.instantiate(c.groups > 1 ? "group_conv" : "conv", std::vector{x, k},
                                    {{"OY", size(2)}, {"OX", size(3)}}, program, "conv");
  return gradient ? program::gradient(program, {.by = {x, k}}) : program;
}

std::vector<HostTensor> inputs_of(const Program &program) {
  std::vector<HostTensor> inputs;
  for (const program::TensorId id : program.inputs)
    inputs.push_back(
        values(program[id].name, program[id].shape, static_cast<std::int64_t>(inputs.size()) + 2));
  return inputs;
}

std::vector<HostTensor> evaluate(const Program &program) {
  std::map<std::string, HostTensor> named;
  for (const HostTensor &tensor : inputs_of(program))
    named[tensor.name] = tensor;
  return nest::evaluate_program(program, named);
}

// F(4, 3) divides by 24; the others are exact on small integers.
void expect_same(const std::vector<HostTensor> &got, const std::vector<HostTensor> &want,
                 bool exact) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t k = 0; k < got.size(); ++k)
    for (std::int64_t i = 0; i < program::elems(want[k].shape); ++i) {
      const double a = program::get(got[k], i), b = program::get(want[k], i);
      ASSERT_LE(std::abs(a - b), exact ? 0 : 1e-3 + 1e-4 * std::abs(b)) << k << " at " << i;
    }
}

bool was_rewritten(const Program &program, std::string_view name) {
  return std::any_of(program.statements.begin(), program.statements.end(),
                     [&](const program::Statement &statement) {
                       return program::rewritten_by(statement.origin) == name;
                     });
}

TEST(Rewrite, KeepsResultsOfOddConvolutionsAndTheirGradients) {
  for (const Case &c : cases())
    for (const bool gradient : {false, true}) {
      const Program program = program_of(c, gradient);
      const std::vector<HostTensor> want = evaluate(program);
      for (const std::string &name : program::rewrite_names()) {
        SCOPED_TRACE(text(c) + (gradient ? " gradient " : " ") + name);
        const Program other = program::rewrite(program, name);
        const bool is_sum = !gradient || c.image[2] > 1; // one point is an assignment
        const bool is_small = c.filter[2] == 3 && c.stride == 1 && c.dilation == 1;
        const bool fits = is_sum && (name == "im2col" || is_small);
        EXPECT_EQ(was_rewritten(other, name), fits) << program::to_text(program);
        expect_same(evaluate(other), want, name != "winograd_f4");
      }
    }
}

TEST(Rewrite, RunsOnDevicesUnderItsName) {
  for (testing::NamedDevice &on : testing::devices())
    for (const bool gradient : {false, true})
      for (const std::string &name : program::rewrite_names()) {
        if (gradient && on.name != "cpu")
          continue; // many kernels, built one by one
        SCOPED_TRACE(on.name + " " + name + (gradient ? " gradient" : ""));
        const Program program = program_of(cases()[gradient ? 0 : 2], gradient);
        runtime::KernelCache cache("", [](const std::string &) {});
        model::Session session(program, *on.device, cache, {.algorithm = name});
        expect_same(session.run(inputs_of(program)), evaluate(program), name != "winograd_f4");
        EXPECT_NE(session.plan_text().find(" " + name + "_"), std::string::npos)
            << session.plan_text();
      }
}

// Both gradients' kernels, residue classes of strided ones among them, under every named schedule:
// whole, and with their reduction in parts.
TEST(Gradients, NamedAlgorithmsAreExactOnOddShapes) {
  std::map<std::string, int> fitted;
  int in_parts = 0;
  const auto check = [&](const poly::Group &group) {
    for (const std::string &name : search::algorithm_names()) {
      const Target target = name == "cpu"             ? testing::vector_test_target()
                            : name.starts_with("mma") ? testing::matrix_test_target()
                                                      : testing::group_test_target();
      const search::NamedSchedule named = search::named_schedule(name, group.anchor, target);
      if (!named.schedule)
        continue;
      ++fitted[name];
      Target roomy = target; // a form's usual sizes may spill
      roomy.vector_registers = 1 << 20;
      const auto result = model::simulate_group(group, *named.schedule, roomy, {});
      EXPECT_EQ(result.fault, "") << name;
      EXPECT_EQ(result.different, 0) << name << ": " << result.first_difference << "\n"
                                     << poly::to_text(group);
    }
  };
  for (const Case &c : cases()) {
    SCOPED_TRACE(text(c));
    const Program program = model::simplify(program_of(c, true));
    for (const poly::PlacedGroup &placed : poly::make_groups(program::assign_storage(program))) {
      const nest::Nest &nest = placed.group.anchor;
      check(placed.group);
      if (nest.output_indices == static_cast<int>(nest.indices.size()) || nest.inputs.size() < 2)
        continue;
      const nest::ReductionSplit split = {
          {nest::IndexId{nest.output_indices}, nest.indices[at(nest.output_indices)].extent}};
      if (nest::illegal_split(nest, split))
        continue;
      ++in_parts;
      check({nest::split_reduction(nest, split).partial});
    }
  }
  for (const char *name :
       {"direct", "direct_cached", "ilpm", "plaidml", "igemm", "pointwise", "cpu"})
    EXPECT_GE(fitted[name], 4) << name;
  EXPECT_GE(in_parts, 8);
}

TEST(Rewrite, RefusalsSayWhy) {
  std::vector<std::string> refused;
  program::rewrite(program_of(cases()[3], false), "winograd_f2", &refused);
  EXPECT_EQ(refused, std::vector<std::string>{"winograd_f2 does not fit \"conv\": it is not a "
                                              "convolution of 3x3 taps and stride 1"});
}

} // namespace
} // namespace tilefuse
