// SPDX-License-Identifier: Apache-2.0
#include "onnx/node_tests.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <limits>

#include <fmt/format.h>

#include "onnx/model_builder.h"
#include "paths.h"
#include "target/dtype_traits.h"

namespace tilefuse::onnx_import {
namespace fs = std::filesystem;
namespace {

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

// The standard's tests pass shapes, axes and scales as inputs; here the operands from `first` to
// before `end` become initializers.
void make_operands_constant(const fs::path &test, int first, int end) {
  onnx::ModelProto model;
  std::ifstream file(test / "model.onnx", std::ios::binary);
  if (!model.ParseFromIstream(&file))
    return;
  for (int i = first; i < std::min(end, model.graph().input_size()); ++i) {
    auto *tensor = model.mutable_graph()->add_initializer();
    std::ifstream data(test / "test_data_set_0" / fmt::format("input_{}.pb", i), std::ios::binary);
    if (!tensor->ParseFromIstream(&data))
      return;
    tensor->set_name(model.graph().input(i).name());
  }
  std::ofstream to(test / "model.onnx", std::ios::binary);
  model.SerializeToOstream(&to);
}

// Tests that we do not want to pass: training, a
// stored result which counts the cells that only ceil mode reaches, and those of signed
// QLinearMatMul that wrap around (-236 became 20) where the operator saturates; and one whose model
// lacks the epsilon that its stored result was computed with; and two that scale by a length which is
// no whole number, as onnxruntime does not.
bool is_left_out(const std::string &name) {
  return name.find("training_dropout") != std::string::npos || name == "test_adam_multiple" ||
         (name.find("test_resize_downsample_scales_") == 0 && name.ends_with("c_align_corners")) ||
         name == "test_resize_downsample_scales_linear_align_corners" ||
         (name.find("test_qlinearmatmul_") == 0 && name.find("D_int8_") != std::string::npos) ||
         name == "test_averagepool_3d_dilations_large_count_include_pad_is_1_ceil_mode_is_True";
}

// Within 1e-3 of a value, or a few roundings of its type.
std::string difference_of(const program::HostTensor &got, const program::HostTensor &want,
                          double share) {
  if (got.shape != want.shape)
    return fmt::format("has shape [{}], need [{}]", fmt::join(got.shape, ", "),
                       fmt::join(want.shape, ", "));
  if (got.type != want.type)
    return fmt::format("has type {}, need {}", to_string(got.type), to_string(want.type));
  const double roundings = is_float(want.type) ? std::ldexp(4, -traits(want.type).digits) : 0;
  const double over = excess(got, want, share > 0 ? 0 : std::max(1e-3, roundings),
                             share > 0 ? share * range_of(want) : 1e-6);
  return over > 0 ? fmt::format("differs by {} too much", over) : "";
}

// A size of 0 declares a dimension unknown. Tensors that cannot be read are for the test to refuse.
bool has_empty_tensor(const fs::path &set) try {
  for (const char *kind : {"input", "output"})
    for (const program::HostTensor &tensor : read_all(set, kind))
      if (tensor.data.empty())
        return true;
  return false;
} catch (const Error &) {
  return false;
}

// One test: as it is; when that is refused, with all operands but the first made constant, and then
// with that too.
class Runner {
public:
  explicit Runner(const Compute &compute) : compute_(compute) {}

  void run(const fs::path &test) {
    if (is_left_out(test.filename().string()) || has_empty_tensor(test / "test_data_set_0") ||
        run_once(test))
      return;
    const int before = result.passed;
    for (const int first : {1, 0}) {
      result.refused.pop_back();
      make_operands_constant(test, first, first == 1 ? std::numeric_limits<int>::max() : 1);
      if (run_once(test))
        break;
    }
    result.passed_with_constants += result.passed - before;
  }

  NodeTests result;

private:
  // False when the model was refused.
  bool run_once(const fs::path &test) {
    const std::string name = test.filename().string();
    try {
      const std::string what =
          difference(compute_, test / "model.onnx", test / "test_data_set_0", 0);
      if (what.empty())
        ++result.passed;
      else
        result.failures.push_back(name + ": " + what);
    } catch (const Error &error) {
      const bool is_refused = error.code() == ErrorCode::Unsupported;
      (is_refused ? result.refused : result.failures).push_back(name + ": " + error.what());
      return !is_refused;
    }
    return true;
  }

  const Compute &compute_;
};

} // namespace

const fs::path &shared_data() {
  static const fs::path path = TILEFUSE_SOURCE_DIR "/../shared/data";
  return path;
}

bool is_data_missing() {
  if (fs::exists(shared_data()))
    return false;
  EXPECT_EQ(std::getenv("CI"), nullptr) << shared_data() << " is missing";
  std::cout << "skipped: " << shared_data() << " is missing\n";
  return true;
}

std::string difference(const Compute &compute, const fs::path &model, const fs::path &set,
                       double share) {
  const auto given = read_all(set, "input");
  const auto wanted = read_all(set, "output");
  Options options;
  if (!given.empty() && !given[0].shape.empty() && share > 0)
    options.batch = given[0].shape[0];
  const program::Program program = import_model(model.string(), operators_library(), options);
  std::vector<program::HostTensor> inputs;
  for (std::size_t i = 0; i < program.inputs.size() && i < given.size(); ++i) {
    inputs.push_back(given[i]);
    inputs.back().name = program[program.inputs[i]].name;
  }
  const auto got = compute(program, std::move(inputs));
  if (got.size() > wanted.size())
    return "more outputs than stored";
  for (std::size_t i = 0; i < got.size(); ++i) {
    const std::string what = difference_of(got[i], wanted[i], share);
    if (!what.empty())
      return fmt::format("output {} {}", i, what);
  }
  return {};
}

NodeTests run_node_tests(const Compute &compute) {
  const Folder folder;
  for (const char *archive :
       {"onnx_node_tests_dev.tar.xz", "onnx_node_tests_new_1_16_dev.tar.xz"}) {
    const std::string command =
        fmt::format("tar -xJf '{}' -C '{}'", (shared_data() / "onnx_node_tests" / archive).string(),
                    folder.path().string());
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  }
  if (const char *more = std::getenv("TILEFUSE_NODE_TESTS"))
    fs::copy(more, folder.path() / "more", fs::copy_options::recursive);
  Runner runner(compute);
  for (const auto &entry : fs::recursive_directory_iterator(folder.path()))
    if (entry.path().filename() == "model.onnx")
      runner.run(entry.path().parent_path());
  const NodeTests &result = runner.result;
  std::cout << fmt::format("{} passed ({} with constant operands), {} refused, {} failed\n",
                           result.passed, result.passed_with_constants, result.refused.size(),
                           result.failures.size());
  if (std::getenv("VERBOSE") != nullptr)
    std::cout << fmt::format("{}\n", fmt::join(result.refused, "\n"));
  return result;
}

} // namespace tilefuse::onnx_import
