// SPDX-License-Identifier: Apache-2.0
// What the CUDA back end asks of the driver, with a driver that does nothing (fake_cuda.cpp): a
// list of launches is recorded once and is one call from then on, and only reading and finishing
// wait. The device's own streams are 1, where work goes, 2, for writes beside it, 3, for what runs
// beside a timeline, and 4, for its asides.
#include <array>
#include <cstdlib>

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/device.h"
#include "runtime/timeline.h"

namespace tilefuse::runtime {
namespace {

const std::string kRecorded = "record in 1\nlaunch in 1\nlaunch in 1\nlaunch in 1\nrecorded\n";

// A function of the fake driver; null where the driver is another.
template <class Function> Function *fake(const char *name) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  return library == nullptr ? nullptr : reinterpret_cast<Function *>(dlsym(library, name));
}

class CudaCalls : public ::testing::Test {
protected:
  void SetUp() override {
    calls_ = fake<const char *()>("fake_cuda_calls");
    if (calls_ == nullptr && std::getenv("TILEFUSE_FAKE_CUDA") != nullptr)
      FAIL() << "the driver of this test was not opened";
    if (calls_ == nullptr)
      GTEST_SKIP() << "libcuda.so.1 is not the one of this test: start it by ctest";
    device_ = make_cuda_device("cuda", {});
    memory_ = device_->allocate(512);
    const Package package{.name = "k",
                          .symbol = "k",
                          .format = CodeFormat::CudaBinary,
                          .code = "x",
                          .args = {{16, true}}};
    for (auto &kernel : kernels_)
      kernel = device_->load(package, std::array{Binding{memory_.get(), 0, 16}});
    taken();
  }
  std::string taken() const { return calls_(); }
  std::vector<Launchable *> list() const {
    return {kernels_[0].get(), kernels_[1].get(), kernels_[2].get()};
  }

  const char *(*calls_)() = nullptr;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Memory> memory_;
  std::array<std::unique_ptr<Launchable>, 3> kernels_;
};

// A write beside kernels waits for itself, a copy for nothing.
TEST_F(CudaCalls, WritesBesideAndCopies) {
  const std::array<std::byte, 4> bytes{};
  EXPECT_TRUE(device_->overlaps_writes());
  device_->write_beside({memory_.get(), 0, 4}, bytes);
  EXPECT_EQ(taken(), "write in 2\nwait in 2\n");
  device_->copy({memory_.get(), 0, 4}, {memory_.get(), 256, 4});
  EXPECT_EQ(taken(), "copy in 1\n");
}

TEST_F(CudaCalls, AListIsOneGraphLaunch) {
  device_->launch_all(list());
  EXPECT_EQ(taken(), kRecorded + "graph in 1\n");
  device_->launch_all(list());
  device_->launch_all(list());
  EXPECT_EQ(taken(), "graph in 1\ngraph in 1\n");
  device_->launch_all(std::array{kernels_[1].get()});
  EXPECT_EQ(taken(), "record in 1\nlaunch in 1\nrecorded\ngraph in 1\n");
  device_->launch_all(list()); // several lists are kept
  EXPECT_EQ(taken(), "graph in 1\n");
}

// What runs beside kernels is forked behind one of them and joined in front of another, by events; the
// first run is sent as it is, the others are one graph.
TEST_F(CudaCalls, ATimelineIsForkedAndJoined) {
  const std::string text = "launch in 1\nmark in 1\nbehind mark in 3\ncopy in 3\nlaunch in 3\n"
                           "launch in 1\nTIME in 1\nmark in 3\nbehind mark in 1\nTIME in 1\n"
                           "launch in 1\n";
  const auto with = [&](const std::string &time) {
    std::string made = text;
    for (std::size_t place = 0; (place = made.find("TIME")) != std::string::npos;)
      made.replace(place, 4, time);
    return made;
  };
  const auto send = [&] {
    device_->copy({memory_.get(), 0, 4}, {memory_.get(), 256, 4});
    device_->launch(*kernels_[0]);
  };
  const std::unique_ptr<Recorded> recorded =
      device_->record({.kernels = list(), .beside = {{1, 2, send}}});
  recorded->launch();
  EXPECT_EQ(taken(), with("time"));
  recorded->launch();
  EXPECT_EQ(taken(), "record in 1\n" + with("time of a graph") + "recorded\ngraph in 1\n");
  recorded->launch();
  EXPECT_EQ(taken(), "graph in 1\n");
  EXPECT_EQ(recorded->waited(), 2e-3); // as the fake clock says
}

// Asides are forked behind the kernel in front and joined in front of another, or at the end; one that
// follows another waits for it alone.
TEST_F(CudaCalls, AsidesAreForkedAndJoined) {
  const std::string fork = "mark in 1\nbehind mark in 4\n", apart = "launch in 4\nmark in 4\n",
                    join = "behind mark in 1\n", own = "launch in 1\n";
  const auto sent = [&](Timeline timeline) {
    const std::unique_ptr<Recorded> recorded = device_->record(std::move(timeline));
    recorded->launch();
    const std::string first = taken();
    recorded->launch();
    EXPECT_EQ(taken(), "record in 1\n" + first + "recorded\ngraph in 1\n");
    return first;
  };
  EXPECT_EQ(sent({.kernels = list(), .asides = {{0, 2}}}), fork + apart + own + join + own);
  EXPECT_EQ(sent({.kernels = list(), .asides = {{1, 3}, {2, 3}}}),
            own + fork + apart + apart + join);
  EXPECT_EQ(sent({.kernels = list(), .asides = {{0, 2}, {2, 3}}}),
            fork + apart + own + join + fork + apart + join);
  // What is beside the second kernel follows the aside in front of it too.
  const auto send = [&] { device_->copy({memory_.get(), 0, 4}, {memory_.get(), 256, 4}); };
  const std::unique_ptr<Recorded> recorded =
      device_->record({.kernels = list(), .asides = {{0, 3}}, .beside = {{1, 3, send}}});
  recorded->launch();
  const std::string text = taken();
  EXPECT_EQ(text.substr(0, text.find("copy")),
            fork + apart + "mark in 1\nbehind mark in 3\nbehind mark in 3\n");
}

TEST_F(CudaCalls, ATimelineWithNothingBesideIsAList) {
  const std::unique_ptr<Recorded> recorded = device_->record({.kernels = list()});
  for (int run = 0; run < 3; ++run)
    recorded->launch();
  EXPECT_EQ(taken(),
            "launch in 1\nlaunch in 1\nlaunch in 1\n" + kRecorded + "graph in 1\ngraph in 1\n");
  EXPECT_EQ(recorded->waited(), 0);
}

// Work goes on where it went when what runs beside cannot be sent.
TEST_F(CudaCalls, ATimelineThatFailsLeavesTheStream) {
  const auto fail = [] { throw Error(ErrorCode::Device, "gone"); };
  const std::unique_ptr<Recorded> recorded =
      device_->record({.kernels = list(), .beside = {{3, 3, fail}}});
  EXPECT_THROW(recorded->launch(), Error);
  EXPECT_THROW(recorded->launch(), Error);
  taken();
  device_->finish();
  EXPECT_EQ(taken(), "wait in 1\n");
}

// Lists are recorded in a stream of the device's own, whose work goes where the caller says.
TEST_F(CudaCalls, WorkGoesToTheCallersStream) {
  device_->use_queue(reinterpret_cast<void *>(0x80));
  device_->launch_all(list());
  EXPECT_EQ(taken(), kRecorded + "graph in 0x80\n");
  const std::unique_ptr<Mark> mark = device_->mark();
  device_->use_queue(nullptr);
  device_->launch_all(list());
  mark->wait();
  EXPECT_EQ(taken(), "mark in 0x80\ngraph in 1\nwait for mark\n");
  device_->begin_behind(*mark); // nobody waits
  EXPECT_EQ(taken(), "behind mark in 1\n");
  EXPECT_NE(mark->release(), nullptr);
  Hooks hooks;
  hooks.queue = reinterpret_cast<void *>(0x90);
  const std::unique_ptr<Device> lent = make_cuda_device("cuda", {}, hooks);
  lent->finish();
  lent->use_queue(reinterpret_cast<void *>(0x80));
  lent->finish();
  lent->use_queue(nullptr);
  lent->finish();
  EXPECT_EQ(taken(), "wait in 0x90\nwait in 0x80\nwait in 0x90\n");
}

TEST_F(CudaCalls, StreamsOfAnotherContextAreRefused) {
  void *stream = fake<void *()>("fake_cuda_others_stream")();
  Hooks hooks;
  hooks.queue = stream;
  EXPECT_THROW(make_cuda_device("cuda", {}, hooks), Error);
  EXPECT_THROW(device_->use_queue(stream), Error);
  device_->finish();
  EXPECT_EQ(taken(), "wait in 1\n") << "where it was";
}

// A recording that fails leaves nothing behind, and the list is recorded again.
TEST_F(CudaCalls, AFailedRecordingIsDropped) {
  const auto fail = fake<void(const char *)>("fake_cuda_fail");
  const auto graphs = fake<int()>("fake_cuda_graphs");
  for (const char *call : {"launch in 1", "recorded"}) {
    fail(call);
    EXPECT_THROW(device_->launch_all(list()), Error) << call;
    EXPECT_EQ(graphs(), 0) << call;
  }
  taken();
  device_->launch_all(list());
  EXPECT_EQ(taken(), kRecorded + "graph in 1\n");
  EXPECT_EQ(graphs(), 0) << "of what was recorded only the executable form is kept";
}

// What is written beside kernels does not wait for the caller's either.
TEST_F(CudaCalls, CopiesGoToTheCallersStream) {
  std::array<std::byte, 4> bytes{};
  const Binding first{memory_.get(), 0, 4};
  const Binding second{memory_.get(), 256, 4};
  device_->use_queue(reinterpret_cast<void *>(0x80));
  device_->write(first, bytes);
  EXPECT_EQ(taken(), "write in 0x80\nwait in 0x80\n");
  device_->copy(first, second);
  device_->fill_zero(first);
  EXPECT_EQ(taken(), "copy in 0x80\nzero in 0x80\n");
  device_->read(second, bytes);
  EXPECT_EQ(taken(), "read in 0x80\nwait in 0x80\n");
  device_->write_beside(first, bytes);
  EXPECT_EQ(taken(), "write in 2\nwait in 2\n");
}

// A caller who takes turns between two places has a graph for each.
TEST_F(CudaCalls, PlacesThatComeAgainAreNotRecordedAgain) {
  const std::unique_ptr<Memory> other = device_->allocate(512);
  const auto turn = [&](Memory *to) {
    device_->rebind(*kernels_[0], 0, {to, 0, 16});
    device_->launch_all(list());
    return taken();
  };
  const std::string recorded = kRecorded + "graph in 1\n";
  EXPECT_EQ(turn(other.get()), recorded);
  EXPECT_EQ(turn(memory_.get()), recorded);
  EXPECT_EQ(turn(other.get()), "graph in 1\n");
  EXPECT_EQ(turn(memory_.get()), "graph in 1\n");
}

TEST_F(CudaCalls, MemoryComesFromTheCaller) {
  int held = 0;
  Hooks hooks;
  hooks.allocate = [&](std::size_t, std::size_t alignment) {
    ++held;
    return reinterpret_cast<void *>(alignment);
  };
  hooks.release = [&](void *, std::size_t) { --held; };
  {
    const std::unique_ptr<Device> device = make_cuda_device("cuda", {}, hooks);
    const std::unique_ptr<Memory> memory = device->allocate(100);
    EXPECT_EQ(cuda_address({memory.get(), 0, 100}), 256u);
    EXPECT_EQ(held, 1);
  }
  EXPECT_EQ(held, 0);
}

TEST_F(CudaCalls, OnlyReadingWritingAndFinishingWait) {
  device_->launch_all(list());
  EXPECT_EQ(taken(), kRecorded + "graph in 1\n");
  device_->launch(*kernels_[0]);
  device_->fill_zero({memory_.get(), 0, 16});
  EXPECT_EQ(taken(), "launch in 1\nzero in 1\n");
  std::array<std::byte, 16> data{};
  device_->read({memory_.get(), 0, 16}, data);
  EXPECT_EQ(taken(), "read in 1\nwait in 1\n");
  device_->finish();
  EXPECT_EQ(taken(), "wait in 1\n");
}

// Marks stand between the launches, and the host waits at the end.
TEST_F(CudaCalls, ATraceIsTimedByTheDevice) {
  const std::vector<LaunchTime> times = device_->trace(list());
  EXPECT_EQ(taken(), "mark in 1\nlaunch in 1\nmark in 1\nlaunch in 1\nmark in 1\nlaunch in 1\nmark "
                     "in 1\nwait in 1\n");
  ASSERT_EQ(times.size(), 3U);
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_DOUBLE_EQ(times[k].begin, static_cast<double>(k) * 2e-3);
    EXPECT_DOUBLE_EQ(times[k].seconds(), 2e-3);
  }
}

} // namespace
} // namespace tilefuse::runtime
