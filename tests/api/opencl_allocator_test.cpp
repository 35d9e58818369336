// SPDX-License-Identifier: Apache-2.0
// A device of OpenCL whose buffers come from the caller: what kernels read and write lies there.
#include "api_fixture.h"
#include "opencl_caller.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>

namespace tilefuse {
namespace {

using namespace testing;

Tensor buffer(cl_mem memory, std::int64_t count) {
  return {memory, {kDLFloat, 32, 1}, {count}, {kDLOpenCL, 0}, 0};
}

class ApiOpenclAllocator : public ::testing::Test {
protected:
  void SetUp() override {
    try {
      caller_ = std::make_unique<OpenclCaller>();
    } catch (const std::exception &error) {
      if (std::getenv("CI") != nullptr)
        FAIL() << "OpenCL is required in CI: " << error.what();
      GTEST_SKIP() << error.what();
    }
  }
  Hooks hooks() {
    Hooks hooks;
    hooks.queue = caller_->queue();
    hooks.allocate = [this](std::size_t bytes, std::size_t) -> void * {
      cl_int code = CL_SUCCESS;
      cl_mem memory =
          TILEFUSE_CL(clCreateBuffer)(caller_->context(), CL_MEM_READ_WRITE, bytes, nullptr, &code);
      given_[memory] = bytes;
      return memory;
    };
    hooks.release = [this](void *memory, std::size_t bytes) {
      EXPECT_EQ(given_.at(memory), bytes);
      given_.erase(memory);
      TILEFUSE_CL(clReleaseMemObject)(static_cast<cl_mem>(memory));
    };
    return hooks;
  }
  // Whether the values lie one behind the other in a buffer that was given.
  bool lie_in_one(const std::vector<float> &values) const {
    return std::any_of(given_.begin(), given_.end(), [&](const auto &each) {
      if (each.second < values.size() * sizeof(float))
        return false;
      const std::vector<float> all =
          caller_->read(static_cast<cl_mem>(each.first), each.second / sizeof(float));
      return std::search(all.begin(), all.end(), values.begin(), values.end()) != all.end();
    });
  }

  std::unique_ptr<OpenclCaller> caller_;
  std::map<void *, std::size_t> given_; // and not yet back: bytes
};

TEST_F(ApiOpenclAllocator, KernelsReadAndWriteBuffersOfTheCallers) {
  {
    const Device device("opencl", {}, hooks());
    Session run(Compiled(Model::tile(kScale), device, {{"attr.F", "3"}}));
    std::vector<float> x = ramp(64);
    run.input(0, vector_of(x));
    run.execute();
    std::vector<float> tripled = ramp(64);
    for (float &value : tripled)
      value *= 3;
    EXPECT_TRUE(lie_in_one(x)) << "what is read";
    EXPECT_TRUE(lie_in_one(tripled)) << "what is written";
  }
  EXPECT_TRUE(given_.empty()) << "all is back";
}

// One size is kept: the memory of the other is still in use where the caller holds its queue.
TEST_F(ApiOpenclAllocator, ASizeThatIsLetGoGivesNothingBackUnderItsRun) {
  const Device device("opencl", {}, hooks());
  const cl_mem x = caller_->make_buffer(256);
  caller_->write(x, ramp(64));
  Session run(Compiled(Model::tile(kScale), device, {{"attr.F", "3"}, {"kept", "1"}}));
  run.input(0, buffer(x, 64));
  run.prepare();
  run.bind_output(0, buffer(caller_->make_buffer(256), 64));
  const std::map<void *, std::size_t> used = given_;
  ASSERT_FALSE(used.empty());
  cl_command_queue held = caller_->make_queue(0);
  caller_->hold(held);
  run.enqueue(held);
  run.input(0, buffer(x, 32));
  run.bind_output(0, buffer(caller_->make_buffer(256), 32));
  EXPECT_TRUE(caller_->ends_while_held([&] { run.enqueue(held); }));
  for (const auto &[memory, bytes] : used)
    EXPECT_EQ(given_.count(memory), 1u);
  caller_->let_go();
  run.wait();
  for (const auto &[memory, bytes] : used)
    EXPECT_EQ(given_.count(memory), 0u);
}

} // namespace
} // namespace tilefuse
