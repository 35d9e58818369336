// SPDX-License-Identifier: Apache-2.0
// Sessions: the cache makes a second start compile nothing, buffers share the arena without harm,
// bad inputs are refused.
#include <gtest/gtest.h>

#include <filesystem>

#include "model/devices.h"
#include "model/session.h"
#include "model/watched_device.h"
#include "nest/evaluate/reference.h"
#include "nest/fold/fold.h"
#include "paths.h"
#include "tile/tile.h"

namespace tilefuse {
namespace {

using program::HostTensor;
using program::TensorId;

// A small residual network with a concatenation: conv, relu, two branches, concat, add, pooling to
// one number a channel.
class Network {
public:
  Network() : ops_(tile::read_library(TILEFUSE_SOURCE_DIR "/ops")) {
    ops_.add("function pool(X[N, C, H, W]) -> (O) { O[n, c : N, C] = +(X[n, c, y, x]); }\n"
             "function join(A[N, C, H, W], B[N, D, H, W]) -> (O) {\n"
             "  P[n, c, y, x : N, C + D, H, W] = =(A[n, c, y, x]);\n"
             "  O[n, C + c, y, x : N, C + D, H, W] = =(B[n, c, y, x]) default P;\n"
             "}\n",
             "test");
    program_.name = "network";
    const TensorId x = program_.add(
        {.name = "x", .type = DType::F32, .shape = {1, 3, 12, 12}, .role = program::Role::Input});
    program_.inputs = {x};
    const TensorId a = relu(conv(x, 8, 3));
    const TensorId left = relu(conv(a, 8, 3));
    const TensorId right = relu(conv(a, 16, 1));
    const TensorId joined = call("join", {left, right});
    const TensorId mixed = relu(call("add", {conv(joined, 8, 1), a}));
    program_.outputs = {call("pool", {mixed})};
  }

  const program::Program &program() const { return program_; }

private:
  TensorId call(const char *function, std::vector<TensorId> args,
                const tile::Attributes &attributes = {}) {
    return ops_.instantiate(function, args, attributes, program_, function).at(0);
  }
  TensorId relu(TensorId x) { return call("relu", {x}); }
  TensorId conv(TensorId x, std::int64_t outputs, std::int64_t taps) {
    const std::int64_t channels = program_[x].shape[1];
    HostTensor weights =
        program::make_host_tensor("w", DType::F32, {outputs, channels, taps, taps});
    for (std::int64_t i = 0; i < program::elems(weights.shape); ++i)
      program::set(weights, i, static_cast<double>((i * 7 + outputs) % 5 - 2));
    const TensorId w = program_.add({.name = "w",
                                     .type = DType::F32,
                                     .shape = weights.shape,
                                     .role = program::Role::Constant,
                                     .data = std::make_shared<const program::Bytes>(weights.data)});
    return call(
        "conv2d", {x, w},
        {{"PY", taps / 2}, {"PX", taps / 2}, {"OY", std::int64_t{12}}, {"OX", std::int64_t{12}}});
  }

  tile::Library ops_;
  program::Program program_;
};

HostTensor image() {
  HostTensor x = program::make_host_tensor("x", DType::F32, {1, 3, 12, 12});
  for (std::int64_t i = 0; i < program::elems(x.shape); ++i)
    program::set(x, i, static_cast<double>(i % 3 - 1));
  return x;
}

// Reductions in two kernels give the same sums, through scratch in the arena.
TEST(Session, SplitReductionsAreExact) {
  tile::Library ops;
  ops.add("function pool_relu(X[N, C, H, W]) -> (O) {\n"
          "  T[n, c : N, C] = +(X[n, c, y, x]);\n  O = max(T, 0);\n}\n",
          "test");
  program::Program program;
  program.inputs = {program.add(
      {.name = "x", .type = DType::F32, .shape = {1, 3, 12, 12}, .role = program::Role::Input})};
  program.outputs = ops.instantiate("pool_relu", program.inputs, {}, program, "test");
  const HostTensor x = image();
  for (testing::NamedDevice &on : testing::devices()) {
    runtime::KernelCache cache("", [](const std::string &) {});
    model::Session whole(program, *on.device, cache, {.split = "none"});
    model::Session parts(program, *on.device, cache, {.split = "two y_x:16"});
    EXPECT_EQ(whole.stats().kernels, 1);
    EXPECT_EQ(parts.stats().kernels, 2);
    EXPECT_NE(parts.plan_text().find("split y_x:16"), std::string::npos);
    EXPECT_EQ(parts.run({{x}}).at(0).data, whole.run({{x}}).at(0).data) << on.name;
    std::vector<std::string> warnings;
    const auto warn = [&](const std::string &text) { warnings.push_back(text); };
    const model::Session unfit(program, *on.device, cache, {.split = "y_x:7", .warn = warn});
    EXPECT_EQ(unfit.stats().kernels, 1) << "stays whole";
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_NE(warnings[0].find("7 parts"), std::string::npos) << warnings[0];
  }
}

// Bias, residual and ReLU behind the groups of a convolution join its kernel.
TEST(Session, GroupedConvolutionIsOneKernel) {
  tile::Library ops = tile::read_library(TILEFUSE_SOURCE_DIR "/ops");
  program::Program program;
  const auto add = [&](const char *name, program::Shape shape, program::Role role) {
    HostTensor values = program::make_host_tensor(name, DType::F32, shape);
    for (std::int64_t i = 0; i < program::elems(shape); ++i)
      program::set(values, i, static_cast<double>(i * 7 % 5 - 2));
    const TensorId id =
        program.add({.name = name, .type = DType::F32, .shape = shape, .role = role});
    if (role == program::Role::Input)
      program.inputs.push_back(id);
    else
      program[id].data = std::make_shared<const program::Bytes>(values.data);
    return std::pair(id, values);
  };
  const auto [x, of_x] = add("x", {2, 6, 7, 5}, program::Role::Input);
  const auto [z, of_z] = add("z", {2, 12, 7, 5}, program::Role::Input);
  const TensorId w = add("w", {12, 2, 3, 3}, program::Role::Constant).first;
  const TensorId bias = add("bias", {12}, program::Role::Constant).first;
  const auto call = [&](const char *function, std::vector<TensorId> args,
                        const tile::Attributes &attributes = {}) {
    return ops.instantiate(function, args, attributes, program, function).at(0);
  };
  const auto of = [](std::int64_t value) { return value; };
  const TensorId sum =
      call("group_conv2d", {x, w},
           {{"PY", of(1)}, {"PX", of(1)}, {"OY", of(7)}, {"OX", of(5)}, {"G", of(3)}});
  program.outputs = {call("relu", {call("add", {call("add_channel2d", {sum, bias}), z})})};
  const HostTensor expected = nest::evaluate_program(program, {{"x", of_x}, {"z", of_z}}).at(0);
  for (testing::NamedDevice &on : testing::devices())
    for (const char *layout : {"nhwc", "nchw"}) {
      runtime::KernelCache cache("", [](const std::string &) {});
      model::Session session(program, *on.device, cache, {.layout = layout});
      EXPECT_EQ(session.stats().kernels, 1) << session.plan_text();
      EXPECT_EQ(session.run({{of_x, of_z}}).at(0).data, expected.data) << on.name << " " << layout;
    }
}

TEST(Session, EveryLayoutIsExact) {
  const Network network;
  const HostTensor x = image();
  const HostTensor expected = nest::evaluate_program(network.program(), {{"x", x}}).at(0);
  for (testing::NamedDevice &on : testing::devices()) {
    const std::string path =
        (std::filesystem::path(::testing::TempDir()) / "layouts" / "kernels.sqlite").string();
    std::filesystem::remove(path);
    const auto stats_of = [&](const std::string &layout) {
      runtime::KernelCache cache(path, [](const std::string &why) { FAIL() << why; });
      model::Session session(network.program(), *on.device, cache, {.layout = layout});
      EXPECT_EQ(session.run({{x}}).at(0).data, expected.data) << on.name << " " << layout;
      return session.stats();
    };
    for (const std::string layout : {"nhwc", "nchw", "blocked", "padded"})
      EXPECT_EQ(stats_of(layout).layout, layout);
    EXPECT_EQ(stats_of("nchw").conversions, 0);
    stats_of("auto");
    EXPECT_EQ(stats_of("auto").searched, 0) << "the choice is kept";
    runtime::KernelCache cache("", [](const std::string &) {});
    EXPECT_THROW(model::Session(network.program(), *on.device, cache, {.layout = "nhcw"}), Error);
  }
}

// Scores of 29 rows of 29, their largest and their sums, and what they weigh: read in place and
// through a view of padded rows.
TEST(Session, PaddedRowsAreExact) {
  const program::Program program = program::parse_program(R"(program "weigh" {
    input %0 "q" : f32[2, 29, 8]
    input %1 "k" : f32[2, 29, 8]
    input %2 "v" : f32[2, 29, 8]
    %3 "s" : f32[2, 29, 29] = sum[h, m, n, c](%0[h, m, c] * %1[h, n, c]) -> [h, m, n]
    %4 "p" : f32[2, 29, 29] = map[%3](max($0, 0))
    %5 "l" : f32[2, 29] = max[h, m, n](%4[h, m, n]) -> [h, m]
    %6 "w" : f32[58, 29] = view(%4)
    %7 "t" : f32[58] = sum[r, n](%6[r, n]) -> [r]
    %8 "o" : f32[2, 29, 8] = sum[h, m, c, n](%4[h, m, n] * %2[h, n, c]) -> [h, m, c]
    output %5 output %7 output %8 })");
  std::vector<HostTensor> inputs;
  for (const char *name : {"q", "k", "v"}) {
    inputs.push_back(program::make_host_tensor(name, DType::F32, {2, 29, 8}));
    for (std::int64_t i = 0; i < program::elems(inputs.back().shape); ++i)
      program::set(inputs.back(), i, static_cast<double>((i * 7 + name[0]) % 5 - 2));
  }
  const std::vector<HostTensor> expected =
      nest::evaluate_program(program, {{"q", inputs[0]}, {"k", inputs[1]}, {"v", inputs[2]}});
  for (testing::NamedDevice &on : testing::devices())
    for (const char *layout : {"padded", "nhwc"}) {
      runtime::KernelCache cache("", [](const std::string &) {});
      model::Session session(program, *on.device, cache, {.layout = layout});
      const std::vector<HostTensor> got = session.run({inputs});
      ASSERT_EQ(got.size(), expected.size());
      for (std::size_t k = 0; k < got.size(); ++k)
        EXPECT_EQ(got[k].data, expected[k].data) << on.name << " " << layout << " " << k;
    }
}

TEST(Session, EveryLevelOfFusionIsExact) {
  const Network network;
  const HostTensor x = image();
  const HostTensor expected = nest::evaluate_program(network.program(), {{"x", x}}).at(0);
  const search::FusionSettings settings[] = {{.level = poly::FuseLevel::None},
                                             {.level = poly::FuseLevel::All},
                                             {.level = poly::FuseLevel::All, .quota = 1000}};
  for (testing::NamedDevice &on : testing::devices())
    for (const search::FusionSettings &fusion : settings) {
      SCOPED_TRACE(on.name + " " + std::string(poly::to_string(fusion.level)));
      runtime::KernelCache cache("", [](const std::string &) {});
      model::Session session(network.program(), *on.device, cache, {.fusion = fusion});
      EXPECT_EQ(session.run({{x}}).at(0).data, expected.data);
      model::Session forced(network.program(), *on.device, cache,
                            {.algorithm = "direct", .fusion = fusion});
      EXPECT_EQ(forced.run({{x}}).at(0).data, expected.data);
    }
}

TEST(Session, NetworkIsExactAndRunsAgain) {
  const Network network;
  const HostTensor x = image();
  const HostTensor expected = nest::evaluate_program(network.program(), {{"x", x}}).at(0);
  for (testing::NamedDevice &on : testing::devices()) {
    SCOPED_TRACE(on.name);
    runtime::KernelCache cache("", [](const std::string &) {});
    model::Session session(network.program(), *on.device, cache, {});
    EXPECT_EQ(session.run({{x}}).at(0).data, expected.data);
    session.run_again();
    EXPECT_EQ(session.run({{x}}).at(0).data, expected.data);
  }
}

TEST(Session, ConcatenationCostsNoKernel) {
  const Network network;
  for (testing::NamedDevice &on : testing::devices()) {
    runtime::KernelCache cache("", [](const std::string &) {});
    model::Session session(network.program(), *on.device, cache, {});
    EXPECT_EQ(session.stats().kernels, 5) << session.plan_text();
  }
}

TEST(Session, SecondStartSearchesAndCompilesNothing) {
  const Network network;
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / "session_cache";
  for (testing::NamedDevice &on : testing::devices()) {
    std::filesystem::remove_all(folder);
    const auto start = [&] {
      runtime::KernelCache cache((folder / "kernels.sqlite").string(), [](const std::string &) {});
      model::Session session(network.program(), *on.device, cache, {});
      const program::Bytes data = session.run({{image()}}).at(0).data;
      return std::tuple(session.stats().compiled, session.stats().searched, session.plan_text(),
                        data);
    };
    const auto [compiled, searched, plan, data] = start();
    EXPECT_GT(compiled, 0) << on.name;
    EXPECT_GT(searched, 0) << on.name;
    EXPECT_EQ(start(), std::tuple(0, 0, plan, data)) << on.name;
  }
}

// A network is one list of launches: the host waits for outputs alone.
TEST(Session, NothingWaitsInsideANetwork) {
  const Network network;
  for (testing::NamedDevice &on : testing::devices()) {
    testing::WatchedDevice watched(*on.device);
    runtime::KernelCache cache("", [](const std::string &) {});
    model::Session session(network.program(), watched, cache, {});
    watched.calls();
    session.run({{image()}});
    EXPECT_EQ(watched.calls(), (std::vector<std::string>{"write", "launch 5", "read"})) << on.name;
    session.run_again();
    EXPECT_EQ(watched.calls(), (std::vector<std::string>{"launch 5", "finish"})) << on.name;
  }
}

TEST(Session, ProfileIsOneRunByTheDevicesClock) {
  const Network network;
  for (testing::NamedDevice &on : testing::devices()) {
    SCOPED_TRACE(on.name);
    runtime::KernelCache cache("", [](const std::string &) {});
    model::Session session(network.program(), *on.device, cache, {});
    session.run({{image()}});
    const std::vector<model::KernelReport> kernels = session.profile(3).kernels;
    ASSERT_EQ(kernels.size(), 5U);
    EXPECT_EQ(kernels[0].begin, 0);
    for (std::size_t k = 0; k < kernels.size(); ++k) {
      EXPECT_TRUE(kernels[k].seconds > 0 && kernels[k].seconds < 1) << kernels[k].seconds;
      EXPECT_GT(kernels[k].roofline, 0);
      if (on.device->target().lanes == LaneKind::Vector) { // ceilings are measured
        EXPECT_LE(kernels[k].roofline, 1);
      }
      EXPECT_GT(kernels[k].bytes, 0);
      EXPECT_TRUE(kernels[k].limit == "memory" || kernels[k].limit == "arithmetic");
      if (k > 0) {
        EXPECT_GE(kernels[k].begin, kernels[k - 1].begin + kernels[k - 1].seconds - 1e-9);
      }
    }
  }
}

TEST(Session, WrongInputIsRefused) {
  const Network network;
  testing::NamedDevice &on = testing::devices().front();
  runtime::KernelCache cache("", [](const std::string &) {});
  model::Session session(network.program(), *on.device, cache, {});
  EXPECT_THROW(session.run({}), Error);
  EXPECT_THROW(session.run({{program::make_host_tensor("x", DType::F32, {1, 3, 12, 11})}}), Error);
  EXPECT_THROW(session.run({{program::make_host_tensor("x", DType::F16, {1, 3, 12, 12})}}), Error);
}

// One sentence, and the device goes on.
TEST(Session, ModelsBeyondTheMemoryAreRefused) {
  const tile::Library ops = tile::read_library(TILEFUSE_SOURCE_DIR "/ops");
  const auto failure = [&](std::int64_t elems, runtime::Device &device) -> std::string {
    program::Program program;
    program.name = "huge";
    const std::vector<TensorId> x = {program.add(
        {.name = "x", .type = DType::F32, .shape = {1, elems}, .role = program::Role::Input})};
    program.inputs = x;
    program.outputs = ops.instantiate("relu", x, {}, program, "relu");
    runtime::KernelCache cache("", [](const std::string &) {});
    try {
      model::Session(program, device, cache, {});
    } catch (const Error &error) {
      return error.message();
    }
    return "no error";
  };
  for (testing::NamedDevice &on : testing::devices()) {
    EXPECT_NE(failure(std::int64_t{1} << 38, *on.device).find(" is out of memory: 2199023255552 "),
              std::string::npos)
        << failure(std::int64_t{1} << 38, *on.device);
    EXPECT_NE(failure(std::int64_t{1} << 41, *on.device).find("elements in memory"),
              std::string::npos);
    EXPECT_EQ(failure(4096, *on.device), "no error");
  }
}

} // namespace
} // namespace tilefuse
