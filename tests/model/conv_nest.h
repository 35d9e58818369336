// SPDX-License-Identifier: Apache-2.0
// Forward convolutions as nests, for tests of schedules with a core instruction.
#pragma once

#include <string>

#include <fmt/format.h>

#include "nest/nest.h"
#include "poly/group.h"

namespace tilefuse::model {

struct Conv {
  int n = 1, h = 9, w = 7, c = 32, k = 32, r = 3, s = 3;
  int stride = 1, dilation = 1, pad = 1;
  std::string in = "f16", out = "f16", acc = "f32";
  std::string post = "max(acc + f32($0), 0)";
  std::string filter = {}; // its type; empty: that of `in`
};

// Channels innermost, filter [k][r][s][c], a bias.
inline poly::Group group_of(const Conv &v) {
  const int p = (v.h + 2 * v.pad - v.dilation * (v.r - 1) - 1) / v.stride + 1;
  const int q = (v.w + 2 * v.pad - v.dilation * (v.s - 1) - 1) / v.stride + 1;
  const auto subscript = [&](const char *out, const char *tap) {
    std::string text = v.stride == 1 ? out : fmt::format("{}*{}", v.stride, out);
    text += v.dilation == 1 ? fmt::format(" + {}", tap) : fmt::format(" + {}*{}", v.dilation, tap);
    return v.pad == 0 ? text : fmt::format("{} - {}", text, v.pad);
  };
  const char *mark = v.pad == 0 ? "" : "?";
  return {nest::parse_nest(
      fmt::format("nest conv {{\n  index n {0}, y {1}, x {2}, m {3} | r {4}, s {5}, c {6}\n"
                  "  slot 0 {7} {8}, 1 {25} {9}, 2 {10} {11}, 3 f32 {3}\n  acc {12} = sum mul\n"
                  "  in 0 + 0 [n:{0}*{13}, {14}:{15}{16}*{17}, {18}:{19}{16}*{6}, c:{6}*1]\n"
                  "  in 1 + 0 const [m:{3}*{20}, r:{4}*{21}, s:{5}*{6}, c:{6}*1]\n"
                  "  out 2 + 0 [n:{0}*{22}, y:{1}*{23}, x:{2}*{3}, m:{3}*1]\n"
                  "  extra 3 + 0 const [m:{3}*1]\n  post {24}\n}}\n",
                  v.n, p, q, v.k, v.r, v.s, v.c, v.in, v.n * v.h * v.w * v.c, v.k * v.r * v.s * v.c,
                  v.out, v.n * p * q * v.k, v.acc, v.h * v.w * v.c, subscript("y", "r"), v.h, mark,
                  v.w * v.c, subscript("x", "s"), v.w, v.r * v.s * v.c, v.s * v.c, p * q * v.k,
                  q * v.k, v.post, v.filter.empty() ? v.in : v.filter))};
}

// MegEngine's layout: [n][c / 32][y][x][32], filter [c / 32][r][s][m][32], scales per channel.
inline poly::Group nchw32(int n, int blocks, int size, int out_blocks, int taps, int stride = 1) {
  const int pad = taps / 2, out = (size + 2 * pad - taps) / stride + 1;
  const int channels = 32 * out_blocks;
  const auto subscript = [&](const char *pixel, const char *tap) {
    return stride == 1 ? fmt::format("{} + {} - {}", pixel, tap, pad)
                       : fmt::format("{}*{} + {} - {}", stride, pixel, tap, pad);
  };
  return {nest::parse_nest(fmt::format(
      "nest conv {{\n  index n {0}, mo {3}, y {18}, x {18}, mi 32 | co {1}, r {4}, s {4}, ci 32\n"
      "  slot 0 i8 {5}, 1 i8 {6}, 2 i8 {7}, 3 f32 {8}\n  acc i32 = sum mul\n"
      "  in 0 + 0 [n:{0}*{9}, co:{1}*{10}, {11}:{2}?*{12}, {17}:{2}?*32, ci:32*1]\n"
      "  in 1 + 0 const [co:{1}*{13}, r:{4}*{14}, s:{4}*{15}, 32*mo + mi:{8}*32, ci:32*1]\n"
      "  out 2 + 0 [n:{0}*{16}, mo:{3}*{19}, y:{18}*{20}, x:{18}*32, mi:32*1]\n"
      "  extra 3 + 0 const [32*mo + mi:{8}*1]\n"
      "  post i8(max(min(round(f32(acc) * $0), 127), -128))\n}}\n",
      n, blocks, size, out_blocks, taps, n * blocks * size * size * 32,
      blocks * taps * taps * channels * 32, n * out_blocks * out * out * 32, channels,
      blocks * size * size * 32, size * size * 32, subscript("y", "r"), size * 32,
      taps * taps * channels * 32, taps * channels * 32, channels * 32, out_blocks * out * out * 32,
      subscript("x", "s"), out, out * out * 32, out * 32))};
}

} // namespace tilefuse::model
