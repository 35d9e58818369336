// SPDX-License-Identifier: Apache-2.0
// Runs in the caller's queue and the caller's buffers, behind the caller's own work: nothing is copied
// by the host, and nothing waits.
#include "api_fixture.h"
#include "opencl_caller.h"

#include <cstdlib>
#include <memory>
#include <optional>

namespace tilefuse {
namespace {

using namespace testing;

Tensor buffer(cl_mem memory, std::int64_t count, std::uint64_t byte_offset = 0) {
  return {memory, {kDLFloat, 32, 1}, {count}, {kDLOpenCL, 0}, byte_offset};
}

class ApiQueue : public ::testing::Test {
protected:
  void SetUp() override {
    try {
      caller_ = std::make_unique<OpenclCaller>();
      device_.emplace("opencl", Options{}, Hooks{{}, {}, {}, caller_->queue()});
    } catch (const std::exception &error) {
      if (std::getenv("CI") != nullptr)
        FAIL() << "OpenCL is required in CI: " << error.what();
      GTEST_SKIP() << error.what();
    }
  }
  // Y = F * X of open size.
  Session scale(const char *factor) const {
    return Session(Compiled(Model::tile(kScale), *device_, {{"attr.F", factor}}));
  }
  bool is_queued(Session &run, cl_command_queue queue, void **event = nullptr) {
    return caller_->ends_while_held([&] { run.enqueue(queue, event); });
  }

  std::unique_ptr<OpenclCaller> caller_;
  std::optional<Device> device_;
};

TEST_F(ApiQueue, RunsLieBehindTheCallersWork) {
  const cl_mem x = caller_->make_buffer(256);
  const cl_mem y = caller_->make_buffer(256);
  const cl_mem z = caller_->make_buffer(256);
  Session first = scale("3");
  Session second = scale("5");
  for (Session *run : {&first, &second}) {
    run->input(0, buffer(run == &first ? x : y, 64));
    run->prepare();
    run->bind_output(0, buffer(run == &first ? y : z, 64));
  }
  for (int round = 1; round <= 3; ++round) {
    const std::vector<float> values(64, static_cast<float>(round));
    need(TILEFUSE_CL(clEnqueueWriteBuffer)(caller_->queue(), x, CL_FALSE, 0, 256, values.data(), 0,
                                           nullptr, nullptr),
         "clEnqueueWriteBuffer");
    first.enqueue();
    second.enqueue();
    EXPECT_EQ(caller_->read(z, 64), std::vector<float>(64, static_cast<float>(15 * round)));
    EXPECT_EQ(first.copies() + second.copies(), 0);
  }
}

TEST_F(ApiQueue, ExecuteCopiesNothingEither) {
  const cl_mem x = caller_->make_buffer(256);
  const cl_mem y = caller_->make_buffer(256);
  caller_->write(x, ramp(64));
  Session run = scale("2");
  run.input(0, buffer(x, 64));
  run.prepare();
  run.bind_output(0, buffer(y, 64));
  run.execute();
  EXPECT_EQ(run.copies(), 0);
  EXPECT_EQ(caller_->read(y, 64)[63], 126);
  std::vector<float> z(64);
  run.bind_output(0, vector_of(z)); // of the host again
  run.execute();
  EXPECT_EQ(run.copies(), 1);
  EXPECT_EQ(z[63], 126);
}

TEST_F(ApiQueue, AnEventIsReachedByTheRunsEnd) {
  const cl_mem x = caller_->make_buffer(256);
  const cl_mem y = caller_->make_buffer(256);
  caller_->write(x, ramp(64));
  Session run = scale("7");
  run.input(0, buffer(x, 64));
  run.prepare();
  run.bind_output(0, buffer(y, 64));
  void *made = nullptr;
  run.enqueue(caller_->make_queue(0), &made); // another queue, ordered by the event
  auto *event = static_cast<cl_event>(made);
  ASSERT_NE(event, nullptr);
  std::vector<float> values(64);
  need(TILEFUSE_CL(clEnqueueReadBuffer)(caller_->queue(), y, CL_TRUE, 0, 256, values.data(), 1,
                                        &event, nullptr),
       "clEnqueueReadBuffer");
  EXPECT_EQ(values[63], 441);
  need(TILEFUSE_CL(clReleaseEvent)(event), "clReleaseEvent");
  run.enqueue(); // in the device's queue again: behind what is under way in the other
  run.wait();
  run.wait();
}

// Y lies in memory that the run before, in a queue that is held, writes too.
TEST_F(ApiQueue, ARunInAnotherQueueIsBehindTheOneBeforeWithoutWaiting) {
  const cl_mem x = caller_->make_buffer(256);
  const cl_mem y = caller_->make_buffer(256);
  caller_->write(x, ramp(64));
  Session run = scale("2");
  run.input(0, buffer(x, 64));
  run.prepare();
  run.bind_output(0, buffer(y, 64));
  cl_command_queue first = caller_->make_queue(0);
  caller_->hold(first);
  EXPECT_TRUE(is_queued(run, first));
  void *made = nullptr;
  EXPECT_TRUE(is_queued(run, caller_->make_queue(0), &made));
  auto *event = static_cast<cl_event>(made);
  cl_int state = CL_COMPLETE;
  need(TILEFUSE_CL(clGetEventInfo)(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state,
                                   nullptr),
       "clGetEventInfo");
  EXPECT_NE(state, CL_COMPLETE) << "it ended before the one in front of it began";
  caller_->let_go();
  run.wait();
  EXPECT_EQ(caller_->read(y, 64)[63], 126);
  need(TILEFUSE_CL(clReleaseEvent)(event), "clReleaseEvent");
}

// Of three sizes one is kept: what is under way for another size is let go, and lives on.
TEST_F(ApiQueue, AnotherSizeDoesNotWaitForAQueueThatIsHeld) {
  const cl_mem x = caller_->make_buffer(256);
  caller_->write(x, ramp(64));
  Session run(Compiled(Model::tile(kScale), *device_, {{"attr.F", "3"}, {"kept", "1"}}));
  cl_command_queue held = caller_->make_queue(0);
  std::vector<cl_mem> results;
  for (const std::int64_t count : {64, 32, 16}) {
    results.push_back(caller_->make_buffer(256));
    run.input(0, buffer(x, count));
    if (count == 64) {
      run.prepare();
      caller_->hold(held);
    }
    run.bind_output(0, buffer(results.back(), count));
    EXPECT_TRUE(is_queued(run, held)) << count;
  }
  caller_->let_go();
  run.wait();
  EXPECT_EQ(caller_->read(results[0], 64)[63], 189);
  EXPECT_EQ(caller_->read(results[1], 32)[31], 93);
  EXPECT_EQ(caller_->read(results[2], 16)[15], 45);
}

TEST_F(ApiQueue, PartsOfABufferByTheirOffset) {
  const std::string info = device_->info();
  const std::size_t at = info.find("\"alignment\":");
  ASSERT_NE(at, std::string::npos) << info;
  const auto alignment = static_cast<std::size_t>(std::atoll(info.c_str() + at + 12));
  const cl_mem both = caller_->make_buffer(2 * alignment + 256);
  caller_->write(both, ramp(alignment / 4));
  Session run = scale("2");
  const auto count = static_cast<std::int64_t>(alignment / 4);
  run.input(0, buffer(both, count));
  run.prepare();
  run.bind_output(0, buffer(both, count, alignment));
  run.enqueue();
  EXPECT_EQ(caller_->read(both, 2, alignment)[1], 2);
  run.bind_output(0, buffer(both, count)); // over its own input
  EXPECT_NE(failure(TF_DEVICE, [&] { run.enqueue(); }).find("cannot work in this memory"),
            std::string::npos);
  EXPECT_NE(failure(TF_DEVICE, [&] { run.bind_output(0, buffer(both, count, 4)); })
                .find("byte_offset 0x4, which is no multiple"),
            std::string::npos);
  failure(TF_LIMIT,
          [&] { run.bind_output(0, buffer(both, count, ~std::uint64_t{alignment - 1})); });
}

TEST_F(ApiQueue, ANetworkGivesWhatItGivesOnTheHost) {
  const Compiled compiled(Model::read(kGlyphs), *device_, {{"batch", "1"}});
  std::vector<float> picture(3 * 32 * 32);
  for (std::size_t i = 0; i < picture.size(); ++i)
    picture[i] = static_cast<float>(i % 11) / 11;
  Session copied(compiled);
  copied.input(0, view(picture.data(), {1, 3, 32, 32}));
  copied.execute();
  EXPECT_EQ(copied.copies(), 2);
  const Output expected = copied.output(0);
  const cl_mem x = caller_->make_buffer(picture.size() * 4);
  const cl_mem y = caller_->make_buffer(static_cast<std::size_t>(expected.elements()) * 4);
  caller_->write(x, picture);
  Session run(compiled);
  run.input(0, {x, {kDLFloat, 32, 1}, {1, 3, 32, 32}, {kDLOpenCL, 0}});
  run.prepare();
  run.bind_output(0, {y, {kDLFloat, 32, 1}, expected.shape(), {kDLOpenCL, 0}});
  run.enqueue();
  const std::vector<float> got = caller_->read(y, static_cast<std::size_t>(expected.elements()));
  EXPECT_EQ(run.copies(), 0);
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_EQ(got[i], expected.data<float>()[i]) << i;
}

TEST_F(ApiQueue, WhatCannotBeQueuedSaysWhy) {
  std::vector<float> x = ramp(64);
  Session run = scale("2");
  run.input(0, vector_of(x));
  EXPECT_NE(failure(TF_UNSUPPORTED, [&] { run.enqueue(); }).find("input 0 would be copied"),
            std::string::npos);
  run.input(0, buffer(caller_->make_buffer(256), 64));
  EXPECT_NE(failure(TF_UNSUPPORTED, [&] { run.enqueue(); }).find("output 0 would be copied"),
            std::string::npos);
  Session on_cpu(Compiled(Model::tile(kScale), cpu(), {{"attr.F", "2"}}));
  on_cpu.input(0, vector_of(x));
  EXPECT_NE(failure(TF_UNSUPPORTED, [&] { on_cpu.enqueue(); }).find("has no queues"),
            std::string::npos);
  failure(TF_UNSUPPORTED, [&] {
    Device("cpu", {{"threads", "1"}}, Hooks{{}, {}, {}, caller_->queue()});
  });
}

TEST_F(ApiQueue, ObjectsThatDoNotFit) {
  OpenclCaller other;
  Session run = scale("2");
  const auto refused = [&](cl_mem memory) {
    run.input(0, buffer(memory, 64));
    return failure(TF_DEVICE, [&] { run.execute(); });
  };
  EXPECT_NE(refused(other.make_buffer(256)).find("is of another context"), std::string::npos);
  EXPECT_NE(refused(caller_->make_buffer(128)).find("has 128 bytes, 256 are needed"),
            std::string::npos);
  EXPECT_NE(refused(caller_->make_part(caller_->make_buffer(4096), 0, 1024)).find("a part of"),
            std::string::npos);
  run.input(0, buffer(caller_->make_buffer(256), 64));
  run.prepare();
  run.bind_output(0, buffer(caller_->make_buffer(256), 64));
  EXPECT_NE(
      failure(TF_DEVICE, [&] { run.enqueue(other.queue()); }).find("another device or context"),
      std::string::npos);
  cl_command_queue disorderly = caller_->make_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  EXPECT_NE(failure(TF_DEVICE, [&] { run.enqueue(disorderly); }).find("in any order"),
            std::string::npos);
  run.enqueue(); // goes on
  run.wait();
}

TEST_F(ApiQueue, HandlesGoWhileWorkIsUnderWay) {
  const cl_mem x = caller_->make_buffer(1 << 20);
  const cl_mem y = caller_->make_buffer(1 << 20);
  caller_->write(x, ramp(1 << 18));
  {
    Session run = scale("2");
    run.input(0, buffer(x, 1 << 18));
    run.prepare();
    run.bind_output(0, buffer(y, 1 << 18));
    run.enqueue();
    device_.reset();
  }
  EXPECT_EQ(caller_->read(y, 4)[3], 6);
}

} // namespace
} // namespace tilefuse
