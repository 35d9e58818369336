// SPDX-License-Identifier: Apache-2.0
// The one rule of casts between numbers: evaluator, simulator and every device agree on values
// inside and outside the result's type, one by one and in vectors; and a cast that is written in a
// program narrows also where its result is stored nowhere.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "model/pointwise_run.h"
#include "model/session.h"
#include "program/gradient/gradient.h"
#include "target/dtype_traits.h"

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
  const std::vector<DType> numbers = {DType::I8,  DType::U8,  DType::I16, DType::I32, DType::I64,
                                      DType::F32, DType::U16, DType::U32, DType::U64};
  for (const DType from : numbers) {
    for (const DType to : numbers) {
      if (to == DType::U64 && traits(from).is_signed)
        continue; // what is below 0 comes out beyond 2^53, where a double is not exact
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

constexpr double kInf = std::numeric_limits<double>::infinity();

// What `X` of one type becomes on its way through others, by definition.
struct Narrowing {
  std::string function; // of X, in Tile
  DType type;
  std::vector<double> values;
  std::vector<double> expected;
};

const std::vector<Narrowing> kNarrowings = {
    {"H = cast_f16(X); O = cast_f32(H);",
     DType::F32,
     {70000, 1.0001, 65519, -1e9, 3e-8, 2049, -0.1},
     {kInf, 1, 65504, -kInf, 0x1p-24, 2048, -0.0999755859375}},
    {"H = cast_bf16(X); O = cast_f32(H);",
     DType::F32,
     {70000, 1.0001, 257, 3.39e38, 1.00390625, 1.01171875},
     {70144, 1, 256, 0x1.fep127, 1, 1.015625}},
    {"H = cast_f16(X); O = cast_f32(H) * 2 + X;",
     DType::F32,
     {1.000244140625, 2049},
     {3.000244140625, 6145}},
    {"H = cast_i8(X); O = cast_f32(H);",
     DType::F32,
     {300, -300, 1.9, -1.9, 127.5},
     {127, -128, 1, -1, 127}},
    {"H = cast_u8(X); O = cast_f32(H);", DType::F32, {300, -1, 255.9}, {255, 0, 255}},
    {"H = cast_i32(X); O = cast_f32(H);", DType::F32, {3e9, -7.9, 0.5}, {2147483648, -7, 0}},
    {"H = cast_i8(X); O = cast_i32(H);", DType::I32, {300, -129, 128, 5}, {44, 127, -128, 5}},
    {"H = cast_u8(X); O = cast_i32(H);", DType::I32, {300, -1, 5}, {44, 255, 5}},
    {"H = cast_f32(X); O = cast_i32(H);", DType::I32, {16777217, 5}, {16777216, 5}},
    {"H = cast_f32(X); O = cast_f64(H);",
     DType::F64,
     {1.0001, 1e300, 16777217},
     {static_cast<double>(1.0001F), kInf, 16777216}},
    {"H = cast_f16(X); O = cast_f64(H);",
     DType::F64,
     {1.0001, 70000, 1.00048828125 + 0x1p-40},
     {1, kInf, 1}}, // by way of f32
    {"H = cast_bf16(X); O = cast_f32(H);", DType::F16, {1.0009765625, 65504}, {1, 65536}},
    {"H = cast_f16(X); O = cast_f32(H);", DType::BF16, {1e9, 1.0078125}, {kInf, 1.0078125}},
};

bool has_f64(const Narrowing &test) {
  return test.function.find("f64") != std::string::npos || test.type == DType::F64;
}

program::Program program_of(const Narrowing &test) {
  tile::Library library;
  library.add("function f(X) -> (O) { " + test.function + " }", "test");
  return testing::pointwise_program(library, "f", 1, test.type, kElems);
}

program::HostTensor input_of(const Narrowing &test) {
  return testing::repeated("x0", test.type, test.values, kElems);
}

TEST(Casts, NarrowWhereNothingIsStored) {
  for (const Narrowing &test : kNarrowings) {
    SCOPED_TRACE(test.function + " of " + std::string(to_string(test.type)));
    testing::expect_everywhere({program_of(test), {input_of(test)}}, test.expected, has_f64(test));
  }
}

TEST(Casts, AreTheSameFusedAndOnTheirOwn) {
  for (const Narrowing &test : kNarrowings)
    for (const testing::NamedDevice &device : testing::devices()) {
      if (has_f64(test) && !device.device->target().fp64)
        continue;
      SCOPED_TRACE(test.function + " of " + std::string(to_string(test.type)) + device.name);
      std::vector<program::Bytes> results;
      for (const poly::FuseLevel level : {poly::FuseLevel::None, poly::FuseLevel::All}) {
        runtime::KernelCache cache("", [](const std::string &) {});
        model::SessionOptions options;
        options.fusion.level = level;
        model::Session session(program_of(test), *device.device, cache, options);
        results.push_back(session.run({{input_of(test)}}).at(0).data);
      }
      EXPECT_EQ(results[0], results[1]);
    }
}

// 1.0001 rounds to 1 on its way in, the slope of a cast is 1.
TEST(Casts, PassGradientsAsTheyAre) {
  tile::Library library;
  library.add("function f(X) -> (O) { H = cast_f16(X); Y = cast_f32(H); O = Y*Y; }", "test");
  const program::Program program = testing::pointwise_program(library, "f", 1, DType::F32, kElems);
  const program::Program gradient =
      program::gradient(program, {.outputs = {}, .by = program.inputs});
  for (const testing::NamedDevice &device : testing::devices()) {
    runtime::KernelCache cache("", [](const std::string &) {});
    model::Session session(gradient, *device.device, cache, {});
    std::vector<program::HostTensor> inputs;
    for (const program::TensorId id : gradient.inputs)
      inputs.push_back(testing::repeated(gradient[id].name, DType::F32,
                                         {id == gradient.inputs[0] ? 1.0001 : 1.0}, kElems));
    const program::HostTensor got = session.run(inputs).at(0);
    for (std::int64_t i = 0; i < kElems; ++i)
      EXPECT_EQ(program::get(got, i), 2);
  }
}

// A tensor's type that a compiler chose is no cast: what is fused is rounded where it is stored.
TEST(Casts, StorageAloneRoundsNothingInside) {
  EXPECT_EQ(program::to_text(program::converted(program::operand(0, DType::F32), DType::F16)),
            "f16(round_f16($0))");
  EXPECT_EQ(program::to_text(program::cast(program::operand(0, DType::F32), DType::F16)),
            "f16($0)");
  EXPECT_EQ(program::to_text(program::converted(program::operand(0, DType::U8), DType::BF16)),
            "bf16($0)");
}

} // namespace
} // namespace tilefuse
