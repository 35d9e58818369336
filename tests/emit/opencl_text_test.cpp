// SPDX-License-Identifier: Apache-2.0
// OpenCL C as text: the exact source of small kernels, names, and what is refused.
#include <set>

#include <gtest/gtest.h>

#include "base/error.h"
#include "emit/c/opencl.h"
#include "emit/emitter.h"
#include "emit/symbol.h"
#include "kernel/text/text.h"

namespace tilefuse::emit {
namespace {

Target target_with(LaneKind lanes) {
  Target target;
  target.name = "opencl_test";
  target.backend = "opencl";
  target.lanes = lanes;
  target.max_group = 256;
  return target;
}

Package emitted(const std::string &text, LaneKind lanes = LaneKind::WorkItem) {
  return make_opencl_emitter()->emit(kernel::parse_kernel(text), target_with(lanes));
}

TEST(OpenclText, VectorTile) {
  const std::string text = R"(
kernel tile blocks 3 block_size 1 {
  global const b0 f32[64]
  global b2 f32[96]
  register a0 f32x8[2]
  let p = block * 4
  a0[0] = f32x8(0)
  for c in 0..16 { a0[0] = fma(broadcast(b0[p + c], 8), b0[c * 8 .. 8], a0[0]) }
  b2[block * 32 .. 8] = max(a0[0], f32x8(0.5))
})";
  EXPECT_EQ(emitted(text).code, R"(#pragma OPENCL FP_CONTRACT OFF
#ifndef tf_max_f32x8_defined
#define tf_max_f32x8_defined
static inline float8 tf_max_f32x8(float8 a, float8 b) { return b > a ? b : a; }
#endif
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void k_tile(__global const uchar* m0, const ulong o0, __global uchar* m1, const ulong o1) {
  __global const float* restrict b0 = (__global const float*)(m0 + o0);
  __global float* restrict b1 = (__global float*)(m1 + o1);
  const int block = (int)get_group_id(0);
  float8 a2_0;
  float8 a2_1;
  const int v0 = block * 4;
  a2_0 = (float8)(0.0f);
  for (int v1 = 0; v1 < 16; v1 += 1) {
    a2_0 = fma((float8)(b0[v0 + v1]), vload8(0, b0 + v1 * 8), a2_0);
  }
  vstore8(tf_max_f32x8(a2_0, (float8)(0.5f)), 0, b1 + block * 32);
}
)");
}

TEST(OpenclText, ProcessorsStoreWholeVectors) {
  const std::string text = R"(
kernel whole blocks 1 block_size 1 {
  global const b0 f32[64]
  global b1 f32[16]
  local s0 f32[8]
  s0[0 .. 8] = b0[8 .. 8]
  b1[block .. 8] = s0[0 .. 8]
})";
  const std::string vector = emitted(text, LaneKind::Vector).code;
  for (const char *line :
       {"((__private struct __attribute__((packed)) { float8 v; }*)(s2 + 0))->v = vload8(0, b0 + "
        "8);",
        "((__global struct __attribute__((packed)) { float8 v; }*)(b1 + block))->v = "})
    EXPECT_NE(vector.find(line), std::string::npos) << line << "\n" << vector;
  EXPECT_NE(emitted(text).code.find("vstore8("), std::string::npos);
}

// A processor's compiler is given constants beside the pointer, a GPU's the sum of integers.
TEST(OpenclText, ConstantsOfAnIndexAreAddedLast) {
  const std::string text = R"(
kernel constants blocks 1 block_size 1 {
  global const b0 f32[64]
  global b1 f32[16]
  for c in 0..16 { b1[c] = b0[block * 4 + c + 3] + b0[block * 4 + c] }
})";
  const std::string vector = emitted(text, LaneKind::Vector).code;
  EXPECT_NE(vector.find("(b0 + block * 4 + v0)[3] + (b0 + block * 4 + v0)[0]);"), std::string::npos)
      << vector;
  const std::string items = emitted(text).code;
  EXPECT_NE(items.find("b0[block * 4 + v0 + 3] + b0[block * 4 + v0]);"), std::string::npos)
      << items;
}

// Pointers go as they are: NVIDIA's compiler gives their values as addresses in their spaces.
TEST(OpenclText, AsynchronousCopiesAreInlineAssembly) {
  const std::string text = R"(
kernel copies blocks 1 block_size 32 {
  global const b0 f32[128]
  global b1 f32[32]
  local s0 f32[128]
  async_copy s0[lane * 4 .. 4 valid select(lane < 20, 4, 0)] = b0[lane * 4]
  async_commit
  async_wait 0
  barrier
  b1[lane] = s0[lane]
})";
  const kernel::Kernel kernel = kernel::parse_kernel(text);
  Target target = target_with(LaneKind::WorkItem);
  EXPECT_THROW(make_opencl_emitter()->emit(kernel, target), Error);
  target.features = {Feature::AsyncCopies};
  const std::string code = make_opencl_emitter()->emit(kernel, target).code;
  for (
      const char *line :
      {R"(  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "l"(s2 + (lane * 4)), "l"(b0 + (lane * 4)), "r"((lane < 20) ? 16 : 0) : "memory");)",
       R"(  asm volatile("cp.async.commit_group;" ::: "memory");)",
       R"(  asm volatile("cp.async.wait_group 0;" ::: "memory");)"})
    EXPECT_NE(code.find(line), std::string::npos) << code;
}

// One sum of each work-item: by the extension's function, or on NVIDIA's devices by assembly.
TEST(OpenclText, DotProductsOfBytes) {
  const kernel::Kernel kernel = kernel::parse_kernel(R"(
kernel dot blocks 1 block_size 8 {
  global const b0 u8[32]
  global const b1 i8[32]
  global b2 i32[8]
  b2[lane] = dot4.u8.s8.s32(b0[lane * 4 .. 4], b1[lane * 4 .. 4], 7)
})");
  Target target = target_with(LaneKind::WorkItem);
  const std::string code = make_opencl_emitter()->emit(kernel, target).code;
  EXPECT_NE(code.find("#pragma OPENCL EXTENSION cl_khr_integer_dot_product : enable\n"),
            std::string::npos);
  EXPECT_NE(code.find("b2[lane] = (dot_4x8packed_us_int(as_uint(vload4(0, b0 + lane * 4)), "
                      "as_uint(vload4(0, b1 + lane * 4))) + 7);"),
            std::string::npos)
      << code;
  target.isa = "CL1.2 sm_75";
  const std::string nvidia = make_opencl_emitter()->emit(kernel, target).code;
  EXPECT_EQ(nvidia.find("#pragma OPENCL EXTENSION"), std::string::npos);
  EXPECT_NE(
      nvidia.find(R"(asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c)))"),
      std::string::npos)
      << nvidia;
  EXPECT_NE(nvidia.find("b2[lane] = tf_dp4a_u32_s32(as_uint(vload4(0, b0 + lane * 4)), "
                        "as_uint(vload4(0, b1 + lane * 4)), 7);"),
            std::string::npos)
      << nvidia;
}

TEST(OpenclText, WorkItemsWithLocalMemory) {
  const Package package = emitted(R"(
kernel turn blocks 4 block_size 64 flops 256 bytes 2048 {
  global const b0 f16[256]
  global b1 f32[256]
  local s2 f16[64]
  s2[lane] = b0[block * 64 + lane]
  barrier
  if lane < 32 { b1[block * 64 + lane] = f32(s2[63 - lane]) } else { b1[block * 64 + lane] = f32(1) }
})");
  EXPECT_EQ(package.code, R"(#pragma OPENCL FP_CONTRACT OFF
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void k_turn(__global const uchar* m0, const ulong o0, __global uchar* m1, const ulong o1) {
  __global const half* restrict b0 = (__global const half*)(m0 + o0);
  __global float* restrict b1 = (__global float*)(m1 + o1);
  __local ushort s2_bits[64];
  __local half* s2 = (__local half*)s2_bits;
  const int block = (int)get_group_id(0);
  const int lane = (int)get_local_id(0);
  vstore_half_rte(vload_half(block * 64 + lane, b0), lane, s2);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lane < 32) {
    b1[block * 64 + lane] = vload_half(63 - lane, s2);
  }
  else {
    b1[block * 64 + lane] = 1.0f;
  }
}
)");
  EXPECT_EQ(package.symbol, "k_turn");
  EXPECT_EQ(package.blocks, 4);
  EXPECT_EQ(package.block_size, 64);
  EXPECT_EQ(package.args, (std::vector<Argument>{{512, false}, {1024, true}}));
  EXPECT_EQ(package.flops, 256);
  EXPECT_EQ(package.bytes, 2048);
}

TEST(OpenclText, BodyIsAFunctionForVectorTargets) {
  EXPECT_EQ(emitted(R"(
kernel copy blocks 4 block_size 1 {
  global const b0 i8[16]
  global b1 i8[16]
  barrier
  b1[block .. 4 valid 16 - block] = b0[block .. 4]
})",
                    LaneKind::Vector)
                .code,
            R"(#pragma OPENCL FP_CONTRACT OFF
#ifndef tf_store_global_i8x4_defined
#define tf_store_global_i8x4_defined
static __attribute__((noinline)) void tf_store_global_i8x4_part(__global char* p, char4 value, int valid) {
  if (0 < valid) p[0] = value.s0;
  if (1 < valid) p[1] = value.s1;
  if (2 < valid) p[2] = value.s2;
  if (3 < valid) p[3] = value.s3;
}
static inline void tf_store_global_i8x4(__global char* p, char4 value, int valid) {
  if (valid >= 4) vstore4(value, 0, p);
  else tf_store_global_i8x4_part(p, value, valid);
}
#endif
static __attribute__((noinline)) void k_copy_body(const int block, __global const char* restrict b0, __global char* restrict b1) {
  tf_store_global_i8x4(b1 + block, vload4(0, b0 + block), 16 - block);
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void k_copy(__global const uchar* m0, const ulong o0, __global uchar* m1, const ulong o1) {
  __global const char* restrict b0 = (__global const char*)(m0 + o0);
  __global char* restrict b1 = (__global char*)(m1 + o1);
  k_copy_body((int)get_group_id(0), b0, b1);
}
)");
}

TEST(OpenclText, NamesOfBuffersAndVariablesDoNotReachTheSource) {
  const std::string code = emitted(R"(
kernel evil blocks 1 block_size 1 {
  global const secret_in f32[4]
  global secret_out f32[4]
  let secret_value = secret_in[0]
  secret_out[1] = secret_value
})")
                               .code;
  EXPECT_EQ(code.find("secret"), std::string::npos) << code;
}

TEST(OpenclText, LargeBuffersWidenIndices) {
  const auto code = [](const std::string &elems) {
    return emitted("kernel w blocks 1 block_size 1 {\n  global b0 i8[" + elems +
                   "]\n  b0[block] = i8(1)\n}")
        .code;
  };
  EXPECT_NE(code("2147483647").find("const int block"), std::string::npos);
  EXPECT_NE(code("2147483648").find("const long block"), std::string::npos);
}

TEST(OpenclText, DoublesAreAskedForAndRefused) {
  const std::string text =
      "kernel d blocks 1 block_size 1 {\n  global b0 f64[4]\n  b0[0] = f64(1)\n}";
  EXPECT_NE(emitted(text).code.find("cl_khr_fp64"), std::string::npos);
  Target without = target_with(LaneKind::WorkItem);
  without.fp64 = false;
  EXPECT_THROW(make_opencl_emitter()->emit(kernel::parse_kernel(text), without), Error);
}

TEST(OpenclText, WhatTheLanguageLacksIsRefused) {
  EXPECT_THROW(
      emitted("kernel v blocks 1 block_size 1 {\n  global b0 f32[40]\n  b0[0 .. 5] = f32x5(1)\n}"),
      Error);
  EXPECT_THROW(
      emitted("kernel v blocks 1 block_size 512 {\n  global b0 f32[512]\n  b0[lane] = f32(1)\n}"),
      Error);
}

TEST(Symbol, IsAnIdentifierOfItsOwn) {
  EXPECT_EQ(symbol_for("conv_fwd_f32"), "k_conv_fwd_f32");
  const std::vector<std::string> names = {"",
                                          "kernel",
                                          "Ünicode",
                                          "a b",
                                          "a_b",
                                          "a\nb",
                                          "\";}",
                                          std::string(200, 'x'),
                                          std::string(200, 'x') + "y",
                                          std::string(61, 'z'),
                                          std::string(62, 'z')};
  std::set<std::string> seen;
  for (const std::string &name : names) {
    const std::string symbol = symbol_for(name);
    EXPECT_LE(symbol.size(), 63u);
    EXPECT_EQ(symbol.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"), std::string::npos)
        << symbol;
    EXPECT_TRUE(seen.insert(symbol).second) << symbol;
  }
}

} // namespace
} // namespace tilefuse::emit
