// SPDX-License-Identifier: Apache-2.0
// Runs: the caller's memory, threads, runs in the background, no growth.
#include "api_fixture.h"

#include <atomic>
#include <malloc.h>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

namespace tilefuse {
namespace {

using namespace testing;

TEST(ApiRun, KernelsWorkInTheCallersMemory) {
  const Device device = cpu();
  Session run(Compiled(Model::tile(kScale), device, {{"attr.F", "3"}}));
  std::vector<float> x = ramp(37);
  std::vector<float> y(37);
  std::vector<float> z(37);
  run.input(0, vector_of(x));
  run.prepare();
  run.bind_output(0, vector_of(y));
  run.execute();
  EXPECT_EQ(run.copies(), 0);
  EXPECT_EQ(y[36], 108);
  EXPECT_EQ(run.output(0).data<float>(), y.data());
  x[36] = 1; // seen by the next run, which writes elsewhere
  run.bind_output(0, vector_of(z));
  run.execute();
  EXPECT_EQ(z[36], 3);
  EXPECT_EQ(y[36], 108);
}

TEST(ApiRun, AddressesNeedNoMoreThanTheirTypes) {
  Session run(Compiled(Model::tile(kScale), cpu(), {{"attr.F", "2"}}));
  std::vector<float> x = ramp(68);
  std::vector<float> y(68);
  for (std::int64_t shift = 0; shift < 4; ++shift) {
    run.input(0, view(x.data() + shift, {64}));
    run.prepare();
    run.bind_output(0, view(y.data() + shift, {64}));
    run.execute();
    EXPECT_EQ(run.copies(), 0);
    EXPECT_EQ(y[static_cast<std::size_t>(shift + 63)], static_cast<float>(2 * (shift + 63)));
  }
}

// Elements that end where memory does: an access behind them ends the test.
class Fenced {
public:
  explicit Fenced(std::size_t count) : count_(count) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    bytes_ = (count * sizeof(float) + page - 1) / page * page + page;
    base_ = static_cast<char *>(
        mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base_ + bytes_ - page, page, PROT_NONE);
    data_ = reinterpret_cast<float *>(base_ + bytes_ - page) - count;
  }
  ~Fenced() { munmap(base_, bytes_); }
  Fenced(const Fenced &) = delete;
  Fenced &operator=(const Fenced &) = delete;
  float *data() const { return data_; }
  std::size_t count() const { return count_; }

private:
  std::size_t count_;
  std::size_t bytes_ = 0;
  char *base_ = nullptr;
  float *data_ = nullptr;
};

TEST(ApiRun, NothingBehindTheCallersMemoryIsTouched) {
  const Device device = cpu();
  for (const char *function : {kScale, kReverse}) {
    Session run(Compiled(Model::tile(function), device,
                         function == kScale ? Options{{"attr.F", "2"}} : Options{}));
    for (const std::size_t size : {1, 3, 7, 16, 17, 33, 100}) {
      const Fenced x(size);
      const Fenced y(size);
      run.input(0, view(x.data(), {static_cast<std::int64_t>(size)}));
      run.prepare();
      run.bind_output(0, view(y.data(), {static_cast<std::int64_t>(size)}));
      run.execute();
      EXPECT_EQ(run.copies(), 0);
    }
  }
  const Fenced image(3 * 32 * 32);
  Session glyphs(Compiled(Model::read(kGlyphs), device, {{"batch", "1"}}));
  glyphs.input(0, view(image.data(), {1, 3, 32, 32}));
  glyphs.execute();
  EXPECT_EQ(glyphs.copies(), 0);
}

TEST(ApiRun, OutputsLieInMemoryOfTheRun) {
  Session run(Compiled(Model::tile(kReverse), cpu()));
  std::vector<float> x = ramp(5);
  run.input(0, vector_of(x));
  run.execute();
  const Output y = run.output(0);
  EXPECT_EQ(y.shape(), std::vector<std::int64_t>{5});
  EXPECT_EQ(y.data<float>()[0], 4);
  EXPECT_THROW(y.data<double>(), std::bad_cast);
}

TEST(ApiRun, AnOutputMayOverwriteAnInput) {
  Session run(Compiled(Model::tile(kReverse), cpu()));
  std::vector<float> x = ramp(100);
  run.input(0, vector_of(x));
  run.prepare();
  run.bind_output(0, vector_of(x));
  run.execute();
  EXPECT_EQ(run.copies(), 1);
  for (std::size_t i = 0; i < x.size(); ++i)
    ASSERT_EQ(x[i], static_cast<float>(99 - i));
}

TEST(ApiRun, OpenclCopies) {
  std::unique_ptr<Device> device;
  try {
    device = std::make_unique<Device>("opencl");
  } catch (const Error &error) {
    GTEST_SKIP() << error.what();
  }
  Session run(Compiled(Model::tile(kScale), *device, {{"attr.F", "3"}}));
  std::vector<float> x = ramp(37);
  std::vector<float> y(37);
  run.input(0, vector_of(x));
  run.prepare();
  run.bind_output(0, vector_of(y));
  run.execute();
  EXPECT_EQ(run.copies(), 2);
  EXPECT_EQ(y[36], 108);
}

TEST(ApiRun, HandlesGoInAnyOrder) {
  auto device = std::make_unique<Device>("cpu", Options{{"threads", "1"}});
  auto model = std::make_unique<Model>(Model::tile(kScale));
  auto compiled = std::make_unique<Compiled>(*model, *device, Options{{"attr.F", "2"}});
  Session run(*compiled);
  compiled.reset();
  device.reset();
  model.reset();
  std::vector<float> x = ramp(8);
  run.input(0, vector_of(x));
  run.execute();
  EXPECT_EQ(run.output(0).data<float>()[7], 14);
}

void run_in_threads(const std::vector<Device> &devices) {
  constexpr int kThreads = 8;
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      const Device &device = devices[static_cast<std::size_t>(t) % devices.size()];
      Session run(Compiled(Model::tile(kScale), device, {{"attr.F", std::to_string(t)}}));
      std::vector<float> x = ramp(1000);
      run.input(0, vector_of(x));
      for (int i = 0; i < 50; ++i) {
        run.execute();
        right += run.output(0).data<float>()[999] == 999.0f * static_cast<float>(t) ? 1 : 0;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(right, kThreads * 50);
}

TEST(ApiRun, ThreadsShareADevice) { run_in_threads({Device("cpu", {{"threads", "2"}})}); }

TEST(ApiRun, ThreadsHaveADeviceEach) {
  std::vector<Device> devices;
  for (int t = 0; t < 8; ++t)
    devices.push_back(cpu());
  run_in_threads(devices);
}

TEST(ApiRun, InTheBackground) {
  Session run(Compiled(Model::tile(kScale), cpu(), {{"attr.F", "2"}}));
  std::vector<float> x = ramp(1000);
  run.input(0, vector_of(x));
  run.wait(); // for nothing
  std::atomic<int> ended{-1};
  ASSERT_EQ(tf_run_start(
                run.get(),
                [](void *to, tf_status status) { *static_cast<std::atomic<int> *>(to) = status; },
                &ended),
            TF_OK);
  run.wait();
  EXPECT_EQ(ended, TF_OK);
  EXPECT_EQ(run.output(0).data<float>()[999], 1998);
  Session unbound(Compiled(Model::tile(kScale), cpu(), {{"attr.F", "2"}}));
  unbound.start();
  EXPECT_NE(failure(TF_SHAPE, [&] { unbound.wait(); }).find("'X' is not bound"), std::string::npos);
}

TEST(ApiRun, TenThousandRunsDoNotGrow) {
  Session run(Compiled(Model::tile(kScale), cpu(), {{"attr.F", "2"}}));
  std::vector<float> x = ramp(64);
  std::vector<float> y(64);
  const auto some = [&](int runs) {
    for (int i = 0; i < runs; ++i) {
      run.input(0, vector_of(i % 2 == 0 ? x : y));
      run.execute();
      run.output(0);
    }
    return mallinfo2().uordblks;
  };
  const auto before = some(100);
  EXPECT_LE(some(10000), before + 4096);
}

} // namespace
} // namespace tilefuse
