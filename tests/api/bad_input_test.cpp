// SPDX-License-Identifier: Apache-2.0
// Whatever is wrong with a call: a status and a sentence.
#include "api_fixture.h"

namespace tilefuse {
namespace {

using namespace testing;

void expect_error(tf_status got, tf_status status, const std::string &text) {
  EXPECT_EQ(got, status) << tf_error_message();
  EXPECT_NE(std::string(tf_error_message()).find(text), std::string::npos) << tf_error_message();
}

// A run of scale() by 2 with a tensor that is spoilt in one way.
class BadTensor : public ::testing::Test {
protected:
  BadTensor() : run_(Compiled(Model::tile(kScale), cpu(), {{"attr.F", "2"}})) {
    tensor_.data = values_;
    tensor_.device = {kDLCPU, 0};
    tensor_.ndim = 1;
    tensor_.dtype = {kDLFloat, 32, 1};
    tensor_.shape = shape_;
  }
  void expect(tf_status status, const std::string &text) {
    expect_error(tf_run_input(run_.get(), 0, &tensor_), status, text);
  }

  alignas(8) float values_[16] = {};
  std::int64_t shape_[2] = {4, 1};
  std::int64_t strides_[2] = {1, 1};
  DLTensor tensor_{};
  Session run_;
};

TEST(ApiBadInput, NullPointers) {
  expect_error(tf_run_execute(nullptr), TF_ARGUMENT, "the tf_run is a null pointer");
  expect_error(tf_device_open("cpu", nullptr, 0, nullptr, nullptr), TF_ARGUMENT,
               "device is a null pointer");
  expect_error(tf_device_open("cpu", nullptr, 1, nullptr, nullptr), TF_ARGUMENT, "null");
  expect_error(tf_model_read(nullptr, nullptr), TF_ARGUMENT, "path is a null pointer");
  tf_model *model = nullptr;
  expect_error(tf_model_parse(nullptr, 3, nullptr, &model), TF_ARGUMENT, "bytes is a null");
  expect_error(tf_compile(nullptr, nullptr, nullptr, 0, nullptr, nullptr, nullptr), TF_ARGUMENT,
               "the tf_model is a null pointer");
  expect_error(tf_devices(nullptr), TF_ARGUMENT, "json is a null pointer");
  tf_release(nullptr);
  tf_release(nullptr);
  tf_release(nullptr);
  tf_release(nullptr);
  tf_free(nullptr);
}

TEST(ApiBadInput, ReleasedHandles) {
  tf_model *model = nullptr;
  ASSERT_EQ(tf_model_from_tile(kScale, nullptr, &model), TF_OK);
  const tf_tensor_info *infos = nullptr;
  std::size_t count = 0;
  expect_error(tf_run_execute(reinterpret_cast<tf_run *>(model)), TF_ARGUMENT, "this is no tf_run");
  tf_release(model);
  expect_error(tf_model_inputs(model, &infos, &count), TF_ARGUMENT, "it was released");
  tf_release(model);
}

TEST(ApiBadInput, Options) {
  const Device device = cpu();
  const Model model = Model::read(kGlyphs);
  const auto refused = [&](const Options &options) {
    try {
      Compiled(model, device, options);
    } catch (const Error &error) {
      return error.message();
    }
    return std::string("none");
  };
  EXPECT_EQ(refused({{"precison", "f16"}}), "there is no option \"precison\"");
  EXPECT_EQ(refused({{"kept", "many"}}), "option kept is \"many\", need a number from 1 to 4096");
  EXPECT_EQ(refused({{"precision", "f8"}, {"batch", "1"}}), "there is no precision 'f8'");
  EXPECT_NE(
      refused({{"dim.depth", "3"}, {"batch", "1"}}).find("no input has a dimension \"depth\""),
      std::string::npos);
  EXPECT_NE(refused({{"shape.images", "1,x"}}).find("need an input's name"), std::string::npos);
  EXPECT_NE(failure(TF_DEVICE, [] { Device("tpu"); }).find("there is no device 'tpu'"),
            std::string::npos);
}

TEST(ApiBadInput, Models) {
  EXPECT_NE(failure(TF_IO, [] { Model::read("/nowhere/model.onnx"); }).find("does not exist"),
            std::string::npos);
  EXPECT_NE(failure(TF_IO, [] { Model::parse("nonsense", 8); }).find("is not an ONNX model"),
            std::string::npos);
  EXPECT_NE(failure(TF_SYNTAX, [] { Model::tile("function f(X[N]) -> (Y) { Y = ; }"); }).find("1:"),
            std::string::npos);
  failure(TF_SHAPE, [] { Model::tile(kScale, "other"); });
}

TEST_F(BadTensor, Fits) { EXPECT_EQ(tf_run_input(run_.get(), 0, &tensor_), TF_OK); }

TEST_F(BadTensor, Null) {
  expect_error(tf_run_input(run_.get(), 0, nullptr), TF_ARGUMENT, "the tensor is a null pointer");
  tensor_.data = nullptr;
  expect(TF_DEVICE, "its data is a null pointer");
  tensor_.data = values_;
  tensor_.shape = nullptr;
  expect(TF_ARGUMENT, "the tensor's shape is a null pointer");
}

TEST_F(BadTensor, Position) {
  expect_error(tf_run_input(run_.get(), 1, &tensor_), TF_SHAPE, "there is no input 1");
  DLTensor output{};
  expect_error(tf_run_output(run_.get(), 7, &output), TF_SHAPE, "there is no output 7");
  expect_error(tf_run_execute(run_.get()), TF_SHAPE, "input 'X' is not bound");
}

TEST_F(BadTensor, Type) {
  tensor_.dtype = {kDLFloat, 24, 1};
  expect(TF_TYPE, "24 bits");
  tensor_.dtype = {kDLFloat, 32, 4};
  expect(TF_TYPE, "4 lanes");
}

TEST_F(BadTensor, Strides) {
  tensor_.strides = strides_;
  EXPECT_EQ(tf_run_input(run_.get(), 0, &tensor_), TF_OK);
  strides_[0] = 2;
  expect(TF_SHAPE, "with strides [2]");
}

TEST_F(BadTensor, Alignment) {
  tensor_.byte_offset = 2;
  expect(TF_DEVICE, "is no multiple of 4");
  tensor_.byte_offset = 4;
  EXPECT_EQ(tf_run_input(run_.get(), 0, &tensor_), TF_OK);
}

TEST_F(BadTensor, Sizes) {
  shape_[0] = 0;
  expect(TF_SHAPE, "has a size of 0");
  shape_[0] = -3;
  expect(TF_SHAPE, "has a size of -3");
  shape_[0] = std::int64_t{1} << 62;
  tensor_.ndim = 2;
  shape_[1] = 16;
  expect(TF_LIMIT, "");
  tensor_.ndim = -1;
  expect(TF_SHAPE, "a tensor of -1 dimensions");
}

TEST_F(BadTensor, Device) {
  tensor_.device = {kDLCUDA, 0};
  expect(TF_DEVICE, "was given to cpu");
  tensor_.device = {kDLOpenCL, 0};
  expect(TF_DEVICE, "was given to cpu");
}

TEST_F(BadTensor, Outputs) {
  ASSERT_EQ(tf_run_input(run_.get(), 0, &tensor_), TF_OK);
  shape_[0] = 5;
  ASSERT_EQ(tf_run_prepare(run_.get(), nullptr, nullptr, nullptr), TF_OK);
  expect_error(tf_run_bind_output(run_.get(), 0, &tensor_), TF_SHAPE,
               "output 'Y' is f32[4], got f32[5]");
}

TEST(ApiBadInput, FixedShapes) {
  Session run(Compiled(Model::read(kGlyphs), cpu(), {{"batch", "1"}}));
  std::vector<float> x = ramp(4);
  EXPECT_NE(failure(TF_SHAPE, [&] { run.input(0, vector_of(x)); }).find("got f32[4]"),
            std::string::npos);
  std::vector<double> d(4);
  EXPECT_NE(failure(TF_TYPE, [&] { run.input(0, view(d.data(), {4})); }).find("got f64[4]"),
            std::string::npos);
}

} // namespace
} // namespace tilefuse
