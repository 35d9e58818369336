// SPDX-License-Identifier: Apache-2.0
// ONNX's own operator tests and the stored results of small models, through the reference evaluator
// of programs. What is not supported must say so; what is imported must compute the right numbers.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "nest/evaluate/reference.h"
#include "onnx/node_tests.h"

namespace tilefuse::onnx_import {
namespace {

std::vector<program::HostTensor> evaluated(const program::Program &program,
                                           std::vector<program::HostTensor> inputs) {
  std::map<std::string, program::HostTensor> by_name;
  for (program::HostTensor &input : inputs)
    by_name[input.name] = std::move(input);
  return nest::evaluate_program(program, by_name);
}

TEST(Conformance, of_operators_to_the_standards_tests) {
  if (is_data_missing())
    GTEST_SKIP();
  const NodeTests tests = run_node_tests(evaluated);
  EXPECT_TRUE(tests.failures.empty()) << fmt::format("{}", fmt::join(tests.failures, "\n"));
  EXPECT_GE(tests.passed, 531);
}

class StoredResult : public testing::TestWithParam<std::string> {};

TEST_P(StoredResult, is_computed) {
  if (is_data_missing())
    GTEST_SKIP();
  const std::filesystem::path model = shared_data() / "models" / GetParam();
  EXPECT_EQ(difference(evaluated, model / "model.onnx", model / "test_data_set_0", 1e-3), "");
}

INSTANTIATE_TEST_SUITE_P(Shared, StoredResult,
                         testing::Values("mnist_8", "mnist_gemm_wonnx", "mnist_pytorch_bn",
                                         "cifar_cnn_pytorch", "cifar_resnet20"));

// Results of quantised models: a rounding may fall to the other side, which is a step.
class QuantizedResult : public StoredResult {};

TEST_P(QuantizedResult, is_computed_but_for_a_step) {
  if (is_data_missing())
    GTEST_SKIP();
  const std::filesystem::path model = shared_data() / "models" / GetParam();
  EXPECT_EQ(difference(evaluated, model / "model.onnx", model / "test_data_set_0", 1e-2), "");
}

INSTANTIATE_TEST_SUITE_P(Shared, QuantizedResult,
                         testing::Values("cifar_resnet20_qdq_int8",
                                         "cifar_resnet20_qlinearconv_int8", "micro_kws_qdq"));

} // namespace
} // namespace tilefuse::onnx_import
