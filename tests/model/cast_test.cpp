// SPDX-License-Identifier: Apache-2.0
// The one rule of casts between numbers: evaluator, simulator and every device agree on values
// inside and outside the result's type, one by one and in vectors.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "emit/emitter.h"
#include "lower/pipeline.h"
#include "model/devices.h"
#include "model/oracle/simulate_group.h"
#include "nest/flatten/passes.h"
#include "runtime/opencl_fixture.h"
#include "search/pick.h"

namespace tilefuse {
namespace {

constexpr int kElems = 37; // vectors and a tail

const std::vector<double> kValues = {
    0,      1,      -1,    127,    128,  -128,   -129,       255, 256,  -255, 300,  -300,
    65535,  65536,  70000, -70000, 1e6,  -1e6,   2147483647, 2.5, -2.5, 0.5,  -0.5, 126.99,
    127.01, -128.5, 255.5, 1e9,    -1e9, 3.25e9, -3.25e9,    511, 512,  1023, 40};

std::string nest_text(DType from, DType to) {
  return fmt::format(
      "nest cast {{\n  index x {2}\n  slot 0 {0} {2}, 1 {1} {2}\n  acc {1} = assign\n"
      "  out 1 + 0 [x:{2}*1]\n  extra 0 + 0 [x:{2}*1]\n  post {1}($0)\n}}\n",
      to_string(from), to_string(to), kElems);
}

std::vector<program::Bytes> slots_of(const nest::Nest &nest) {
  std::vector<program::Bytes> slots;
  for (const nest::Slot &slot : nest.slots)
    slots.emplace_back(static_cast<std::size_t>(slot.elems * size_bytes(slot.type)));
  for (std::int64_t i = 0; i < kElems; ++i)
    store_element(slots[0].data(), nest.slots[0].type, i,
                  kValues[static_cast<std::size_t>(i) % kValues.size()]);
  return slots;
}

std::vector<std::span<std::byte>> spans(std::vector<program::Bytes> &slots) {
  return {slots.begin(), slots.end()};
}

// What a device gives for the nest's kernel, and what the simulator does.
void expect_same(runtime::Device &device, const nest::Nest &nest, const program::Bytes &expected) {
  const schedule::Schedule schedule = search::pick(nest, device.target());
  const kernel::Kernel kernel = lower::lower({nest}, schedule, device.target());
  std::vector<program::Bytes> packed;
  std::vector<program::Bytes> slots = slots_of(nest);
  kernel::simulate(kernel, model::kernel_arguments({nest, {}}, schedule, slots, packed));
  EXPECT_EQ(slots[1], expected) << "simulated\n" << nest::to_text(nest);
  std::string why;
  const auto emitter = emit::make_emitter(device.target(), &why);
  ASSERT_NE(emitter, nullptr) << why;
  const Package built = device.build({emitter->emit(kernel, device.target())})[0];
  slots = slots_of(nest);
  runtime::run_package(device, built, model::kernel_arguments({nest, {}}, schedule, slots, packed));
  EXPECT_EQ(slots[1], expected) << device.name() << "\n" << nest::to_text(nest);
}

TEST(Casts, EvaluatorSimulatorAndDevicesAgree) {
  const std::vector<DType> numbers = {DType::I8, DType::U8, DType::I32, DType::I64, DType::F32};
  for (const DType from : numbers) {
    for (const DType to : numbers) {
      const nest::Nest nest = nest::parse_nest(nest_text(from, to));
      std::vector<program::Bytes> slots = slots_of(nest);
      nest::evaluate(nest, spans(slots));
      for (const testing::NamedDevice &device : testing::devices())
        expect_same(*device.device, nest, slots[1]);
    }
  }
}

TEST(Casts, TheRule) {
  EXPECT_EQ(cast_to_integer(300, DType::I32, DType::I8), 44);
  EXPECT_EQ(cast_to_integer(-1, DType::I8, DType::U8), 255);
  EXPECT_EQ(cast_to_integer(3.25e9, DType::I64, DType::I32), 3.25e9 - 4294967296.0);
  EXPECT_EQ(cast_to_integer(300.9, DType::F32, DType::I8), 127);
  EXPECT_EQ(cast_to_integer(-0.9, DType::F32, DType::U8), 0);
  EXPECT_EQ(cast_to_integer(-7.9, DType::F64, DType::I32), -7);
  EXPECT_EQ(cast_to_integer(0.0 / 0.0, DType::F32, DType::I32), 0);
  EXPECT_EQ(cast_to_integer(0.5, DType::F32, DType::Bool), 1);
}

} // namespace
} // namespace tilefuse
