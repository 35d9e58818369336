// SPDX-License-Identifier: Apache-2.0
// Runs on a CUDA driver that does nothing (tests/runtime/fake_cuda.cpp) and fails where it is told to:
// what was queued by then is waited for all the same.
#include "api_fixture.h"

#include <cstdlib>
#include <optional>

#include <dlfcn.h>

namespace tilefuse {
namespace {

using namespace testing;

template <class Function> Function *fake(const char *name) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  return library == nullptr ? nullptr : reinterpret_cast<Function *>(dlsym(library, name));
}

class ApiFailedLaunch : public ::testing::Test {
protected:
  void SetUp() override {
    calls_ = fake<const char *()>("fake_cuda_calls");
    fail_ = fake<void(const char *)>("fake_cuda_fail");
    if (calls_ == nullptr && std::getenv("TILEFUSE_FAKE_CUDA") != nullptr)
      FAIL() << "the driver of this test was not opened";
    if (calls_ == nullptr)
      GTEST_SKIP() << "libcuda.so.1 is not the one of this test: start it by ctest";
    const Device device("cuda", {{"cache", ""}});
    run_.emplace(Compiled(Model::tile(kScale), device, {{"attr.F", "2"}}));
    run_->input(0, place(0x10000));
    run_->prepare();
    run_->bind_output(0, place(0x20000));
    calls_();
  }
  static Tensor place(std::uintptr_t address) {
    return {reinterpret_cast<void *>(address), {kDLFloat, 32, 1}, {64}, {kDLCUDA, 0}, 0};
  }

  const char *(*calls_)() = nullptr;
  void (*fail_)(const char *) = nullptr;
  std::optional<Session> run_;
};

TEST_F(ApiFailedLaunch, OfAnExecutionIsWaitedFor) {
  fail_("graph in");
  failure(TF_DEVICE, [&] { run_->execute(); });
  EXPECT_NE(std::string(calls_()).find("graph in 1\nwait in 1\n"), std::string::npos);
  run_->execute();
}

TEST_F(ApiFailedLaunch, InAQueueIsWaitedForByTheNextRun) {
  fail_("graph in");
  failure(TF_DEVICE, [&] { run_->enqueue(reinterpret_cast<void *>(0x80)); });
  EXPECT_NE(std::string(calls_()).find("graph in 0x80\nmark in 0x80\n"), std::string::npos);
  run_->enqueue(reinterpret_cast<void *>(0x90));
  EXPECT_EQ(calls_(), std::string("behind mark in 0x90\ngraph in 0x90\nmark in 0x90\n"));
}

TEST_F(ApiFailedLaunch, InAQueueIsWaitedForByTheDestructor) {
  fail_("graph in");
  failure(TF_DEVICE, [&] { run_->enqueue(reinterpret_cast<void *>(0x80)); });
  calls_();
  run_.reset();
  EXPECT_EQ(std::string(calls_()).find("wait for mark\n"), 0u);
}

} // namespace
} // namespace tilefuse
