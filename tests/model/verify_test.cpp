// SPDX-License-Identifier: Apache-2.0
// A fault planted in a driver or in a pass of the compiler: verify names layer, kernel and pass and
// gives a case that repeats it; doctor names the case of its list. Without a fault both are silent.
#include <gtest/gtest.h>

#include <algorithm>

#include "emit/make_emitter.h"
#include "fuzz/kernel_mutations.h"
#include "model/devices.h"
#include "model/faulty_device.h"
#include "model/oracle/conformance.h"
#include "model/oracle/verify.h"
#include "runtime/cpu/cpu_device.h"
#include "schedule/schedule.h"
#include "tile/tile.h"

namespace tilefuse {
namespace {

using model::KernelCase;
using model::Reference;
using program::HostTensor;
using program::TensorId;
using testing::FaultyDevice;

// Two convolutions and what follows them.
program::Program network() {
  tile::Library ops = tile::read_library(TILEFUSE_SOURCE_DIR "/ops");
  program::Program program;
  program.name = "network";
  TensorId x = program.add(
      {.name = "x", .type = DType::F32, .shape = {1, 4, 9, 9}, .role = program::Role::Input});
  program.inputs = {x};
  for (const char *layer : {"first", "second"}) {
    HostTensor weights = program::make_host_tensor("w", DType::F32, {8, program[x].shape[1], 3, 3});
    for (std::int64_t i = 0; i < program::elems(weights.shape); ++i)
      program::set(weights, i, static_cast<double>(i * 7 % 5 - 2) / 4);
    const TensorId w = program.add({.name = "w",
                                    .type = DType::F32,
                                    .shape = weights.shape,
                                    .role = program::Role::Constant,
                                    .data = std::make_shared<const program::Bytes>(weights.data)});
    const tile::Attributes padded = {{"PY", std::int64_t{1}},
                                     {"PX", std::int64_t{1}},
                                     {"OY", std::int64_t{9}},
                                     {"OX", std::int64_t{9}}};
    const std::vector<TensorId> both = {x, w};
    const std::vector<TensorId> sum = ops.instantiate("conv2d", both, padded, program, layer);
    x = ops.instantiate("relu", sum, {}, program, layer).at(0);
  }
  program.outputs = {x};
  return program;
}

model::VerifyReport verify(runtime::Device &device, const model::VerifyOptions &options) {
  runtime::KernelCache cache("", [](const std::string &) {});
  return model::verify_model(network(), {}, device, cache, options);
}

// The network's second kernel, as the compiler makes it for a device.
KernelCase second_kernel(runtime::Device &device, std::string &name) {
  runtime::KernelCache cache("", [](const std::string &) {});
  const model::Compiled compiled = model::compile(network(), device, cache, {});
  const launch::Part &kernel = compiled.launches.at(1).launch.parts.front();
  name = compiled.package(compiled.launches[1]).name;
  return {.group = kernel.placed.group, .schedule = kernel.schedule, .target = device.target()};
}

TEST(Verify, IsSilentWithoutAFault) {
  for (testing::NamedDevice &on : testing::devices()) {
    const model::VerifyReport report = verify(*on.device, {.samples = 0});
    EXPECT_FALSE(report.fault) << on.name;
    EXPECT_EQ(report.kernels, 2);
    EXPECT_EQ(report.compared, 2 * 8 * 81);
  }
}

TEST(Verify, FollowsTheAlgorithmAskedFor) {
  const auto device = runtime::make_cpu_device(0);
  model::VerifyOptions options;
  options.session.algorithm = "im2col";
  const model::VerifyReport report = verify(*device, options);
  EXPECT_FALSE(report.fault);
  EXPECT_EQ(report.kernels, 4); // each layer's columns and their product
}

TEST(Verify, NamesLayerAndKernelOfAWrongDriver) {
  for (testing::NamedDevice &on : testing::devices()) {
    std::string name;
    second_kernel(*on.device, name);
    FaultyDevice faulty(*on.device);
    faulty.spoils = [&](const Package &package) { return package.name == name; };
    const model::VerifyReport report = verify(faulty, {.samples = 0});
    ASSERT_TRUE(report.fault) << on.name;
    EXPECT_EQ(report.fault->kernel, 1);
    EXPECT_EQ(report.fault->name, name);
    EXPECT_NE(report.fault->origin.find("second"), std::string::npos) << report.fault->origin;
    EXPECT_EQ(report.fault->divergence.stage, "on " + on.device->name());
    EXPECT_TRUE(report.fault->divergence.what.starts_with("element 647 is "))
        << report.fault->divergence.what;
    EXPECT_EQ(report.fault->bisection,
              "every pass is right in the simulator: the fault is in the code generator or the "
              "driver");
    // The one-file reproducer, read back, shows the fault on that driver and on no other.
    const std::string text = to_text(report.fault->reproducer);
    ASSERT_TRUE(model::is_case(text));
    const KernelCase stored = model::parse_case(text);
    EXPECT_EQ(stored, report.fault->reproducer);
    const Reference reference(stored);
    FaultyDevice all_spoilt(*on.device);
    all_spoilt.spoils = [](const Package &) { return true; };
    EXPECT_TRUE(model::check_on_device(reference, all_spoilt));
    EXPECT_FALSE(model::check_on_device(reference, *on.device));
  }
}

// A sum over half a million points takes as long to evaluate as thousands of short ones.
TEST(Verify, LongSumsAreSampledLess) {
  KernelCase one;
  one.group = {nest::parse_nest(R"(nest sum {
  index m 16 | n 524288
  slot 0 i8 8388608, 1 f32 16
  acc f32 = sum
  in 0 + 0 [m:16*524288, n:524288*1]
  out 1 + 0 [m:16*1]
  post acc
})")};
  one.schedule = schedule::scalar_schedule(one.group.anchor);
  one.values = model::Values::Reals;
  const Reference reference(one, 256);
  model::Slots slots = reference.before();
  poly::evaluate(one.group, std::vector<std::span<std::byte>>(slots.begin(), slots.end()));
  EXPECT_FALSE(reference.compare(slots));
  EXPECT_EQ(reference.compared(), 8);
}

// The compiler with a fault in its last pass, in one kernel.
class FaultyCompiler {
public:
  explicit FaultyCompiler(KernelCase faulty) : faulty_(std::move(faulty)) {}

  void lower(const KernelCase &from, const lower::Observer &observer) const {
    lower::lower(from.group, from.schedule, from.target,
                 [&](int number, std::string_view pass, const kernel::Kernel &kernel) {
                   const bool is_hit = pass == "unroll" && from.group == faulty_.group;
                   const auto wrong = is_hit ? fuzz::shorten_loops(kernel) : std::nullopt;
                   observer(number, pass, wrong ? *wrong : kernel);
                 });
  }
  // What it generates for that kernel.
  Package package() const {
    Package made;
    lower(faulty_, [&](int, std::string_view pass, const kernel::Kernel &kernel) {
      if (pass == "unroll")
        made = model::make_emitter(faulty_.target)->emit(kernel, faulty_.target);
    });
    return made;
  }

private:
  KernelCase faulty_;
};

TEST(Verify, NamesThePassThatIsWrong) {
  for (testing::NamedDevice &on : testing::devices()) {
    std::string name;
    const FaultyCompiler compiler(second_kernel(*on.device, name));
    FaultyDevice device(*on.device);
    device.replace = [&](const Package &package) {
      return package.name == name ? compiler.package() : package;
    };
    model::VerifyOptions options;
    options.lowering = [&](const KernelCase &from, const lower::Observer &observer) {
      compiler.lower(from, observer);
    };
    const model::VerifyReport report = verify(device, options);
    ASSERT_TRUE(report.fault) << on.name;
    EXPECT_EQ(report.fault->kernel, 1);
    EXPECT_EQ(report.fault->name, name);
    EXPECT_TRUE(report.fault->bisection.starts_with("simulated after unroll: "))
        << report.fault->bisection;
  }
}

TEST(Doctor, IsSilentWithoutAFault) {
  const auto device = runtime::make_cpu_device(0);
  const model::ConformanceReport report = model::run_conformance(*device, {.seconds = 0});
  for (const model::ConformanceFault &fault : report.faults)
    ADD_FAILURE() << fault.what << ": " << fault.divergence.what;
  EXPECT_GE(report.fixed, 100);
  EXPECT_GT(report.gflops, 0);
  EXPECT_GT(report.gbytes_per_s, 0);
}

TEST(Doctor, WhatTheDriverRefusesIsNotWrong) {
  const auto device = runtime::make_cpu_device(0);
  FaultyDevice faulty(*device);
  faulty.load_refusal = [](const Package &package) {
    return package.name.find("op_exp") != std::string::npos ? "groups of 8 at most" : "";
  };
  const model::ConformanceReport report = model::run_conformance(faulty, {.seconds = 0});
  EXPECT_TRUE(report.faults.empty());
  ASSERT_EQ(report.refusals.size(), 1U);
  EXPECT_EQ(report.refusals[0].what, "operation exp");
  EXPECT_EQ(report.refusals[0].why, "groups of 8 at most");
}

TEST(Doctor, NamesTheCaseThatIsWrong) {
  const auto device = runtime::make_cpu_device(0);
  FaultyDevice faulty(*device);
  faulty.spoils = [](const Package &package) { return package.name.starts_with("gemm_"); };
  const model::ConformanceReport report = model::run_conformance(faulty, {.seconds = 0});
  ASSERT_EQ(report.faults.size(), 1U);
  EXPECT_EQ(report.faults[0].what, "matrix product");
  const KernelCase stored = model::parse_case(to_text(report.faults[0].reproducer));
  EXPECT_TRUE(model::check_on_device(Reference(stored), faulty));
  EXPECT_FALSE(model::check_on_device(Reference(stored), *device));
}

} // namespace
} // namespace tilefuse
