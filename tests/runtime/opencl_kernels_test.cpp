// SPDX-License-Identifier: Apache-2.0
// Kernels in text form, compiled and run on an OpenCL device, against the kernel simulator: every
// node and type.
#include <cmath>
#include <cstring>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "emit/c/opencl.h"
#include "emit/emitter.h"
#include "kernel/simulate.h"
#include "kernel/text/text.h"
#include "runtime/opencl_fixture.h"

namespace tilefuse::runtime {
namespace {

using kernel::Kernel;

using Bytes = std::vector<std::byte>;

// Small values of every sign, with zeros, that all types hold exactly.
Bytes filled(const kernel::Buffer &buffer, std::size_t seed) {
  Bytes bytes(static_cast<std::size_t>(buffer.elems * size_bytes(buffer.type.elem)));
  for (std::int64_t i = 0; i < buffer.elems; ++i) {
    const auto step = static_cast<std::int64_t>(seed * 7 + 3);
    const double value =
        static_cast<double>((i * step) % 23 - 9) * (is_float(buffer.type.elem) ? 0.25 : 1.0);
    store_element(bytes.data(), buffer.type.elem, i, value);
  }
  return bytes;
}

std::vector<Bytes> arguments_of(const Kernel &k) {
  std::vector<Bytes> args;
  for (const kernel::Buffer &buffer : k.buffers)
    if (buffer.space == kernel::Space::Global)
      args.push_back(filled(buffer, args.size()));
  return args;
}

std::vector<std::span<std::byte>> spans_of(std::vector<Bytes> &args) {
  return {args.begin(), args.end()};
}

void expect_same(const Kernel &k, const std::vector<Bytes> &got, const std::vector<Bytes> &want,
                 double tolerance) {
  for (std::size_t a = 0; a < got.size(); ++a) {
    const kernel::Buffer &buffer = k.buffers[a];
    for (std::int64_t i = 0; i < buffer.elems; ++i) {
      const double x = load_element(got[a].data(), buffer.type.elem, i);
      const double y = load_element(want[a].data(), buffer.type.elem, i);
      if (std::isnan(x) && std::isnan(y))
        continue;
      ASSERT_TRUE(x == y || std::abs(x - y) <= tolerance * std::max(1.0, std::abs(y)))
          << buffer.name << "[" << i << "]: device " << x << ", simulator " << y << "\n"
          << kernel::to_text(k);
    }
  }
}

// Builds all kernels in one go, for both kinds of lanes: code for other devices must run here too.
// Kernels of tests may write an element again and again.
std::vector<std::size_t> every_argument(const Kernel &kernel) {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < kernel.buffers.size(); ++i)
    all.push_back(i);
  return all;
}

void compare(Device &device, const std::vector<std::string> &texts, double tolerance = 0) {
  std::vector<Kernel> kernels;
  std::vector<Package> sources;
  for (const LaneKind lanes : {LaneKind::Vector, LaneKind::WorkItem}) {
    Target target = device.target();
    target.lanes = lanes;
    for (const std::string &text : texts) {
      kernels.push_back(kernel::parse_kernel(text));
      sources.push_back(emit::make_opencl_emitter()->emit(kernels.back(), target));
    }
  }
  const std::vector<Package> built = device.build(sources);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    SCOPED_TRACE(sources[i].code);
    std::vector<Bytes> got = arguments_of(kernels[i]);
    std::vector<Bytes> want = got;
    run_package(device, built[i], spans_of(got));
    kernel::simulate(kernels[i], spans_of(want), {.updated = every_argument(kernels[i])});
    expect_same(kernels[i], got, want, tolerance);
    if (::testing::Test::HasFatalFailure())
      return;
  }
}

void compare(Device &device, const std::string &text, double tolerance = 0) {
  compare(device, std::vector<std::string>{text}, tolerance);
}

// " .. 4" of a vector's access, "x4" of its type; empty for a scalar.
std::string access_of(int lanes, int stride = 1) {
  if (lanes == 1)
    return "";
  return fmt::format(" .. {}{}", lanes, stride == 1 ? "" : fmt::format(" : {}", stride));
}
std::string width_of(int lanes) { return lanes == 1 ? "" : fmt::format("x{}", lanes); }

std::string replaced(std::string text, const std::string &what, const std::string &by) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (text.compare(at, what.size(), what) == 0) {
      out += by;
      at += what.size();
    } else {
      out += text[at++];
    }
  }
  return out;
}

TEST(OpenclKernels, VectorsRegistersAndLoops) {
  TILEFUSE_NEED_OPENCL(device);
  compare(*device, R"(
kernel tile blocks 3 block_size 1 {
  global const b0 f32[64]
  global const b1 f32[128]
  global b2 f32[96]
  register a0 f32x8[4]
  let p = block * 4
  a0[0] = f32x8(0)
  a0[1] = f32x8(0)
  a0[2] = f32x8(0.5)
  a0[3] = f32x8(0)
  for c in 0..16 {
    let w = b1[c * 8 .. 8]
    a0[0] = fma(broadcast(b0[p + c], 8), w, a0[0])
    a0[1] = fma(broadcast(b0[p + c + 1], 8), w, a0[1])
    a0[2] = fma(broadcast(b0[p + c + 2], 8), w, a0[2])
    a0[3] = fma(broadcast(b0[p + c + 3], 8), w, a0[3])
  }
  b2[block * 32 .. 8] = max(a0[0], f32x8(0))
  b2[block * 32 + 8 .. 8] = a0[1]
  b2[block * 32 + 16 .. 8] = min(a0[2], f32x8(1))
  b2[block * 32 + 24 .. 8] = a0[3]
})");
}

TEST(OpenclKernels, IndexedRegisters) {
  TILEFUSE_NEED_OPENCL(device);
  compare(*device, R"(
kernel indexed blocks 1 block_size 1 {
  global const b0 f32[8]
  global b1 f32[8]
  register a0 f32[8]
  for i in 0..8 { a0[i] = b0[7 - i] * f32(2) }
  for j in 0..8 step 2 {
    b1[j] = a0[j]
    b1[j + 1] = a0[j + 1]
  }
})");
}

TEST(OpenclKernels, EdgesAreNotTouched) {
  TILEFUSE_NEED_OPENCL(device);
  struct Access {
    int lanes;
    int stride;
  };
  const std::vector<Access> accesses = {{1, 1},  {2, 1}, {3, 1}, {4, 1}, {8, 1},
                                        {16, 1}, {2, 3}, {3, 2}, {8, 3}, {4, -1}};
  std::vector<std::string> texts;
  for (const std::string type : {"f32", "f16", "bf16", "i8", "bool"}) {
    std::string body;
    for (std::size_t row = 0; row < accesses.size(); ++row) {
      const auto [lanes, stride] = accesses[row];
      if (type != "f32" && row % 3 != 0)
        continue; // all of them once, and some of every type
      const std::string access = access_of(lanes, stride);
      const std::string value = fmt::format("b0[block + 8{} valid b2[block] fill 1]", access);
      const bool is_half = type == "f16" || type == "bf16";
      body += fmt::format(
          "  b1[{} + block * 64 + 8{} valid b2[block] + 2] = {}\n", row * 24 * 64, access,
          is_half ? fmt::format("{0}{1}(f32{1}({2}))", type, width_of(lanes), value) : value);
    }
    texts.push_back(
        fmt::format("kernel edge_{0} blocks 24 block_size 1 {{\n  global const b0 {0}[64]\n"
                    "  global b1 {0}[{1}]\n  global const b2 i32[24]\n{2}}}",
                    type, accesses.size() * 24 * 64, body));
  }
  compare(*device, texts);
}

TEST(OpenclKernels, LocalMemoryAndBarriers) {
  TILEFUSE_NEED_OPENCL(device);
  std::vector<std::string> texts;
  for (const std::string type : {"f32", "f16", "i32"})
    texts.push_back(replaced(R"(
kernel reverse_TYPE blocks 5 block_size 64 {
  global const b0 TYPE[320]
  global b1 TYPE[320]
  local s2 TYPE[64]
  for r in 0..2 {
    barrier
    s2[lane] = b0[block * 64 + lane]
    barrier
    if lane < 32 { b1[block * 64 + lane] = s2[63 - lane] } else { b1[block * 64 + lane] = s2[lane] }
  }
})",
                             "TYPE", type));
  compare(*device, texts);
}

TEST(OpenclKernels, LocalMemoryOfOneWorkItem) {
  TILEFUSE_NEED_OPENCL(device);
  compare(*device, R"(
kernel scratch blocks 4 block_size 1 {
  global const b0 f16[128]
  global b1 f32[128]
  local s2 f16[32]
  local s3 f32[32]
  for i in 0..4 {
    s2[i * 8 .. 8] = b0[block * 32 + i * 8 .. 8]
    s3[i * 8 .. 8] = f32x8(b0[block * 32 + i * 8 .. 8])
  }
  barrier
  prefetch b0[block * 32]
  for j in 0..32 { b1[block * 32 + j] = f32(s2[31 - j]) + s3[j] }
})");
}

TEST(OpenclKernels, Mathematics) {
  TILEFUSE_NEED_OPENCL(device);
  std::string body;
  int row = 0;
  for (const std::string value :
       {"neg(X)", "abs(X)", "exp(X)", "sqrt(abs(X))", "tanh(X)", "floor(X)", "ceil(X)", "round(X)",
        "erf(X)", "sin(X)", "cos(X)", "log(abs(X))", "pow(abs(X), X)", "X % ONE"})
    for (const int lanes : {1, 4}) {
      const std::string x = fmt::format("b0[block * 4{}]", access_of(lanes));
      const std::string one = fmt::format("f32{}(0.75)", width_of(lanes));
      body += fmt::format("  b1[{} + block * 4{}] = {}\n", 32 * row++, access_of(lanes),
                          replaced(replaced(value, "X", x), "ONE", one));
    }
  compare(*device,
          fmt::format("kernel math blocks 6 block_size 1 {{\n  global const b0 f32[32]\n  global "
                      "b1 f32[{}]\n{}}}",
                      32 * row, body),
          3e-6);
}

TEST(OpenclKernels, BinaryOperationsOfEveryType) {
  TILEFUSE_NEED_OPENCL(device);
  std::vector<std::string> texts;
  for (const std::string type : {"f32", "f64", "i32", "i64", "i8", "u8"}) {
    const bool is_unsigned = type == "u8";
    const bool is_integer = type != "f32" && type != "f64";
    std::string body;
    int row = 0;
    for (const std::string value :
         {"X + Y", "X - Y", "X * Y", "max(X, Y)", "min(X, Y)", "select(X < Y, X, Y)",
          "select(X >= Y && not(X == Y), X, Y)", "select(X != Y || X > Y, Y, X)", "fma(X, Y, X)",
          "abs(X)", "neg(X)"})
      for (const int lanes : {1, 8}) {
        if (is_unsigned && (value == "X - Y" || value == "neg(X)"))
          continue; // below zero
        if (is_integer && value == "fma(X, Y, X)")
          continue;
        const std::string at = fmt::format("[block * 8{}]", access_of(lanes));
        body += fmt::format("  b2[{} + block * 8{}] = {}\n", 32 * row++, access_of(lanes),
                            replaced(replaced(value, "X", "b0" + at), "Y", "b1" + at));
      }
    texts.push_back(
        fmt::format("kernel binary_{0} blocks 4 block_size 1 {{\n  global const b0 {0}[32]\n"
                    "  global const b1 {0}[32]\n  global b2 {0}[{1}]\n{2}}}",
                    type, 32 * row, body));
  }
  compare(*device, texts);
}

TEST(OpenclKernels, DivisionCannotTrap) {
  TILEFUSE_NEED_OPENCL(device);
  const Kernel k = kernel::parse_kernel(R"(
kernel division blocks 4 block_size 1 {
  global const b0 i32[4]
  global const b1 i32[4]
  global b2 i32[8]
  b2[block] = b0[block] / b1[block]
  b2[block + 4] = b0[block] % b1[block]
})");
  std::vector<std::int32_t> a = {7, INT32_MIN, -7, 5};
  std::vector<std::int32_t> b = {2, -1, 0, -3};
  std::vector<std::int32_t> c(8, 99);
  const std::vector<std::span<std::byte>> args = {std::as_writable_bytes(std::span(a)),
                                                  std::as_writable_bytes(std::span(b)),
                                                  std::as_writable_bytes(std::span(c))};
  run_package(*device, device->build({emit::make_opencl_emitter()->emit(k, device->target())})[0],
              args);
  EXPECT_EQ(c, (std::vector<std::int32_t>{3, INT32_MIN, 0, -1, 1, 0, 0, 2}));
}

TEST(OpenclKernels, Conversions) {
  TILEFUSE_NEED_OPENCL(device);
  const std::vector<std::string> types = {"bool", "i8",   "u8",  "i32", "i64",
                                          "f16",  "bf16", "f32", "f64"};
  const auto is_half = [](const std::string &type) { return type == "f16" || type == "bf16"; };
  std::vector<std::string> texts;
  for (const std::string &from : types) {
    std::string buffers;
    std::string body;
    for (const std::string &to : types) {
      buffers += fmt::format("  global out_{0} {0}[48]\n", to);
      for (const int lanes : {1, 4}) {
        const std::string value = fmt::format("b0[block * 4{}]", access_of(lanes));
        // Halves take and give only floats.
        const bool through = (is_half(to) && from != "f32") || (is_half(from) && to != "f32");
        std::string cast = through ? fmt::format("{0}{1}(f32{1}({2}))", to, width_of(lanes), value)
                                   : fmt::format("{}{}({})", to, width_of(lanes), value);
        if (to == from)
          cast = value;
        body += fmt::format("  out_{}[{} + block * 4{}] = {}\n", to, lanes == 1 ? 0 : 24,
                            access_of(lanes), cast);
      }
    }
    texts.push_back(
        fmt::format("kernel from_{0} blocks 6 block_size 1 {{\n  global const b0 {0}[24]\n{1}{2}}}",
                    from, buffers, body));
  }
  compare(*device, texts);
}

TEST(OpenclKernels, NonNumbersAndRounding) {
  TILEFUSE_NEED_OPENCL(device);
  const Kernel k = kernel::parse_kernel(R"(
kernel special blocks 1 block_size 1 {
  global const b0 f32[8]
  global b1 f32[8]
  global b2 i8[8]
  global b3 f16[8]
  global b4 bf16[8]
  b1[0 .. 8] = max(b0[0 .. 8], f32x8(0))
  b2[0 .. 8] = i8x8(b0[0 .. 8])
  b3[0 .. 8] = f16x8(b0[0 .. 8])
  b4[0 .. 8] = bf16x8(b0[0 .. 8])
})");
  std::vector<Bytes> got = arguments_of(k);
  const float special[8] = {NAN,     INFINITY,    -INFINITY,  1e30f,
                            -129.5f, 1.00390625f, 1.0004883f, -0.0f};
  std::memcpy(got[0].data(), special, sizeof special);
  std::vector<Bytes> want = got;
  run_package(*device, device->build({emit::make_opencl_emitter()->emit(k, device->target())})[0],
              spans_of(got));
  kernel::simulate(k, spans_of(want));
  expect_same(k, got, want, 0);
}

TEST(OpenclKernels, WideIndices) {
  TILEFUSE_NEED_OPENCL(device);
  // Declared larger than 2^31 elements, so that indices are 64 bits; only the beginning is there
  // and used.
  const Kernel k = kernel::parse_kernel(R"(
kernel wide blocks 4 block_size 1 {
  global const b0 i32[3000000000]
  global b1 i32[16]
  let p = min(block * 4, 12)
  b1[p .. 4] = b0[12 - p .. 4 valid 3 fill 7] + broadcast(b0[p], 4)
})");
  Package source = emit::make_opencl_emitter()->emit(k, device->target());
  EXPECT_EQ(source.args[0].bytes, 12000000000);
  source.args[0].bytes = 64;
  std::vector<std::int32_t> in(16);
  for (std::size_t i = 0; i < 16; ++i)
    in[i] = static_cast<std::int32_t>(i);
  std::vector<std::int32_t> out(16);
  const std::vector<std::span<std::byte>> args = {std::as_writable_bytes(std::span(in)),
                                                  std::as_writable_bytes(std::span(out))};
  run_package(*device, device->build({source})[0], args);
  EXPECT_EQ(out, (std::vector<std::int32_t>{12, 13, 14, 7, 12, 13, 14, 11, 12, 13, 14, 15, 12, 13,
                                            14, 19}));
}

} // namespace
} // namespace tilefuse::runtime
