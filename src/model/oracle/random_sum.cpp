// SPDX-License-Identifier: Apache-2.0
#include "model/oracle/random_sum.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/index.h"
#include "schedule/wgmma/tile_sums.h"

namespace tilefuse::model {
namespace {

constexpr std::int64_t kRows = 8; // of an image

// Pixels: as one number, or where an image has columns a box of them, over which taps move.
struct Pixels {
  std::int64_t count = 0;
  std::int64_t columns = 0;

  bool is_box() const { return columns > 0; }
  std::int64_t images() const { return count / (kRows * columns); }
  std::string indices() const {
    return is_box() ? fmt::format("n {}, y {}, x {}", images(), kRows, columns)
                    : fmt::format("p {}", count);
  }
  // Subscripts of a tensor of so many neighbouring channels; `reach` for taps.
  std::string of(std::int64_t channels, const char *channel, bool reach = false) const {
    const std::string last = fmt::format("{}:{}*1", channel, channels);
    if (!is_box())
      return fmt::format("[p:{}*{}, {}]", count, channels, last);
    const std::int64_t row = columns * channels;
    return fmt::format("[n:{}*{}, y{}:{}{}*{}, x{}:{}{}*{}, {}]", images(), kRows * row,
                       reach ? " + r - 1" : "", kRows, reach ? "?" : "", row,
                       reach ? " + s - 1" : "", columns, reach ? "?" : "", channels, last);
  }
};

Pixels random_pixels(Random &random) {
  if (random.chance(60))
    return {.count = 64 * random.between(2, 5)};
  const std::int64_t columns = 8 * random.between(1, 2);
  return {.count = random.between(1, 3) * kRows * columns, .columns = columns};
}

// A convolution forward or an input gradient, whose filter lies turned. What stands at its end may
// read a tensor that lies as the result does.
nest::Nest random_product(const Pixels &pixels, std::int64_t m, Random &random) {
  const std::int64_t c = 16 * random.between(1, 4);
  const bool is_turned = random.chance(30);
  const std::string filter =
      pixels.is_box()
          ? fmt::format("const [m:{}*{}, r:3*{}, s:3*{}, c:{}*1]", m, 9 * c, 3 * c, c, c)
      : is_turned ? fmt::format("[c:{}*{}, m:{}*1]", c, m, m)
                  : fmt::format("const [m:{}*{}, c:{}*1]", m, c, c);
  const std::string post = random.of<std::string>(
      {"f16(acc)", "f16(max(acc, 0))", "f16(f32($0) + acc)", "f16(select(f32($0) > 0, acc, 0))"});
  const bool has_operand = post.find('$') != std::string::npos;
  const std::string result = pixels.of(m, "m");
  return nest::parse_nest(fmt::format(
      R"(nest conv {{
  index {}, m {} | {}c {}
  slot 0 f16 {}, 1 f16 {}, 2 f16 {}{}
  acc f32 = sum mul
  in 0 + 0 {}
  in 1 + 0 {}
  out 2 + 0 {}
{}  post {}
}})",
      pixels.indices(), m, pixels.is_box() ? "r 3, s 3, " : "", c, pixels.count * c,
      (pixels.is_box() ? 9 : 1) * m * c, pixels.count * m,
      has_operand ? fmt::format(", 3 f16 {}", pixels.count * m) : "", pixels.of(c, "c", true),
      filter, result, has_operand ? fmt::format("  extra 3 + 0 {}\n", result) : "", post));
}

// Of each channel: the result, its product with another tensor, both, or what statistics add up.
nest::Nest random_sum(const Pixels &pixels, std::int64_t m, Random &random) {
  const std::string term =
      random.of<std::string>({"", "$0 * $1", "select($2 == 0, $0 * $1, $0)",
                              "select($1 == 0, $0 - $2, ($0 - $2) * ($0 - $2))"});
  const auto reads = [&](const char *input) { return term.find(input) != std::string::npos; };
  const bool is_statistics = reads("$1 == 0"), has_copies = is_statistics || reads("$2 == 0");
  const std::string result = pixels.of(m, "m");
  const std::int64_t copies = has_copies ? 2 : 1;
  std::string inputs = fmt::format("  in 0 + 0 {}\n", result);
  std::string slots = fmt::format("0 f16 {}", pixels.count * m);
  int next = 1;
  const auto add = [&](const std::string &slot, const std::string &at) {
    slots += fmt::format(", {} {}", next, slot);
    inputs += fmt::format("  in {} + 0 {}\n", next++, at);
  };
  if (is_statistics) {
    add("f32 2", "const [k:2*1]");
    add(fmt::format("f32 {}", m), fmt::format("[m:{}*1]", m));
  } else if (reads("$1")) {
    add(fmt::format("f16 {}", pixels.count * m), result);
    if (has_copies)
      add("f32 2", "const [k:2*1]");
  }
  return nest::parse_nest(fmt::format(
      "nest gemm {{\n  index {}m {} | {}\n  slot {}, {} f32 {}\n  acc f32 = sum{}\n{}{}"
      "  out {} + 0 [{}m:{}*1]\n  post acc\n}}",
      has_copies ? "k 2, " : "", m, pixels.indices(), slots, next, copies * m,
      term.empty() ? "" : " term", inputs, term.empty() ? "" : fmt::format("  term {}\n", term),
      next, has_copies ? fmt::format("k:2*{}, ", m) : "", m));
}

} // namespace

SummedProduct random_summed_product(Random &random) {
  const Pixels pixels = random_pixels(random);
  const std::int64_t channels = 32 * random.between(1, 3);
  SummedProduct drawn{.product = random_product(pixels, channels, random),
                      .sum = random_sum(pixels, channels, random)};
  drawn.product = schedule::with_operands(drawn.product, drawn.sum, kSummed, drawn.beside).value();
  return drawn;
}

std::optional<poly::Group> with_sum(const SummedProduct &drawn,
                                    const schedule::Schedule &schedule) {
  const nest::Nest &product = drawn.product;
  const auto parts = schedule::tile_parts(gemm_of(product, schedule), drawn.sum, kSummed);
  if (!parts)
    return std::nullopt;
  poly::Group group{product};
  poly::TileSum sum{parts->partial, {}};
  nest::SlotId next = product.slots.next_id();
  for (const std::optional<nest::SlotId> whole : parts->partial_slots) {
    const auto beside = std::find(drawn.beside.begin(), drawn.beside.end(), whole);
    if (whole == drawn.sum.inputs[kSummed].slot)
      sum.slots.push_back(product.out.slot);
    else if (beside != drawn.beside.end())
      sum.slots.push_back((product.extras.end() - (drawn.beside.end() - beside))->slot);
    else {
      sum.slots.push_back(next);
      next = nest::SlotId{to_int(next) + 1};
    }
  }
  group.sums.push_back(std::move(sum));
  return group;
}

} // namespace tilefuse::model
