// SPDX-License-Identifier: Apache-2.0
#include <random>

#include <gtest/gtest.h>

#include "base/error.h"
#include "kernel/text/text.h"
#include "kernel/verify.h"

namespace tilefuse::kernel {
namespace {

// Every node, in the form that the printer gives it.
const std::string kEverything =
    R"(kernel conv blocks 784 block_size 64 flops 1500000000 bytes 1000 {
  global const b0 f32[200704]
  global fixed b1 f32[64]
  global b2 f16[200704]
  local s0 f32[1024]
  register a0 f32x8[12]
  s0[lane] = b1[lane]
  await_earlier
  let p = block / 14 * 896 + lane * 8
  for y in 0..4 step 2 {
    unroll k in 0..12 {
      a0[k] = f32x8(0)
    }
    for c in y..p + 1 {
      s0[lane] = b0[p + c - y - 1 valid p fill -inf]
      barrier
      a0[3] = fma(broadcast(s0[c], 8), b0[c * 8 .. 8 : -2], a0[3])
      a0[4] = max(a0[3], select(broadcast(p < 3 && c != 4, 8), -a, f32x8(nan)))
    }
  }
  if p % 3 == 0 || lane >= 5 {
    b2[p .. 8 : 4 valid 784 - p] = f16x8(a0[3])
  } else {
    prefetch b0[p * 2]
    b2[(p + 1) * (p - (y - 1))] = f16(f32((5 - p)) / f32(0.1))
  }
}
)";

std::string everything() {
  std::string text = kEverything;
  text.replace(text.find("-a, f32x8"), 2, "neg(a0[3])");
  text.replace(text.find("(p - (y - 1))"), 13, "(p - lane % 3)");
  return text;
}

std::string error_of(std::string_view text) {
  try {
    parse_kernel(text, "k");
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

std::string in_kernel(std::string_view stmts) {
  return "kernel k blocks 1 block_size 1 {\nglobal const x f32[8]\nglobal y f32[8]\nregister r "
         "f32x4[2]\n" +
         std::string(stmts) + "\n}";
}

TEST(KernelText, EveryNodeComesBack) {
  const Kernel kernel = parse_kernel(everything());
  EXPECT_EQ(to_text(kernel), everything());
  EXPECT_EQ(kernel.flops, 1.5e9);
  EXPECT_EQ(kernel.block_size, 64);
}

TEST(KernelText, PrecedenceAndParentheses) {
  for (const char *expr :
       {"block - (lane - block)", "block - lane - block", "(block + lane) * block",
        "block / (lane * block)", "block * lane / block", "i32(f32(block) + f32(1))",
        "select(block < lane && lane < 3 || block == 1, 1, 2)"}) {
    const std::string text =
        "kernel k blocks 2 block_size 2 {\n  let v = " + std::string(expr) + "\n}\n";
    EXPECT_EQ(to_text(parse_kernel(text)), text);
  }
}

TEST(KernelText, ParsingFolds) {
  const Kernel kernel =
      parse_kernel("kernel k blocks 2 block_size 1 { let v = 3 + block + 4 * (2 + block) }");
  EXPECT_EQ(to_text(kernel),
            "kernel k blocks 2 block_size 1 {\n  let v = block + block * 4 + 11\n}\n");
}

TEST(KernelText, NamesOfAnyKind) {
  const std::string text = "kernel \"a \\\"b\\\"\\n\" blocks 1 block_size 1 {\n}\n";
  EXPECT_EQ(to_text(parse_kernel(text)), text);
  EXPECT_EQ(parse_kernel(text).name, "a \"b\"\n");
}

TEST(KernelText, MistakesHaveAPlaceAndAReason) {
  EXPECT_EQ(error_of("kernel k blocks 0 block_size 1 {}"),
            "k:1:17: error: the number of blocks needs to be from 1 to 1099511627776; got 0");
  EXPECT_EQ(error_of(in_kernel("y[0] = z[0]")),
            "k:5:8: error: expected a name that is defined, got 'z'");
  EXPECT_EQ(error_of(in_kernel("y[0] = 1")), "k:5:1: error: a store to y needs f32; got i32");
  EXPECT_EQ(error_of(in_kernel("x[0] = f32(1)")), "k:5:1: error: a store to the constant buffer x");
  EXPECT_EQ(error_of(in_kernel("y[0] = f32(1) + 1")),
            "k:5:15: error: add needs equal types; got f32, i32");
  EXPECT_EQ(error_of(in_kernel("y[0 .. 4] = f32(1)")),
            "k:5:1: error: a store of 4 lanes needs as many; got f32");
  EXPECT_EQ(error_of(in_kernel("y[x[0]] = f32(1)")), "k:5:3: error: an index needs i32; got f32");
  EXPECT_EQ(error_of(in_kernel("r[0 .. 2] = f32x2(1)")),
            "k:5:1: error: register r is read by whole values or gathered from single ones, "
            "without `valid`");
  EXPECT_EQ(error_of(in_kernel("let x = 1")), "k:5:5: error: 'x' is defined twice");
  EXPECT_EQ(error_of(in_kernel("let lane = 1")), "k:5:5: error: 'lane' cannot be a name");
  EXPECT_EQ(error_of(in_kernel("if 1 { }")), "k:5:4: error: a condition needs bool; got i32");
  EXPECT_EQ(error_of(in_kernel("let a = max(1)")), "k:5:9: error: max needs 2 arguments; got 1");
  EXPECT_EQ(error_of(in_kernel("let a = fma(1, 2, 3)")),
            "k:5:9: error: fma needs one floating-point type; got i32, i32, i32");
  EXPECT_EQ(error_of(in_kernel("let a = broadcast(r[0], 6)")),
            "k:5:9: error: broadcast needs a scalar or a part of 6 lanes; got f32x4");
  EXPECT_EQ(error_of(in_kernel("let a = f32x4(x[0])")),
            "k:5:15: error: a cast to f32x4 needs as many lanes; got f32");
  EXPECT_EQ(error_of(in_kernel("let a = x[0 .. 65]")),
            "k:5:16: error: the lanes of an access needs to be from 1 to 64; got 65");
  EXPECT_EQ(error_of(in_kernel("for i in 0..4 step 0 { }")),
            "k:5:20: error: a loop's step needs to be from 1 to 1099511627776; got 0");
  EXPECT_EQ(error_of(in_kernel("global z f32[1]")),
            "k:5:8: error: expected global buffers before all others, got 'z'");
  EXPECT_EQ(error_of(in_kernel("register z f32[99999999999999]")).substr(0, 25),
            "k:5:10: error: buffer z n");
  EXPECT_EQ(error_of("kernel k blocks 1 block_size 1 {"),
            "k:1:33: error: expected the name of a buffer, got the end of the text");
}

TEST(KernelText, DeepNestingIsAnError) {
  const std::string deep(100000, '(');
  EXPECT_NE(error_of(in_kernel("let a = " + deep)).find("nested more than 400 deep"),
            std::string::npos);
  std::string chain = "block";
  for (int i = 0; i < 100000; ++i)
    chain += "*block";
  EXPECT_NE(error_of(in_kernel("let a = " + chain)).find("nested more than 400 deep"),
            std::string::npos);
  std::string loops;
  for (int i = 0; i < 100000; ++i)
    loops += "if block < 1 {";
  EXPECT_NE(error_of(in_kernel(loops)).find("nested more than 400 deep"), std::string::npos);
}

// Truncations and random edits of a text with every node: an Error, or a kernel whose text is
// stable.
TEST(KernelText, DamagedTextNeverCrashes) {
  const std::string good = everything();
  std::mt19937 random(3);
  const auto attempt = [](const std::string &text) {
    try {
      const Kernel kernel = parse_kernel(text);
      const std::string once = to_text(kernel);
      EXPECT_EQ(to_text(parse_kernel(once)), once) << text;
      check(kernel, false);
    } catch (const Error &) {
    }
  };
  for (std::size_t size = 0; size < good.size(); ++size)
    attempt(good.substr(0, size));
  for (int round = 0; round < 4000; ++round) {
    std::string text = good;
    for (auto edits = 1 + random() % 3; edits > 0; --edits) {
      const std::size_t at = random() % text.size();
      const std::size_t from = random() % good.size();
      const std::size_t length = random() % 6;
      text.replace(at, random() % 6, good.substr(from, length));
    }
    attempt(text);
  }
}

} // namespace
} // namespace tilefuse::kernel
