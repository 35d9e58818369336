// SPDX-License-Identifier: Apache-2.0
// ONNX's own operator tests and the stored results of small models, through the reference evaluator
// of programs. What is not supported must say so; what is imported must compute the right numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

#include <fmt/format.h>

#include "nest/evaluate/reference.h"
#include "nest/fold/fold.h"
#include "onnx/model_builder.h"
#include "paths.h"

namespace tilefuse::onnx_import {
namespace {

namespace fs = std::filesystem;

const fs::path kData = TILEFUSE_SOURCE_DIR "/../shared/data";

bool is_missing() {
  if (fs::exists(kData))
    return false;
  EXPECT_EQ(std::getenv("CI"), nullptr) << kData << " is missing";
  std::cout << "skipped: " << kData << " is missing\n";
  return true;
}

std::vector<program::HostTensor> read_all(const fs::path &folder, const std::string &prefix) {
  std::vector<program::HostTensor> tensors;
  for (int i = 0;; ++i) {
    const fs::path file = folder / fmt::format("{}_{}.pb", prefix, i);
    if (!fs::exists(file))
      return tensors;
    tensors.push_back(read_tensor(file.string()));
  }
}

// The largest excess of |got - want| over atol + rtol * |want|; 0 when all agree.
double excess(const program::HostTensor &got, const program::HostTensor &want, double rtol,
              double atol) {
  double worst = 0;
  for (std::int64_t i = 0; i < program::elems(want.shape); ++i) {
    const double a = program::get(got, i);
    const double b = program::get(want, i);
    if (a == b || (std::isnan(a) && std::isnan(b)))
      continue;
    const double over = std::abs(a - b) - atol - rtol * std::abs(b);
    worst = std::isnan(over) ? INFINITY : std::max(worst, over);
  }
  return worst;
}

double range_of(const program::HostTensor &tensor) {
  double low = INFINITY;
  double high = -INFINITY;
  for (std::int64_t i = 0; i < program::elems(tensor.shape); ++i) {
    low = std::min(low, program::get(tensor, i));
    high = std::max(high, program::get(tensor, i));
  }
  return high - low;
}

// Empty when the model computes its stored outputs, else what differs. `share`: tolerance as a
// share of the output's range, or that of ONNX's runner when 0.
std::string difference(const fs::path &model, const fs::path &set, double share) {
  const auto inputs = read_all(set, "input");
  const auto wanted = read_all(set, "output");
  Options options;
  if (!inputs.empty() && !inputs[0].shape.empty() && share > 0)
    options.batch = inputs[0].shape[0];
  const program::Program program = import_model(model.string(), operators_library(), options);
  std::map<std::string, program::HostTensor> by_name;
  for (std::size_t i = 0; i < program.inputs.size() && i < inputs.size(); ++i)
    by_name[program[program.inputs[i]].name] = inputs[i];
  const auto got = nest::evaluate_program(program, by_name);
  if (got.size() > wanted.size())
    return "more outputs than stored";
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i].shape != wanted[i].shape)
      return fmt::format("output {} has shape [{}], need [{}]", i, fmt::join(got[i].shape, ", "),
                         fmt::join(wanted[i].shape, ", "));
    if (got[i].type != wanted[i].type)
      return fmt::format("output {} has type {}, need {}", i, to_string(got[i].type),
                         to_string(wanted[i].type));
    const double atol = share > 0 ? share * range_of(wanted[i]) : 1e-6;
    const double over = excess(got[i], wanted[i], share > 0 ? 0 : 1e-3, atol);
    if (over > 0)
      return fmt::format("output {} differs by {} too much", i, over);
  }
  return {};
}

// The standard's tests pass shapes, axes and scales as inputs; here all operands but the first
// become initializers.
void make_operands_constant(const fs::path &test) {
  onnx::ModelProto model;
  std::ifstream file(test / "model.onnx", std::ios::binary);
  if (!model.ParseFromIstream(&file))
    return;
  for (int i = 1; i < model.graph().input_size(); ++i) {
    auto *tensor = model.mutable_graph()->add_initializer();
    std::ifstream data(test / "test_data_set_0" / fmt::format("input_{}.pb", i), std::ios::binary);
    if (!tensor->ParseFromIstream(&data))
      return;
    tensor->set_name(model.graph().input(i).name());
  }
  std::ofstream to(test / "model.onnx", std::ios::binary);
  model.SerializeToOstream(&to);
}

// Tests that we do not want to pass: training, sizes of 0 (which declare a dimension unknown), a
// stored result which counts the cells that only ceil mode reaches, and those of signed
// QLinearMatMul that wrap around (-236 became 20) where the operator saturates.
bool is_left_out(const std::string &name) {
  return name.find("training_dropout") != std::string::npos ||
         name.find("empty_set") != std::string::npos ||
         (name.find("test_qlinearmatmul_") == 0 && name.find("D_int8_") != std::string::npos) ||
         name == "test_averagepool_3d_dilations_large_count_include_pad_is_1_ceil_mode_is_True";
}

class Conformance {
public:
  void run(const fs::path &test) {
    if (is_left_out(test.filename().string()))
      return;
    if (!run_once(test)) {
      refused.pop_back();
      make_operands_constant(test);
      run_once(test);
    }
  }

  // False when the model was refused.
  bool run_once(const fs::path &test) {
    try {
      const std::string what = difference(test / "model.onnx", test / "test_data_set_0", 0);
      if (what.empty())
        ++passed;
      else
        failures.push_back(test.filename().string() + ": " + what);
    } catch (const Error &error) {
      const bool is_refused = error.code() == ErrorCode::Unsupported;
      (is_refused ? refused : failures).push_back(test.filename().string() + ": " + error.what());
      return !is_refused;
    }
    return true;
  }

  int passed = 0;
  std::vector<std::string> refused;
  std::vector<std::string> failures;
};

TEST(Conformance, of_operators_to_the_standards_tests) {
  if (is_missing())
    GTEST_SKIP();
  const Folder folder;
  Conformance conformance;
  for (const char *archive :
       {"onnx_node_tests_dev.tar.xz", "onnx_node_tests_new_1_16_dev.tar.xz"}) {
    const std::string command =
        fmt::format("tar -xJf '{}' -C '{}'", (kData / "onnx_node_tests" / archive).string(),
                    folder.path().string());
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
  }
  for (const auto &entry : fs::recursive_directory_iterator(folder.path()))
    if (entry.path().filename() == "model.onnx")
      conformance.run(entry.path().parent_path());
  std::cout << fmt::format("{} passed, {} refused as not supported\n", conformance.passed,
                           conformance.refused.size());
  if (std::getenv("VERBOSE") != nullptr)
    std::cout << fmt::format("{}\n", fmt::join(conformance.refused, "\n"));
  EXPECT_TRUE(conformance.failures.empty())
      << conformance.failures.size() << " failures:\n"
      << fmt::format("{}", fmt::join(conformance.failures, "\n"));
  EXPECT_GE(conformance.passed, 395);
}

class StoredResult : public testing::TestWithParam<std::string> {};

TEST_P(StoredResult, is_computed) {
  if (is_missing())
    GTEST_SKIP();
  const fs::path model = kData / "models" / GetParam();
  EXPECT_EQ(difference(model / "model.onnx", model / "test_data_set_0", 1e-3), "");
}

INSTANTIATE_TEST_SUITE_P(Shared, StoredResult,
                         testing::Values("mnist_8", "mnist_gemm_wonnx", "mnist_pytorch_bn",
                                         "cifar_cnn_pytorch", "cifar_resnet20"));

// Results of quantised models: a rounding may fall to the other side, which is a step.
class QuantizedResult : public StoredResult {};

TEST_P(QuantizedResult, is_computed_but_for_a_step) {
  if (is_missing())
    GTEST_SKIP();
  const fs::path model = kData / "models" / GetParam();
  EXPECT_EQ(difference(model / "model.onnx", model / "test_data_set_0", 1e-2), "");
}

INSTANTIATE_TEST_SUITE_P(Shared, QuantizedResult,
                         testing::Values("cifar_resnet20_qdq_int8",
                                         "cifar_resnet20_qlinearconv_int8", "micro_kws_qdq"));

} // namespace
} // namespace tilefuse::onnx_import
