// SPDX-License-Identifier: Apache-2.0
// Whatever is wrong with a call: a status and a sentence.
#include "api_fixture.h"

#include <atomic>
#include <future>
#include <memory>
#include <thread>

namespace tilefuse {
namespace {

using namespace testing;

// After each call: the message is of the last one that failed.
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

TEST_F(BadTensor, WrongOrder) {
  DLTensor output{};
  expect_error(tf_run_output(run_.get(), 0, &output), TF_SHAPE, "there is no output 0");
  expect_error(tf_run_prepare(run_.get(), nullptr, nullptr, nullptr), TF_SHAPE, "is not bound");
  expect_error(tf_run_bind_output(run_.get(), 3, &tensor_), TF_SHAPE, "is not bound");
  expect_error(tf_run_bind_output(run_.get(), 3, nullptr), TF_SHAPE, "there is no output 3");
  EXPECT_EQ(tf_run_wait(run_.get()), TF_OK) << "for nothing";
  EXPECT_EQ(tf_run_statistics(run_.get(), nullptr, nullptr, nullptr), TF_OK);
  char *text = nullptr;
  expect_error(tf_time(run_.get(), 1, nullptr, nullptr, &text), TF_SHAPE, "is not bound");
  expect_error(tf_verify(run_.get(), 1, nullptr, nullptr, &text), TF_SHAPE, "is not bound");
  expect_error(tf_info(run_.get(), &text), TF_SHAPE, "is not bound");
  EXPECT_EQ(text, nullptr);
  ASSERT_EQ(tf_run_input(run_.get(), 0, &tensor_), TF_OK);
  EXPECT_EQ(tf_run_execute(run_.get()), TF_OK);
  expect_error(tf_run_bind_output(run_.get(), 1, &tensor_), TF_SHAPE, "there is no output 1");
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

// What a run is bound to stays so while it is under way: here another work holds the device.
TEST(ApiBadInput, CallsDuringARun) {
  const Device device = cpu();
  Session run(Compiled(Model::tile(kScale), device, {{"attr.F", "2"}}));
  std::vector<float> x = ramp(100);
  run.input(0, vector_of(x));
  const Session other(Compiled(Model::read(kGlyphs), device, {{"batch", "1"}}));
  std::promise<void> begun;
  std::promise<void> end;
  int calls = 0;
  std::thread work([&] {
    other.verify(1, [&](int, int) {
      if (calls++ == 0) {
        begun.set_value();
        end.get_future().wait();
      }
      return true;
    });
  });
  begun.get_future().wait();
  run.start();
  const Tensor place = vector_of(x);
  const DLTensor tensor = place.dl();
  const auto expect = [](tf_status status) {
    expect_error(status, TF_UNSUPPORTED, "a run is under way");
  };
  expect(tf_run_input(run.get(), 0, &tensor));
  expect(tf_run_bind_output(run.get(), 0, nullptr));
  expect(tf_run_prepare(run.get(), nullptr, nullptr, nullptr));
  expect(tf_run_execute(run.get()));
  expect(tf_run_start(run.get(), nullptr, nullptr));
  expect(tf_run_enqueue(run.get(), nullptr, nullptr));
  end.set_value();
  work.join();
  run.wait();
  EXPECT_EQ(run.output(0).data<float>()[99], 198);
}

// A callback that fails ends its call, and the next one goes through.
TEST(ApiBadInput, CallbacksThatFail) {
  const Device device = cpu(nullptr, {{"cache", ""}});
  const Model model = Model::read(kGlyphs);
  const tf_option batch{"batch", "1"};
  const tf_progress fails = [](void *, int, int) { return -7; };
  tf_compiled *compiled = nullptr;
  expect_error(tf_compile(model.get(), device.get(), &batch, 1, fails, nullptr, &compiled),
               TF_CANCELLED, "cancelled by the caller");
  EXPECT_EQ(compiled, nullptr);
  ASSERT_EQ(tf_compile(model.get(), device.get(), &batch, 1, nullptr, nullptr, &compiled), TF_OK);
  tf_run *run = nullptr;
  ASSERT_EQ(tf_run_create(compiled, &run), TF_OK);
  char *text = nullptr;
  const auto expect = [&](tf_status status) {
    expect_error(status, TF_CANCELLED, "cancelled by the caller");
    EXPECT_EQ(text, nullptr);
  };
  expect(tf_verify(run, 4, fails, nullptr, &text));
  expect(tf_tune(run, 5, fails, nullptr, &text));
  expect(tf_time(run, 5, fails, nullptr, &text));
  EXPECT_EQ(tf_verify(run, 4, nullptr, nullptr, &text), TF_OK);
  tf_free(text);
  tf_release(run);
  tf_release(compiled);
}

// Handles that go take nothing away from the threads that use them.
TEST(ApiBadInput, AThreadOutlivesItsDevice) {
  auto device = std::make_unique<Device>(cpu());
  auto compiled =
      std::make_unique<Compiled>(Model::tile(kScale), *device, Options{{"attr.F", "2"}});
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&right, run = std::make_shared<Session>(*compiled)] {
      std::vector<float> x = ramp(1000);
      run->input(0, vector_of(x));
      for (int i = 0; i < 100; ++i) {
        run->execute();
        right += run->output(0).data<float>()[999] == 1998 ? 1 : 0;
      }
    });
  compiled.reset();
  device.reset();
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(right, 400);
}

// A handle that is released on one thread ends the calls of another, or lets them through.
TEST(ApiBadInput, AHandleGoesUnderACall) {
  const Compiled compiled(Model::tile(kScale), cpu(), {{"attr.F", "2"}});
  for (int round = 0; round < 20; ++round) {
    tf_run *run = nullptr;
    ASSERT_EQ(tf_run_create(compiled.get(), &run), TF_OK);
    std::vector<float> x = ramp(5000);
    const Tensor place = vector_of(x);
    const DLTensor tensor = place.dl();
    ASSERT_EQ(tf_run_input(run, 0, &tensor), TF_OK);
    std::thread other([run] {
      tf_status status = TF_OK;
      while (status == TF_OK)
        status = tf_run_execute(run);
      EXPECT_EQ(status, TF_ARGUMENT) << tf_error_message();
    });
    tf_release(run);
    other.join();
  }
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
