// SPDX-License-Identifier: Apache-2.0
// What workers of CUDA devices ask of NCCL, and in which order, with an NCCL and a driver that do
// nothing (fake_nccl.cpp, fake_cuda.cpp).
#include <cstdlib>
#include <string>

#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/nccl_workers.h"
#include "runtime/timeline.h"

namespace tilefuse::runtime {
namespace {

using Calls = const char *(*)();

Calls fake_calls() {
  void *library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  return library == nullptr ? nullptr : reinterpret_cast<Calls>(dlsym(library, "fake_nccl_calls"));
}

class NcclCalls : public ::testing::Test {
protected:
  void SetUp() override {
    calls_ = fake_calls();
    if (calls_ == nullptr && std::getenv("TILEFUSE_FAKE_CUDA") != nullptr)
      FAIL() << "the NCCL of this test was not opened";
    if (calls_ == nullptr)
      GTEST_SKIP() << "libnccl.so.2 is not the one of this test: start it by ctest";
    device_ = make_cuda_device("cuda", {});
    memory_ = device_->allocate(4096);
    calls_();
  }
  std::unique_ptr<Workers> join(int rank) {
    return make_nccl_workers({rank, 2,
                              [](const std::string &own) {
                                return own.substr(0, 1) == "i" ? own : std::string(128, 'f');
                              }},
                             *device_);
  }
  // An address of the memory's.
  std::int64_t at(std::int64_t offset) const {
    return static_cast<std::int64_t>(cuda_address({memory_.get(), offset, 4}));
  }

  Calls calls_ = nullptr;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Memory> memory_;
};

TEST_F(NcclCalls, TheFirstMakesTheIdAndAllJoinByIt) {
  {
    const std::unique_ptr<Workers> first = join(0);
    EXPECT_EQ(first->count(), 2);
    EXPECT_STREQ(calls_(), "id\njoin 0 of 2 by ii\n");
  }
  EXPECT_STREQ(calls_(), "leave\n");
  const std::unique_ptr<Workers> second = join(1);
  EXPECT_EQ(second->rank(), 1);
  EXPECT_STREQ(calls_(), "join 1 of 2 by ff\n");
}

TEST_F(NcclCalls, PartsAreSwappedInOneGroup) {
  const std::unique_ptr<Workers> second = join(1);
  calls_();
  second->swap_parts({memory_.get(), 0, 1024}, {memory_.get(), 2048, 1024});
  EXPECT_EQ(calls_(), fmt::format("begin\n"
                                  "send {} 512 of 0 to 0\nreceive {} 512 of 0 from 0\n"
                                  "end\n",
                                  at(0), at(2048)));
}

TEST_F(NcclCalls, PartsAreGatheredInPlace) {
  const std::unique_ptr<Workers> second = join(1);
  calls_();
  second->gather_parts({memory_.get(), 256, 1024});
  EXPECT_EQ(calls_(), fmt::format("gather {} {} 512 of 0\n", at(768), at(256)));
  second->sum({memory_.get(), 256, 1024});
  EXPECT_EQ(calls_(), fmt::format("sum {} {} 256 of 7 by 0\n", at(256), at(256)));
}

// What NCCL is asked beside a timeline goes to the stream beside, once plainly and once for the graph.
TEST_F(NcclCalls, ExchangesAreRecorded) {
  const std::unique_ptr<Workers> second = join(1);
  EXPECT_TRUE(second->overlaps());
  calls_();
  const std::unique_ptr<Recorded> recorded =
      device_->record({.beside = {{0, 0, [&] {
                                     second->gather_parts({memory_.get(), 256, 1024});
                                   }}}});
  const std::string gather = fmt::format("gather {} {} 512 of 0\n", at(768), at(256));
  const cuda::Stream before = cuda_stream(*device_);
  for (const std::string &expected : {gather, gather, std::string()}) {
    recorded->launch();
    EXPECT_EQ(calls_(), expected);
    EXPECT_EQ(cuda_stream(*device_), before);
  }
}

// Sums by multicast would have an order of their own.
TEST_F(NcclCalls, MulticastStaysOff) {
  const std::unique_ptr<Workers> first = join(0);
  const char *said = std::getenv("NCCL_NVLS_ENABLE");
  ASSERT_NE(said, nullptr);
  EXPECT_STREQ(said, "0");
}

} // namespace
} // namespace tilefuse::runtime
