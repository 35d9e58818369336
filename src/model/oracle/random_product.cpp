// SPDX-License-Identifier: Apache-2.0
#include "model/oracle/random_product.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace tilefuse::model {
namespace {

// Sizes of a convolution; the errors of its gradients have those of its result.
struct Sizes {
  std::int64_t n = 1, h = 1, w = 1, c = 1, k = 1, r = 1, s = 1, stride = 1, dilation = 1, pad = 0;
  std::int64_t p() const { return (h + 2 * pad - dilation * (r - 1) - 1) / stride + 1; }
  std::int64_t q() const { return (w + 2 * pad - dilation * (s - 1) - 1) / stride + 1; }
};

// The least that the taps need, and some more.
Sizes random_sizes(Random &random, std::int64_t unit) {
  Sizes z;
  z.r = random.between(1, 3);
  z.s = random.between(1, 3);
  z.stride = random.between(1, 2);
  z.dilation = random.between(1, 2);
  z.pad = random.between(0, z.r / 2);
  z.n = random.between(1, 3);
  z.h = z.dilation * (z.r - 1) + random.between(1, 5);
  z.w = z.dilation * (z.s - 1) + random.between(1, 5);
  unit *= random.of({1, 8}); // tensor copies are of 16 bytes
  z.c = unit * random.between(1, std::max<std::int64_t>(2, 40 / unit));
  z.k = unit * random.between(1, std::max<std::int64_t>(2, 40 / unit));
  return z;
}

std::string subscript(const Sizes &z, const char *point, const char *tap) {
  return fmt::format("{}*{} + {}*{} - {}", z.stride, point, z.dilation, tap, z.pad);
}

// "n:2*128, y:3*32, …" of a tensor whose dimensions are given slowest first, as SUBSCRIPT:SIZE.
struct Dimension {
  std::string at;
  std::int64_t size = 1;
  bool guarded = false;
};

std::string operand(const std::vector<Dimension> &dims) {
  std::string text;
  std::int64_t stride = 1;
  for (auto dim = dims.rbegin(); dim != dims.rend(); ++dim) {
    text = fmt::format("{}:{}{}*{}{}{}", dim->at, dim->size, dim->guarded ? "?" : "", stride,
                       text.empty() ? "" : ", ", text);
    stride *= dim->size;
  }
  return "[" + text + "]";
}

std::int64_t elems(const std::vector<Dimension> &dims) {
  std::int64_t count = 1;
  for (const Dimension &dim : dims)
    count *= dim.size;
  return count;
}

struct Product {
  std::string indices;
  std::vector<Dimension> first, second, out;
  bool constant = false; // the second
};

nest::Nest nest_of(Random &random, const Product &p, const std::string &type) {
  const bool is_whole = type == "i8" || type == "u8";
  const std::string acc = is_whole ? "i32" : "f32";
  const std::string result = random.chance(50) ? acc : type;
  const bool has_bias = random.chance(50);
  const std::string last = p.out.back().at;
  std::string post = has_bias ? fmt::format("acc + {}($0)", acc) : "acc";
  if (result != acc)
    post = fmt::format("{}({})", result, post);
  return nest::parse_nest(fmt::format(
      "nest product {{\n  index {}\n  slot 0 {} {}, 1 {} {}, 2 {} {}{}\n  acc {} = sum mul\n"
      "  in 0 + 0 {}\n  in 1 + 0 {}{}\n  out 2 + 0 {}\n{}  post {}\n}}\n",
      p.indices, type, elems(p.first), type, elems(p.second), result, elems(p.out),
      has_bias ? fmt::format(", 3 f16 {}", p.out.back().size) : "", acc, operand(p.first),
      p.constant ? "const " : "", operand(p.second), operand(p.out),
      has_bias ? fmt::format("  extra 3 + 0 const [{}:{}*1]\n", last, p.out.back().size) : "",
      post));
}

Product forward(Random &random, const Sizes &z) {
  return {fmt::format("n {}, y {}, x {}, m {} | r {}, s {}, c {}", z.n, z.p(), z.q(), z.k, z.r, z.s,
                      z.c),
          {{"n", z.n},
           {subscript(z, "y", "r"), z.h, z.pad > 0},
           {subscript(z, "x", "s"), z.w, z.pad > 0},
           {"c", z.c}},
          {{"m", z.k}, {"r", z.r}, {"s", z.s}, {"c", z.c}},
          {{"n", z.n}, {"y", z.p()}, {"x", z.q()}, {"m", z.k}},
          random.chance(50)};
}

// Channels in groups, which are neighbours on both sides.
Product in_groups(Random &random, const Sizes &z) {
  const std::int64_t groups = random.between(2, 3);
  return {fmt::format("n {}, y {}, x {}, g {}, m {} | r {}, s {}, c {}", z.n, z.p(), z.q(), groups,
                      z.k, z.r, z.s, z.c),
          {{"n", z.n},
           {subscript(z, "y", "r"), z.h, z.pad > 0},
           {subscript(z, "x", "s"), z.w, z.pad > 0},
           {fmt::format("{}*g + c", z.c), groups * z.c}},
          {{fmt::format("{}*g + m", z.k), groups * z.k}, {"r", z.r}, {"s", z.s}, {"c", z.c}},
          {{"n", z.n}, {"y", z.p()}, {"x", z.q()}, {fmt::format("{}*g + m", z.k), groups * z.k}},
          random.chance(50)};
}

// Of a convolution without stride: taps run against the result.
Product by_input(const Sizes &z) {
  return {
      fmt::format("n {}, y {}, x {}, c {} | m {}, r {}, s {}", z.n, z.h, z.w, z.c, z.k, z.r, z.s),
      {{"n", z.n},
       {fmt::format("y - {}*r + {}", z.dilation, z.pad), z.h, true},
       {fmt::format("x - {}*s + {}", z.dilation, z.pad), z.w, true},
       {"m", z.k}},
      {{"m", z.k}, {"r", z.r}, {"s", z.s}, {"c", z.c}},
      {{"n", z.n}, {"y", z.h}, {"x", z.w}, {"c", z.c}}};
}

Product by_filter(const Sizes &z) {
  return {fmt::format("m {}, r {}, s {}, c {} | n {}, y {}, x {}", z.k, z.r, z.s, z.c, z.n, z.p(),
                      z.q()),
          {{"n", z.n}, {"y", z.p()}, {"x", z.q()}, {"m", z.k}},
          {{"n", z.n},
           {subscript(z, "y", "r"), z.h, z.pad > 0},
           {subscript(z, "x", "s"), z.w, z.pad > 0},
           {"c", z.c}},
          {{"m", z.k}, {"r", z.r}, {"s", z.s}, {"c", z.c}}};
}

Product matrices(Random &random, const Sizes &z) {
  Product p{fmt::format("m {}, n {} | k {}", 8 * z.h, z.c, z.k),
            {{"m", 8 * z.h}, {"k", z.k}},
            {{"n", z.c}, {"k", z.k}},
            {{"m", 8 * z.h}, {"n", z.c}}};
  if (random.chance(50))
    std::swap(p.first[0], p.first[1]);
  if (random.chance(50))
    std::swap(p.second[0], p.second[1]);
  return p;
}

// Channels in blocks of 32 bytes.
Product in_blocks(Random &random, const Sizes &z, std::int64_t block) {
  const std::int64_t in = random.between(1, 3), out = random.between(1, 2);
  return {fmt::format("n {}, mo {}, y {}, x {}, mi {} | co {}, r {}, s {}, ci {}", z.n, out, z.p(),
                      z.q(), block, in, z.r, z.s, block),
          {{"n", z.n},
           {"co", in},
           {subscript(z, "y", "r"), z.h, z.pad > 0},
           {subscript(z, "x", "s"), z.w, z.pad > 0},
           {"ci", block}},
          {{"co", in},
           {"r", z.r},
           {"s", z.s},
           {fmt::format("{}*mo + mi", block), out * block},
           {"ci", block}},
          {{"n", z.n}, {"mo", out}, {"y", z.p()}, {"x", z.q()}, {"mi", block}},
          true};
}

} // namespace

nest::Nest random_product(Random &random) {
  const std::string type = random.of<std::string>({"f16", "bf16", "i8", "u8", "f32"});
  const bool is_half = type == "f16" || type == "bf16";
  const std::int64_t bytes = is_half ? 2 : (type == "f32" ? 4 : 1);
  const Sizes sizes = random_sizes(random, 4 / bytes); // copies are of 4 bytes at least
  switch (random.between(0, is_half ? 5 : 2)) {
  case 1:
    return nest_of(random, in_blocks(random, sizes, 32 / bytes), type);
  case 2:
    return nest_of(random, in_groups(random, sizes), type);
  case 3:
    return nest_of(random, by_input(sizes), type);
  case 4:
    return nest_of(random, by_filter(sizes), type);
  case 5:
    return nest_of(random, matrices(random, sizes), type);
  default:
    return nest_of(random, forward(random, sizes), type);
  }
}

} // namespace tilefuse::model
