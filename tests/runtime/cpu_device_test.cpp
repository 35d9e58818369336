// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <span>

#include <gtest/gtest.h>

#include "base/error.h"
#include "emit/emitter.h"
#include "emit/llvm/llvm_module.h"
#include "kernel/build.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/device.h"
#include "runtime/make_device.h"

namespace tilefuse::runtime {
namespace {

using kernel::BufferId;
using kernel::Builder;
using kernel::ForKind;
using kernel::Space;

// out[i] = in[i] + 1 through scratch, `per_block` elements in a block.
Package add_one(const Target &target, std::int64_t blocks, std::int64_t per_block, double flops) {
  kernel::Kernel k;
  k.name = "add_one";
  k.blocks = blocks;
  k.flops = flops;
  Builder b(k);
  const BufferId in = b.buffer({"in", Space::Global, {DType::F32, 1}, blocks * per_block});
  const BufferId out = b.buffer({"out", Space::Global, {DType::F32, 1}, blocks * per_block, true});
  const BufferId tile = b.buffer({"tile", Space::Local, {DType::F32, 1}, per_block});
  const auto i = b.variable("i", {DType::I32, 1});
  const auto j = b.variable("j", {DType::I32, 1});
  const auto base = b.mul(b.block(), b.integer(per_block));
  const auto fill = b.loop(i, ForKind::Serial, b.integer(0), b.integer(per_block), 1,
                           b.store(tile, b.var(i), b.load(in, b.add(base, b.var(i)))));
  const auto flush = b.loop(j, ForKind::Serial, b.integer(0), b.integer(per_block), 1,
                            b.store(out, b.add(base, b.var(j)),
                                    b.add(b.load(tile, b.var(j)), b.real(1, {DType::F32, 1}))));
  k.body = b.block({fill, flush});
  std::string why;
  const auto emitter = emit::make_llvm_emitter(&why);
  if (emitter == nullptr)
    throw Error(ErrorCode::Device, why);
  return emitter->emit(k, target);
}

void check_add_one(int threads, std::int64_t blocks, std::int64_t per_block, double flops) {
  const auto device = make_cpu_device(threads);
  const std::int64_t bytes = blocks * per_block * 4;
  const auto memory = device->allocate(2 * bytes + 64);
  const std::int64_t second = (bytes + 63) / 64 * 64;
  const std::vector<Binding> bindings = {{memory.get(), 0, bytes}, {memory.get(), second, bytes}};
  std::vector<float> values(static_cast<std::size_t>(blocks * per_block));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i % 1000);
  device->write(bindings[0], std::as_bytes(std::span(values)));
  device->fill_zero(bindings[1]);
  const std::vector<Package> built =
      device->build({add_one(device->target(), blocks, per_block, flops)});
  const auto kernel = device->load(built.at(0), bindings);
  device->launch(*kernel);
  device->launch(*kernel);
  device->finish();
  std::vector<float> result(values.size());
  device->read(bindings[1], std::as_writable_bytes(std::span(result)));
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(result[i], values[i] + 1) << i;
}

TEST(CpuDevice, MeasuresItsCeilings) {
  const auto device = make_cpu_device(1);
  const Ceilings ceilings = device->ceilings();
  EXPECT_GT(ceilings.flops_per_s, 1e9);
  ASSERT_GE(ceilings.levels.size(), 3U); // two caches and memory at least
  EXPECT_GT(ceilings.levels.front().bytes_per_s, ceilings.levels.back().bytes_per_s);
}

TEST(CpuDevice, RunsEveryBlockOnAnyNumberOfThreads) {
  for (int threads : {1, 2, 3, 8})
    for (std::int64_t blocks : {1, 2, 7, 1000})
      for (double flops : {0.0, 1e9})
        check_add_one(threads, blocks, 33, flops);
}

TEST(CpuDevice, ManyTinyBlocks) { check_add_one(2, 100000, 1, 1e8); }

// 2^-126 is f32's smallest normal number.
TEST(CpuDevice, TakesSubnormalNumbersAsZero) {
  constexpr float kTiny = 0x1p-140F;
  for (const int threads : {1, 3}) {
    kernel::Kernel k;
    k.name = "doubled";
    k.blocks = 16;
    k.flops = 1e9; // worth sharing
    Builder b(k);
    const BufferId in = b.buffer({"in", Space::Global, {DType::F32, 1}, k.blocks});
    const BufferId out = b.buffer({"out", Space::Global, {DType::F32, 1}, k.blocks, true});
    k.body = b.store(out, b.block(), b.mul(b.load(in, b.block()), b.real(2, {DType::F32, 1})));
    const auto device = make_cpu_device(threads);
    const auto memory = device->allocate(128);
    const std::vector<Binding> bindings = {{memory.get(), 0, 64}, {memory.get(), 64, 64}};
    const std::vector<float> values(16, kTiny);
    device->write(bindings[0], std::as_bytes(std::span(values)));
    const auto emitter = emit::make_llvm_emitter(nullptr);
    ASSERT_NE(emitter, nullptr);
    const auto kernel = device->load(emitter->emit(k, device->target()), bindings);
    device->launch(*kernel);
    std::vector<float> result(16, 1);
    device->read(bindings[1], std::as_writable_bytes(std::span(result)));
    EXPECT_EQ(result, std::vector<float>(16, 0.0F)) << threads;
    const volatile float mine = kTiny; // the caller's own arithmetic is as it was
    EXPECT_EQ(mine * 2, 0x1p-139F) << threads;
  }
}

TEST(CpuDevice, TimesEachKernel) {
  const auto device = make_cpu_device(1);
  const auto memory = device->allocate(4096);
  const std::vector<Binding> bindings = {{memory.get(), 0, 64}, {memory.get(), 64, 64}};
  const auto kernel = device->load(add_one(device->target(), 1, 16, 0), bindings);
  const std::vector<Launchable *> twice = {kernel.get(), kernel.get()};
  const std::vector<double> seconds = device->time_each(twice);
  ASSERT_EQ(seconds.size(), 2U);
  for (double spent : seconds)
    EXPECT_TRUE(spent > 0 && spent < 10);
}

TEST(CpuDevice, DescribesTheMachine) {
  const auto device = make_cpu_device(0);
  const Target &target = device->target();
  EXPECT_EQ(target.backend, "llvm");
  EXPECT_GE(target.compute_units, 1);
  EXPECT_EQ(device->driver(), target.isa + " elf1");
  EXPECT_TRUE(target.vector_f32 == 8 || target.vector_f32 == 16);
  EXPECT_EQ(make_cpu_device(0)->target(), target);
}

TEST(CpuDevice, KeepsToInstructionsByName) {
  const auto device = make_device("cpu:avx2", 1, {});
  const Target &target = device->target();
  EXPECT_EQ(target.name, "cpu_avx2");
  EXPECT_EQ(target.isa, "x86-64-v3");
  EXPECT_EQ(target.vector_f32, 8);
  ASSERT_EQ(target.dots.size(), 1U);
  EXPECT_EQ(target.dots[0].op->name, "dot2.s16.s16.s32");
}

template <class Action> std::string failure(const Action &action) {
  try {
    action();
  } catch (const Error &error) {
    EXPECT_EQ(error.code(), ErrorCode::Device);
    return error.message();
  }
  return "";
}

TEST(CpuDevice, RefusesWhatItCannotRun) {
  const auto device = make_cpu_device(1);
  const auto memory = device->allocate(256);
  Package package = add_one(device->target(), 1, 16, 0);
  const std::vector<Binding> good = {{memory.get(), 0, 64}, {memory.get(), 64, 64}};
  const auto load = [&](const std::vector<Binding> &bindings) {
    return failure([&] { device->load(package, bindings); });
  };
  EXPECT_EQ(load(good), "");
  EXPECT_NE(load({good[0]}).find("takes 2 arguments, got 1"), std::string::npos);
  EXPECT_NE(load({good[0], {memory.get(), 4, 64}}).find("multiple of 64"), std::string::npos);
  EXPECT_NE(load({good[0], {memory.get(), 64, 60}}).find("64 are needed"), std::string::npos);
  EXPECT_NE(load({good[0], {memory.get(), 256, 64}}).find("binding"), std::string::npos);
  EXPECT_NE(load({good[0], {nullptr, 0, 64}}).find("no memory"), std::string::npos);
  package.block_size = 64;
  EXPECT_NE(load(good).find("64 work-items"), std::string::npos);
  package.format = CodeFormat::OpenclSource;
  EXPECT_NE(load(good).find("machine code"), std::string::npos);
  EXPECT_NE(failure([&] { device->build({package}); }).find("'add_one'"), std::string::npos);
}

TEST(CpuDevice, RefusesInstructionsThatAreNone) {
  EXPECT_EQ(
      failure([] { make_device("cpu:sse", 1, {}); }),
      "there are no instructions 'sse', need avx512_amx, avx512_vnni, avx512, avx2_vnni, avx2");
}

TEST(CpuDevice, GeneratedCodeCutOffAnywhereIsRefused) {
  const auto device = make_cpu_device(1);
  const auto memory = device->allocate(256);
  const std::vector<Binding> bindings = {{memory.get(), 0, 64}, {memory.get(), 64, 64}};
  const Package whole = add_one(device->target(), 1, 16, 0);
  for (std::size_t size = 0; size < whole.code.size(); ++size) {
    Package cut = whole;
    cut.code.resize(size);
    EXPECT_THROW(device->load(cut, bindings), Error) << size;
  }
}

TEST(CpuDevice, RefusesAbsurdSizes) {
  const auto device = make_cpu_device(1);
  const std::string full = failure([&] { device->allocate(std::int64_t{1} << 60); });
  EXPECT_TRUE(full.starts_with("the cpu is out of memory: 1152921504606846976 bytes are needed, "))
      << full;
  EXPECT_TRUE(full.ends_with(" are free")) << full;
  EXPECT_NE(failure([&] { device->allocate(-1); }), "");
  EXPECT_NE(failure([] { make_cpu_device(-1); }), "");
  EXPECT_NE(failure([] { make_cpu_device(1 << 20); }), "");
  const auto memory = device->allocate(0);
  std::vector<std::byte> one(1);
  EXPECT_NE(failure([&] { device->write({memory.get(), 0, 1}, one); }), "");
  const Binding far{memory.get(), std::numeric_limits<std::int64_t>::max(), 1};
  EXPECT_NE(failure([&] { device->read(far, one); }), "");
}

} // namespace
} // namespace tilefuse::runtime
