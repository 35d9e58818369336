// SPDX-License-Identifier: Apache-2.0
// The OpenCL runtime without the compiler: devices, selectors, targets, memory, builds, errors and
// the warm start.
#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <future>
#include <set>

#include <gtest/gtest.h>

#include "api/opencl_caller.h"
#include "runtime/opencl/opencl_platform.h"
#include "runtime/opencl/opencl_select.h"
#include "runtime/opencl/opencl_target.h"
#include "runtime/opencl_fixture.h"

namespace tilefuse::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kElems = 256;

// dst[i] = src[i] * factor, one work-item per element in groups of 64.
Package scale_package(const std::string &symbol, const std::string &factor) {
  Package package;
  package.name = "scale by " + factor;
  package.symbol = symbol;
  package.code = "__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void " + symbol +
                 "(__global const uchar* m0, ulong o0, __global uchar* m1, ulong o1) {\n"
                 "  __global const float* src = (__global const float*)(m0 + o0);\n"
                 "  __global float* dst = (__global float*)(m1 + o1);\n"
                 "  const int i = (int)get_global_id(0);\n  dst[i] = src[i] * " +
                 factor + ";\n}\n";
  package.blocks = kElems / 64;
  package.block_size = 64;
  package.args = {{kElems * 4, false}, {kElems * 4, true}};
  return package;
}

std::vector<float> counting() {
  std::vector<float> values(kElems);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i);
  return values;
}

std::vector<float> run_scale(Device &device, const Package &built) {
  std::vector<float> in = counting();
  std::vector<float> out(kElems, -1.0f);
  const std::vector<std::span<std::byte>> args = {std::as_writable_bytes(std::span(in)),
                                                  std::as_writable_bytes(std::span(out))};
  run_package(device, built, args);
  return out;
}

OpenclDeviceInfo described(const std::string &platform, const std::string &name,
                           cl_device_type type) {
  OpenclDeviceInfo info;
  info.platform_name = platform;
  info.name = name;
  info.type = type;
  info.version = "OpenCL 3.0";
  info.available = info.compiler = info.little_endian = true;
  info.global_bytes = info.max_allocation = 1 << 30;
  info.local_bytes = 48 << 10;
  info.local_is_hw = true;
  info.max_group = 1024;
  info.compute_units = 12;
  return info;
}

std::vector<OpenclDeviceInfo> invented() {
  std::vector<OpenclDeviceInfo> devices = {
      described("Portable Computing Language", "pthread-cpu", CL_DEVICE_TYPE_CPU),
      described("NVIDIA CUDA", "RTX 4060", CL_DEVICE_TYPE_GPU),
      described("NVIDIA CUDA", "GT 710", CL_DEVICE_TYPE_GPU)};
  devices[1].platform_index = devices[2].platform_index = 1;
  devices[2].device_index = 1;
  devices[1].vendor = devices[2].vendor = "NVIDIA Corporation";
  return devices;
}

std::string failure_of(const std::vector<OpenclDeviceInfo> &devices, const std::string &selector) {
  try {
    select_device(devices, selector);
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

TEST(OpenclSelect, NumbersNamesAndTheBest) {
  EXPECT_EQ(select_device(invented(), "opencl").name, "RTX 4060");
  EXPECT_EQ(select_device(invented(), "opencl:pocl").name, "pthread-cpu");
  EXPECT_EQ(select_device(invented(), "opencl:PORTABLE").name, "pthread-cpu");
  EXPECT_EQ(select_device(invented(), "opencl:0:0").name, "pthread-cpu");
  EXPECT_EQ(select_device(invented(), "opencl:1:1").name, "GT 710");
  EXPECT_EQ(select_device(invented(), "opencl:nvidia:gt 710").name, "GT 710");
  EXPECT_EQ(select_device(invented(), "opencl::gt").name, "GT 710");
}

TEST(OpenclSelect, ErrorsSayWhatThereIs) {
  for (const char *selector :
       {"opencl:2", "opencl:0:1", "opencl:nothing", "opencl:99999999999999999999999"}) {
    const std::string text = failure_of(invented(), selector);
    EXPECT_NE(text.find(selector), std::string::npos) << text;
    EXPECT_NE(text.find("there is opencl:1:1: GT 710 (NVIDIA CUDA)"), std::string::npos) << text;
  }
  EXPECT_NE(failure_of(invented(), "openclx").find("need opencl"), std::string::npos);
  EXPECT_NE(failure_of({}, "opencl").find("no OpenCL driver"), std::string::npos);
}

TEST(OpenclSelect, RejectedDevicesAreNotChosen) {
  std::vector<OpenclDeviceInfo> devices = invented();
  devices[1].compiler = false;
  devices[2].version = "OpenCL 1.1 CUDA";
  EXPECT_EQ(select_device(devices, "opencl").name, "pthread-cpu");
  EXPECT_NE(failure_of(devices, "opencl:1:0").find("no compiler"), std::string::npos);
  EXPECT_NE(failure_of(devices, "opencl:1:1").find("need OpenCL 1.2"), std::string::npos);
  devices[0].available = false;
  EXPECT_FALSE(rejection(devices[0]).empty());
  devices[0].available = true;
  devices[0].global_bytes = 0;
  EXPECT_FALSE(rejection(devices[0]).empty());
  devices[0].global_bytes = 1;
  devices[0].type = CL_DEVICE_TYPE_CUSTOM;
  EXPECT_FALSE(rejection(devices[0]).empty());
}

TEST(OpenclTarget, RowOfTheVendorThenOfTheKindThenBuiltIn) {
  Target nvidia;
  nvidia.name = "opencl_nvidia";
  nvidia.backend = "opencl";
  nvidia.lanes = LaneKind::WorkItem;
  nvidia.vector_f32 = 128;
  nvidia.max_group = 512; // less than the driver says
  Target gpu = nvidia;
  gpu.name = "opencl_gpu";
  const OpenclDeviceInfo info = invented()[1];
  EXPECT_EQ(target_of(info, {gpu, nvidia}).name, "opencl_nvidia");
  EXPECT_EQ(target_of(info, {nvidia}).max_group, 512);
  EXPECT_EQ(target_of(info, {gpu}).name, "opencl_gpu");
  OpenclDeviceInfo hopper = info;
  hopper.nvidia_generation = 90;
  Target sm90 = nvidia;
  sm90.name = "opencl_nvidia_sm90";
  EXPECT_EQ(target_of(hopper, {gpu, nvidia, sm90}).name, "opencl_nvidia_sm90");
  EXPECT_EQ(target_of(hopper, {gpu, nvidia}).name, "opencl_nvidia");
  EXPECT_EQ(target_of(hopper, {gpu, nvidia}).isa, "CL1.2 sm_90");
  EXPECT_EQ(target_of(info, {gpu, nvidia, sm90}).name, "opencl_nvidia");
  const Target built_in = target_of(info, {});
  EXPECT_EQ(built_in.lanes, LaneKind::WorkItem);
  EXPECT_EQ(built_in.compute_units, 12);
  EXPECT_EQ(built_in.local_bytes, 48 << 10);
  EXPECT_EQ(built_in.max_group, 1024);
  EXPECT_FALSE(built_in.fp64);
}

// A row's dot products of bytes are a device's that reports their extension, or NVIDIA's from
// compute capability 6.1 on.
TEST(OpenclTarget, DotProductsAreThoseThatTheDeviceHas) {
  Target row;
  row.name = "opencl_nvidia";
  row.backend = "opencl";
  row.lanes = LaneKind::WorkItem;
  row.dots = {{find_dot_op("dot4.u8.s8.s32"), 400}};
  OpenclDeviceInfo info = invented()[1];
  EXPECT_TRUE(target_of(info, {row}).dots.empty());
  for (const auto &[generation, has] :
       {std::pair{60, false}, {61, true}, {62, false}, {90, true}}) {
    info.nvidia_generation = generation;
    EXPECT_EQ(!target_of(info, {row}).dots.empty(), has) << generation;
  }
  info.nvidia_generation = 0;
  info.byte_dots = true;
  EXPECT_EQ(target_of(info, {row}).dots, row.dots);
}

TEST(OpenclTarget, ProcessorFollowsItsVectors) {
  Target narrow;
  narrow.name = "opencl_cpu";
  narrow.backend = "opencl";
  Target wide = narrow;
  wide.name = "opencl_cpu_avx512";
  wide.vector_registers = 32;
  OpenclDeviceInfo info = invented()[0];
  info.vector_f32 = 8;
  EXPECT_EQ(target_of(info, {narrow, wide}).name, "opencl_cpu");
  info.vector_f32 = 16;
  const Target target = target_of(info, {narrow, wide});
  EXPECT_EQ(target.name, "opencl_cpu_avx512");
  EXPECT_EQ(target.vector_f32, 16);
  EXPECT_EQ(target_of(info, {}).vector_registers, 32);
}

TEST(OpenclDevice, ListedDevicesOpen) {
  TILEFUSE_NEED_OPENCL(device);
  const std::vector<DeviceEntry> entries = list_opencl_devices();
  ASSERT_FALSE(entries.empty());
  std::size_t opened = 0;
  for (const DeviceEntry &entry : entries)
    if (entry.rejected.empty())
      opened += make_opencl_device(entry.selector, {})->target().backend == "opencl";
  EXPECT_GT(opened, 0u);
  EXPECT_FALSE(device->name().empty());
  EXPECT_NE(device->driver().find("OpenCL"), std::string::npos);
}

TEST(OpenclDevice, MemoryPartsAndZeros) {
  TILEFUSE_NEED_OPENCL(device);
  const std::int64_t step = std::max<std::int64_t>(device->alignment(), kElems * 4);
  const auto memory = device->allocate(3 * step);
  std::vector<float> values = counting();
  device->fill_zero({memory.get(), 0, 3 * step});
  device->write({memory.get(), step, kElems * 4}, std::as_bytes(std::span(values)));
  device->fill_zero({memory.get(), step + 8, 4});
  std::vector<float> got(kElems, 9.0f);
  device->read({memory.get(), step, kElems * 4}, std::as_writable_bytes(std::span(got)));
  values[2] = 0;
  EXPECT_EQ(got, values);
  device->read({memory.get(), 2 * step, kElems * 4}, std::as_writable_bytes(std::span(got)));
  EXPECT_EQ(got, std::vector<float>(kElems, 0.0f));

  // Two parts of one memory as arguments; the same part twice is one object.
  const Package built = device->build({scale_package("scale", "3.0f")})[0];
  const std::vector<Binding> bindings = {{memory.get(), step, kElems * 4},
                                         {memory.get(), 2 * step, kElems * 4}};
  const auto first = device->load(built, bindings);
  const auto second = device->load(built, bindings);
  device->launch(*first);
  device->launch(*second);
  device->read(bindings[1], std::as_writable_bytes(std::span(got)));
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_EQ(got[i], values[i] * 3);
  const std::vector<Launchable *> both = {first.get(), second.get()};
  const std::vector<double> seconds = device->time_each(both);
  ASSERT_EQ(seconds.size(), 2u);
  EXPECT_GT(seconds[0], 0);
  EXPECT_LT(seconds[0], 5);
}

// A kernel that stores three times the first part of its memory in the second.
struct Scaling {
  explicit Scaling(Device &device)
      : step(std::max<std::int64_t>(device.alignment(), kElems * 4)),
        memory(device.allocate(2 * step)), bindings{{memory.get(), 0, kElems * 4},
                                                    {memory.get(), step, kElems * 4}},
        kernel(device.load(device.build({scale_package("scale", "3.0f")})[0], bindings)) {}

  std::int64_t step;
  std::unique_ptr<Memory> memory;
  std::vector<Binding> bindings;
  std::unique_ptr<Launchable> kernel;
};

TEST(OpenclDevice, WhatIsTracedBeginsBehindWhatIsQueued) {
  TILEFUSE_NEED_OPENCL(device);
  const Scaling scaling(*device);
  const std::vector<Launchable *> twice = {scaling.kernel.get(), scaling.kernel.get()};
  const std::vector<float> values = counting();
  std::vector<float> got(kElems, 9.0f);
  device->write(scaling.bindings[0], std::as_bytes(std::span(values)));
  device->fill_zero(scaling.bindings[0]);
  EXPECT_GT(device->time_all(twice, true), 0);
  device->read(scaling.bindings[1], std::as_writable_bytes(std::span(got)));
  EXPECT_EQ(got, std::vector<float>(kElems, 0.0f));

  const std::vector<LaunchTime> times = device->trace(twice);
  ASSERT_EQ(times.size(), 2u);
  EXPECT_EQ(times[0].begin, 0);
  EXPECT_GE(times[1].begin, times[0].end);
}

TEST(OpenclDevice, LaunchesAreTimedBetweenTwoMarks) {
  TILEFUSE_NEED_OPENCL(device);
  const Scaling scaling(*device);
  const auto seconds = [&](std::size_t launches) {
    const std::vector<Launchable *> all(launches, scaling.kernel.get());
    return device->time_all(all, false);
  };
  EXPECT_EQ(seconds(0), 0);
  EXPECT_GT(seconds(1), 0);
  EXPECT_GT(seconds(2000), seconds(1));
}

TEST(OpenclDevice, TooMuchMemoryIsAnError) {
  TILEFUSE_NEED_OPENCL(device);
  EXPECT_THROW(device->allocate(std::int64_t{1} << 60), Error);
  EXPECT_THROW(device->allocate(-1), Error);
  EXPECT_EQ(device->allocate(0)->bytes(), 0);
}

// Buffers until none is left: the error says what was needed and what was free, and after giving
// one back the device goes on.
TEST(OpenclDevice, AFullDeviceSaysWhatWasNeededAndGoesOn) {
  TILEFUSE_NEED_OPENCL(device);
  constexpr std::int64_t kPiece = std::int64_t{1} << 30;
  constexpr std::size_t kMost = 1024; // pieces
  std::vector<std::unique_ptr<Memory>> held;
  std::string said;
  while (said.empty() && held.size() < kMost) {
    try {
      held.push_back(device->allocate(kPiece));
    } catch (const Error &error) {
      EXPECT_EQ(error.code(), ErrorCode::Device);
      said = error.message();
    }
  }
  ASSERT_FALSE(held.empty()) << said;
  EXPECT_NE(said.find("is out of memory: 1073741824 bytes are needed"), std::string::npos) << said;
  EXPECT_NE(said.find(" are free"), std::string::npos) << said;
  held.pop_back();
  const Package built = device->build({scale_package("scale", "3.0f")})[0];
  const std::int64_t step = std::max<std::int64_t>(device->alignment(), kElems * 4);
  const auto parts = device->allocate(2 * step);
  const std::vector<Binding> bindings = {{parts.get(), 0, kElems * 4},
                                         {parts.get(), step, kElems * 4}};
  std::vector<float> values = counting();
  device->write(bindings[0], std::as_bytes(std::span(values)));
  device->launch(*device->load(built, bindings));
  std::vector<float> got(kElems);
  device->read(bindings[1], std::as_writable_bytes(std::span(got)));
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_EQ(got[i], values[i] * 3);
}

TEST(OpenclDevice, OutlivedByItsMemoryAndKernels) {
  TILEFUSE_NEED_OPENCL(device);
  auto owner = make_opencl_device("opencl", {});
  const Package built = owner->build({scale_package("scale", "2.0f")})[0];
  auto memory = owner->allocate(4 * kElems * 4);
  const std::vector<Binding> bindings = {{memory.get(), 0, kElems * 4},
                                         {memory.get(), 0, 4 * kElems * 4}};
  auto launchable = owner->load(built, bindings);
  owner->launch(*launchable);
  owner.reset();
  memory.reset();
  launchable.reset();
}

TEST(OpenclBuild, ManyAtOnceKeepTheirOrder) {
  TILEFUSE_NEED_OPENCL(device);
  std::vector<Package> sources;
  for (int i = 0; i < 7; ++i)
    sources.push_back(scale_package("scale_" + std::to_string(i), std::to_string(i) + ".0f"));
  sources.push_back(sources[2]);                        // the same again
  sources.push_back(scale_package("scale_3", "30.0f")); // another with a symbol that is taken
  Package done = sources[0];
  done.format = CodeFormat::ElfObject;
  sources.push_back(done);
  const std::vector<Package> built = device->build(sources);
  ASSERT_EQ(built.size(), sources.size());
  EXPECT_EQ(built.back(), done);
  const std::vector<float> in = counting();
  const float factors[] = {0, 1, 2, 3, 4, 5, 6, 2, 30};
  for (std::size_t k = 0; k < std::size(factors); ++k) {
    EXPECT_EQ(built[k].format, CodeFormat::OpenclBinary);
    EXPECT_EQ(built[k].name, sources[k].name);
    const std::vector<float> out = run_scale(*device, built[k]);
    for (std::size_t i = 0; i < in.size(); ++i)
      ASSERT_EQ(out[i], in[i] * factors[k]) << k;
  }
}

// What a device cannot hold is found when memory is asked for, not by a crash of the build.
TEST(OpenclBuild, KernelsOfMoreMemoryThanTheDeviceHasAreBuilt) {
  TILEFUSE_NEED_OPENCL(device);
  Package huge = scale_package("huge", "2.0f");
  for (Argument &arg : huge.args)
    arg.bytes = std::int64_t{1} << 60;
  EXPECT_EQ(device->build({huge})[0].format, CodeFormat::OpenclBinary);
}

TEST(OpenclBuild, ErrorsNameTheKernelAndCarryTheLog) {
  TILEFUSE_NEED_OPENCL(device);
  for (const std::size_t count : {1u, 6u}) { // here, and by processes of their own
    std::vector<Package> sources;
    for (std::size_t i = 0; i < count; ++i)
      sources.push_back(scale_package("scale_" + std::to_string(i), "1.0f"));
    sources[count / 2].name = "broken one";
    sources[count / 2].code += "void f() { undeclared_thing = 1; }\n";
    try {
      device->build(sources);
      FAIL() << "a broken source was built";
    } catch (const Error &error) {
      EXPECT_EQ(error.code(), ErrorCode::Device);
      EXPECT_EQ(error.where(), "broken one");
      EXPECT_NE(std::string(error.what()).find("CL_BUILD_PROGRAM_FAILURE"), std::string::npos)
          << error.what();
    }
  }
}

TEST(OpenclBuild, BinariesThatAreNone) {
  TILEFUSE_NEED_OPENCL(device);
  Package package = scale_package("scale", "1.0f");
  const auto memory = device->allocate(kElems * 4);
  const std::vector<Binding> bindings(2, {memory.get(), 0, kElems * 4});
  EXPECT_THROW(device->load(package, bindings), Error);
  package.format = CodeFormat::OpenclBinary;
  package.code = "no binary at all";
  EXPECT_THROW(device->load(package, bindings), Error);
}

std::set<std::string> objects_in(const std::string &folder) {
  std::set<std::string> files;
  for (const auto &entry : fs::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".so")
      files.insert(entry.path().string());
  return files;
}

// One of the two processes of the test below.
TEST(OpenclWarmStart, DISABLED_Phase) {
  const std::string folder = std::getenv("TILEFUSE_TEST_FOLDER");
  const auto device = make_opencl_device("opencl", {});
  if (std::string(std::getenv("TILEFUSE_TEST_PHASE")) == "cold") {
    std::vector<Package> sources;
    for (int i = 0; i < 5; ++i)
      sources.push_back(scale_package("scale_" + std::to_string(i), std::to_string(i) + ".0f"));
    sources[1].blocks = 4096; // past what PoCL holds to be a small grid
    sources[1].args = {{4096 * 64 * 4, false}, {4096 * 64 * 4, true}};
    const std::vector<Package> built = device->build(sources);
    for (std::size_t i = 0; i < built.size(); ++i)
      std::ofstream(folder + "/" + std::to_string(i), std::ios::binary) << serialize(built[i]);
    return;
  }
  const auto memory = device->allocate(2 * 4096 * 64 * 4);
  std::vector<std::unique_ptr<Launchable>> kernels;
  for (int i = 0; i < 5; ++i) {
    std::ifstream in(folder + "/" + std::to_string(i), std::ios::binary);
    const Package built = deserialize(std::string{std::istreambuf_iterator<char>(in), {}});
    const std::int64_t bytes = built.args[0].bytes;
    const std::vector<Binding> bindings = {{memory.get(), 0, bytes},
                                           {memory.get(), 4096 * 64 * 4, bytes}};
    kernels.push_back(device->load(built, bindings));
  }
  const std::set<std::string> loaded = objects_in(std::getenv("POCL_CACHE_DIR"));
  for (const auto &kernel : kernels)
    device->launch(*kernel);
  device->finish();
  EXPECT_EQ(objects_in(std::getenv("POCL_CACHE_DIR")), loaded);
}

// PoCL writes each piece of machine code that it makes into its own cache. Loading a built package
// into a process with an empty one brings its code along, and running it must not add any.
TEST(OpenclWarmStart, CompilesNothing) {
  TILEFUSE_NEED_OPENCL(device);
  const TemporaryFolder folder("tilefuse_warm");
  for (const std::string phase : {"cold", "warm"}) {
    const std::string cache = folder / ("pocl_" + phase);
    fs::create_directories(cache);
    const std::string command =
        "POCL_CACHE_DIR='" + cache + "' TILEFUSE_TEST_PHASE=" + phase + " TILEFUSE_TEST_FOLDER='" +
        folder.path() + "' '" + fs::read_symlink("/proc/self/exe").string() +
        "' --gtest_also_run_disabled_tests --gtest_filter='OpenclWarmStart.DISABLED_Phase'";
    EXPECT_EQ(std::system(command.c_str()), 0) << phase;
  }
}

// The queue is the caller's and held: what is queued in it uses the memory until it is let go.
TEST(OpenclDevice, MemoryOfTheCallersAllocatorGoesBackBehindItsWork) {
  std::string why;
  if (open_opencl(&why) == nullptr && std::getenv("CI") == nullptr)
    GTEST_SKIP() << "no OpenCL device: " << why;
  testing::OpenclCaller caller;
  const cl_mem given = caller.make_buffer(kElems);
  std::atomic<bool> is_back = false;
  const auto device =
      make_opencl_device("opencl", {},
                         {.allocate = [&](std::size_t, std::size_t) -> void * { return given; },
                          .release = [&](void *, std::size_t) { is_back = true; },
                          .queue = caller.queue()});
  std::unique_ptr<Memory> memory = device->allocate(kElems);
  caller.hold(caller.queue());
  device->fill_zero({memory.get(), 0, kElems});
  const auto gone = std::async(std::launch::async, [&] { memory.reset(); });
  gone.wait_for(std::chrono::milliseconds(200));
  EXPECT_FALSE(is_back) << "under the work that uses it";
  caller.let_go();
  gone.wait();
  EXPECT_TRUE(is_back);
}

} // namespace
} // namespace tilefuse::runtime
