// SPDX-License-Identifier: Apache-2.0
// Gradient programs below the program level: flattened and evaluated, and run on every device, they
// are what the program means element by element; and kernels of strided convolutions' input
// gradients do no division.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "kernel/text/text.h"
#include "kernel/walk.h"
#include "lower/pipeline.h"
#include "model/compile.h"
#include "model/devices.h"
#include "model/passes.h"
#include "model/session.h"
#include "nest/evaluate/reference.h"
#include "nest/fold/fold.h"
#include "paths.h"
#include "poly/post_ops.h"
#include "program/finite_difference.h"
#include "program/gradient/gradient.h"
#include "search/pick.h"
#include "target/device_rows.h"
#include "tile/tile.h"

namespace tilefuse {
namespace {

using program::HostTensor;
using program::Program;
using program::Shape;
using program::testing::Values;

struct Case {
  std::string function;
  std::vector<Shape> inputs;
  std::map<std::string, std::int64_t> attributes;
  DType type = DType::F32;
};

void PrintTo(const Case &c, std::ostream *out) { *out << c.function << " " << to_string(c.type); }

const tile::Library &ops() {
  static const tile::Library library = tile::read_library(TILEFUSE_SOURCE_DIR "/ops");
  return library;
}

Program program_of(const Case &c) {
  Program program;
  program.name = c.function;
  for (const Shape &shape : c.inputs)
    program.inputs.push_back(program.add({.name = fmt::format("x{}", program.inputs.size()),
                                          .type = c.type,
                                          .shape = shape,
                                          .role = program::Role::Input}));
  tile::Attributes attributes;
  for (const auto &[name, value] : c.attributes)
    attributes[name] = value;
  program.outputs = ops().instantiate(c.function, program.inputs, attributes, program, "test");
  return program;
}

Case conv(Shape image, Shape filter, std::int64_t stride, std::int64_t pad,
          std::int64_t dilation = 1) {
  const auto size = [&](std::size_t d) {
    return (image[d] + 2 * pad - (filter[d] - 1) * dilation - 1) / stride + 1;
  };
  return {"conv2d",
          {image, filter},
          {{"SY", stride},
           {"SX", stride},
           {"DY", dilation},
           {"DX", dilation},
           {"PY", pad},
           {"PX", pad},
           {"OY", size(2)},
           {"OX", size(3)}}};
}

std::vector<Case> single_cases() {
  return {
      conv({1, 1, 1, 1}, {1, 1, 1, 1}, 1, 0),
      conv({2, 3, 7, 5}, {5, 3, 3, 3}, 1, 1),
      conv({1, 3, 8, 8}, {4, 3, 3, 3}, 2, 1),
      conv({2, 3, 11, 7}, {7, 3, 5, 5}, 3, 2),
      conv({1, 2, 8, 8}, {3, 2, 2, 2}, 3, 0),
      conv({1, 3, 5, 5}, {4, 3, 1, 1}, 2, 0),
      conv({1, 2, 9, 9}, {2, 2, 3, 3}, 2, 2, 2),
      {"depthwise_conv2d",
       {{1, 5, 7, 7}, {5, 1, 3, 3}},
       {{"SY", 2}, {"SX", 2}, {"PY", 1}, {"PX", 1}, {"OY", 4}, {"OX", 4}}},
      {"group_conv2d",
       {{1, 4, 5, 5}, {6, 2, 3, 3}},
       {{"SY", 2}, {"SX", 2}, {"PY", 1}, {"PX", 1}, {"OY", 3}, {"OX", 3}, {"G", 2}}},
      {"conv_transpose2d",
       {{1, 2, 3, 4}, {2, 3, 3, 3}},
       {{"SY", 2}, {"SX", 2}, {"PY", 1}, {"PX", 1}, {"OY", 5}, {"OX", 7}}},
      {"max_pool2d",
       {{1, 3, 7, 7}},
       {{"KY", 3}, {"KX", 3}, {"SY", 2}, {"SX", 2}, {"PY", 1}, {"PX", 1}, {"OY", 4}, {"OX", 4}}},
      {"average_pool2d",
       {{1, 3, 7, 7}},
       {{"KY", 3}, {"KX", 3}, {"SY", 2}, {"SX", 2}, {"PY", 1}, {"PX", 1}, {"OY", 4}, {"OX", 4}}},
      {"global_max_pool2d", {{2, 3, 5, 3}}, {}},
      {"gemm_nt", {{3, 7}, {5, 7}}, {}},
      {"softmax", {{2, 7, 3}}, {}},
      {"log_softmax", {{2, 7, 1}}, {}},
      {"layer_norm", {{3, 11}, {11}, {11}}, {}},
      {"instance_norm", {{2, 3, 13}, {3}, {3}}, {}},
      {"lrn", {{1, 7, 3, 2}}, {{"SIZE", 5}}},
      {"relu", {{1, 3, 5, 5}}, {}},
      {"mul", {{2, 3, 5}, {3, 1}}, {}},
      {"reduce_prod", {{2, 5, 3}}, {}},
      {"reduce_max", {{2, 5, 3}}, {}},
      {"insert", {{2, 9, 3}, {2, 4, 3}}, {{"OFFSET", 3}}},
      {"slice", {{2, 9, 3}}, {{"START", 7}, {"STEP", -2}, {"COUNT", 3}}},
      {"pad_reflect_front", {{2, 5, 3}}, {{"COUNT", 2}}},
      {"upsample_nearest", {{1, 2, 3, 4}}, {{"FY", 2}, {"FX", 3}}},
      {"depth_to_space_crd", {{1, 8, 2, 3}}, {{"B", 2}}},
  };
}

// Some of them in half precision, too.
std::vector<Case> cases() {
  std::vector<Case> all = single_cases();
  for (const Case &c : single_cases())
    if (c.function == "conv2d" || c.function == "max_pool2d" || c.function == "mul" ||
        c.function == "insert" || c.function == "relu") {
      all.push_back(c);
      all.back().type = DType::F16;
    }
  return all;
}

// Eighths, so that sums of products of them are exact in f32.
HostTensor values_of(const program::Tensor &tensor, std::mt19937 &random) {
  HostTensor host = program::make_host_tensor(tensor.name, tensor.type, tensor.shape);
  std::uniform_int_distribution<int> eighths(-16, 16);
  for (std::int64_t i = 0; i < program::elems(tensor.shape); ++i)
    program::set(host, i, eighths(random) / 8.0);
  return host;
}

Values to_doubles(const HostTensor &tensor) {
  Values values;
  for (std::int64_t i = 0; i < program::elems(tensor.shape); ++i)
    values.push_back(program::get(tensor, i));
  return values;
}

void expect_near(const std::vector<HostTensor> &got, const std::vector<Values> &want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t k = 0; k < got.size(); ++k) {
    const double unit = got[k].type == DType::F16 ? 3e-3 : 2e-5;
    double largest = 1;
    for (double value : want[k])
      largest = std::max(largest, std::fabs(value));
    const Values values = to_doubles(got[k]);
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_NEAR(values[i], want[k][i], unit * largest) << got[k].name << " element " << i;
  }
}

class GradientProgram : public ::testing::TestWithParam<Case> {};

TEST_P(GradientProgram, ComputesTheSameOnEveryLevel) {
  const Program program = program::testing::gradient_by_inputs(program_of(GetParam()), true);
  std::mt19937 random(3);
  std::vector<HostTensor> inputs;
  std::map<std::string, HostTensor> by_name;
  std::vector<Values> given;
  for (program::TensorId id : program.inputs) {
    inputs.push_back(values_of(program[id], random));
    by_name[inputs.back().name] = inputs.back();
    given.push_back(to_doubles(inputs.back()));
  }
  const std::vector<Values> want = program::testing::run(program, given);
  expect_near(nest::evaluate_program(program, by_name), want);
  for (testing::NamedDevice &on : testing::devices()) {
    SCOPED_TRACE(on.name);
    runtime::KernelCache cache("", [](const std::string &) {});
    model::Session session(program, *on.device, cache, {});
    expect_near(session.run(inputs), want);
  }
}

INSTANTIATE_TEST_SUITE_P(All, GradientProgram, ::testing::ValuesIn(cases()));

bool is_integer_division(kernel::ExprRef expr) {
  const auto *scalar = std::get_if<kernel::Scalar>(&expr->node);
  return scalar != nullptr && !is_float(expr->type.elem) &&
         (scalar->op == ScalarOp::Div || scalar->op == ScalarOp::Mod);
}

// Divisions and modulos that some loop repeats.
int divisions_in_loops(const kernel::Kernel &kernel) {
  int count = 0;
  kernel::for_each_stmt(kernel.body, [&](kernel::StmtRef stmt) {
    if (const auto *loop = std::get_if<kernel::For>(&stmt->node))
      kernel::for_each_expr(loop->body,
                            [&](kernel::ExprRef expr) { count += is_integer_division(expr); });
  });
  return count;
}

TEST(StridedInputGradient, HasNoDivisionInALoop) {
  for (const Case &c :
       {conv({1, 8, 16, 16}, {16, 8, 3, 3}, 2, 1), conv({2, 5, 15, 13}, {7, 5, 3, 3}, 2, 1),
        conv({1, 3, 32, 32}, {16, 3, 7, 7}, 2, 3), conv({1, 6, 9, 9}, {8, 6, 1, 1}, 2, 0),
        conv({1, 8, 17, 17}, {8, 8, 3, 3}, 3, 1), conv({1, 4, 20, 20}, {8, 4, 5, 5}, 3, 2)}) {
    const Program forward = program_of(c);
    const Program program =
        model::simplify(program::gradient(forward, {.by = {forward.inputs[0]}}));
    for (const Target &target : read_targets(TILEFUSE_SOURCE_DIR "/devices")) {
      if (target.name != "cpu_avx2" && target.name != "opencl_cpu")
        continue;
      int kernels = 0;
      for (const poly::PlacedGroup &placed : poly::make_groups(program::assign_storage(program))) {
        const kernel::Kernel kernel =
            lower::lower(placed.group, search::pick(placed.group.anchor, target), target);
        EXPECT_EQ(divisions_in_loops(kernel), 0) << kernel::to_text(kernel);
        ++kernels;
      }
      EXPECT_GT(kernels, 0);
    }
  }
}

} // namespace
} // namespace tilefuse
