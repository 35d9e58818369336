// SPDX-License-Identifier: Apache-2.0
// The ladder of the portable OpenCL article on back-propagation: the input gradient of a 3x3
// convolution, fetched ever more sparingly. Its vector fetches run along taps and filters, which no
// schedule expresses, so the rungs are kernels of the IR, one work-item a block; private arrays are
// local memory. Combining depths is a schedule too: model/schedule_counts_test.cpp counts it.
//
//   dX[c, h, w] = sum over k, r, s of dY[k, h + 1 - r, w + 1 - s] * W[c, k, r, s]
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "kernel/simulate_run.h"

namespace tilefuse::kernel {
namespace {

using testing::Arguments;

constexpr int kDepth = 16; // of the layer's input and of its output
constexpr int kTaps = 9;

struct Map {
  int height = 4;
  int width = 16;
};

// gs[9 k + 3 r + j] = dY[k, h + 1 - r, w - 1 + j], 0 outside; one by one.
std::string input_scalars(const Map &map) {
  return fmt::format("for r in 0..3 {{ for j in 0..3 {{ let v = h + 1 - r let u = w - 1 + j\n"
                     "if v >= 0 && v < {0} && u >= 0 && u < {1} {{\n"
                     "  gs[k * 9 + r * 3 + j] = dy[(k * {0} + v) * {1} + u] }} else {{\n"
                     "  gs[k * 9 + r * 3 + j] = f32(0) }} }} }}\n",
                     map.height, map.width);
}

// The same by rows of three where all of a row is inside.
std::string input_rows(const Map &map) {
  return fmt::format("for r in 0..3 {{ let row = h + 1 - r\n"
                     "if row >= 0 && row < {0} && w >= 1 && w < {1} - 1 {{\n"
                     "  gs[k * 9 + r * 3 .. 3] = dy[(k * {0} + row) * {1} + w - 1 .. 3] }} "
                     "else {{ for j in 0..3 {{ let u = w - 1 + j\n"
                     "if row >= 0 && row < {0} && u >= 0 && u < {1} {{\n"
                     "  gs[k * 9 + r * 3 + j] = dy[(k * {0} + row) * {1} + u] }} else {{\n"
                     "  gs[k * 9 + r * 3 + j] = f32(0) }} }} }} }}\n",
                     map.height, map.width);
}

// ws[9 k + t] = W[c, k, t], of one filter or of 16.
const std::string kWeightScalars =
    "for t in 0..9 { ws[k * 9 + t] = weights[(c * 16 + k) * 9 + t] }\n";
const std::string kWeightVector = "ws[k * 9 .. 8] = weights[(c * 16 + k) * 9 .. 8] ws[k * 9 + 8] = "
                                  "weights[(c * 16 + k) * 9 + 8]\n";
const std::string kWeightBlocks =
    "for v in 0..9 { ws[v * 16 .. 16] = weights[c * 144 + v * 16 .. 16] }\n";

// Of filter `k`, a variable.
std::string multiply_adds(const std::string &acc, const std::string &k) {
  return fmt::format("for r2 in 0..3 {{ for j2 in 0..3 {{ {0} = fma(gs[{1} * 9 + r2 * 3 + j2], "
                     "ws[{1} * 9 + r2 * 3 + 2 - j2], {0}) }} }}\n",
                     acc, k);
}

// `body` computes acc; a block has one element of dX, or those of one pixel and all channels.
std::string kernel_text(const Map &map, bool all_channels, const std::string &body) {
  const int pixels = map.height * map.width;
  return fmt::format(
      "kernel rung blocks {0} block_size 1 {{\nglobal const dy f32[{1}]\n"
      "global const weights f32[{2}]\nglobal dx f32[{1}]\nlocal gs f32[144]\nlocal ws f32[144]\n"
      "register acc f32[{3}]\nlet h = block / {4} % {5} let w = block % {4}\n{6}}}",
      all_channels ? pixels : pixels * kDepth, pixels * kDepth, kDepth * kDepth * kTaps,
      all_channels ? kDepth : 1, map.width, map.height, body);
}

// One element a work-item.
std::string one_element(const Map &map, const std::string &before, const std::string &each) {
  const std::string store = "dx[block] = acc[0]\n";
  return kernel_text(
      map, false,
      fmt::format("let c = block / {} acc[0] = f32(0)\n{}for k in 0..16 {{ {} {} }}\n{}",
                  map.height * map.width, before, each, multiply_adds("acc[0]", "k"), store));
}

struct Fetches {
  std::int64_t input = 0; // instructions of work-items
  std::int64_t weights = 0;
  friend bool operator==(const Fetches &, const Fetches &) = default;
};

double gradient(const Arguments &args, const Map &map, int c, int h, int w) {
  double sum = 0;
  for (int k = 0; k < kDepth; ++k)
    for (int r = 0; r < 3; ++r)
      for (int s = 0; s < 3; ++s) {
        const int v = h + 1 - r, u = w + 1 - s;
        if (v >= 0 && v < map.height && u >= 0 && u < map.width)
          sum +=
              load_element(args.data[0].data(), DType::F32, (k * map.height + v) * map.width + u) *
              load_element(args.data[1].data(), DType::F32, (c * kDepth + k) * kTaps + r * 3 + s);
      }
  return sum;
}

// Runs a rung, compares all of dX with the sum above, and counts.
Fetches fetches_of(const std::string &text, const Map &map) {
  const Kernel kernel = parse_kernel(text);
  EXPECT_EQ(check(kernel, false), "");
  Arguments args(kernel);
  const Counts counts = simulate(kernel, args.spans);
  const int pixels = map.height * map.width;
  for (int i = 0; i < kDepth * pixels; ++i)
    EXPECT_EQ(load_element(args.data[2].data(), DType::F32, i),
              gradient(args, map, i / pixels, i / map.width % map.height, i % map.width))
        << i;
  Fetches fetches;
  for (const AccessCounts &access : counts.accesses) {
    if (access.buffer == counts.buffer("dy").id)
      fetches.input += access.executed;
    if (access.buffer == counts.buffer("weights").id)
      fetches.weights += access.executed;
  }
  return fetches;
}

std::string scalar_rung(const Map &map) {
  return one_element(map, "", kWeightScalars + input_scalars(map));
}
std::string weight_vectors(const Map &map) {
  return one_element(map, "", kWeightVector + input_scalars(map));
}
std::string input_vectors(const Map &map) {
  return one_element(map, "", kWeightVector + input_rows(map));
}
std::string combined_filters(const Map &map) {
  return one_element(map, kWeightBlocks, input_rows(map));
}
std::string combined_channels(const Map &map) {
  return kernel_text(map, true,
                     fmt::format("for k in 0..16 {{ {} }}\nfor c in 0..16 {{ acc[c] = f32(0)\n{}"
                                 "for f in 0..16 {{ {} }}\ndx[c * {} + block] = acc[c] }}\n",
                                 input_rows(map), kWeightBlocks, multiply_adds("acc[c]", "f"),
                                 map.height * map.width));
}

TEST(BackwardLadder, WeightVectorsFetchAFactorOfFourAndAHalfLess) {
  const Map map;
  const std::int64_t elements = kDepth * map.height * map.width;
  const Fetches scalar = fetches_of(scalar_rung(map), map);
  const Fetches vectors = fetches_of(weight_vectors(map), map);
  EXPECT_EQ(scalar.weights, elements * kDepth * kTaps);
  EXPECT_EQ(vectors.weights, elements * kDepth * 2); // of 8 and of 1
  EXPECT_EQ(scalar.weights * 2, vectors.weights * 9);
  EXPECT_EQ(scalar.input, vectors.input);
}

// A row inside the map is one fetch instead of three; the two columns at the edges keep their two.
TEST(BackwardLadder, InputRowsFetchUpToThreeTimesLess) {
  for (const Map map : {Map{4, 4}, Map{4, 16}, Map{2, 64}}) {
    const std::int64_t rows = kDepth * kDepth * (3 * map.height - 2); // inside
    const Fetches scalars = fetches_of(weight_vectors(map), map);
    const Fetches vectors = fetches_of(input_vectors(map), map);
    EXPECT_EQ(scalars.input, rows * (3 * map.width - 2));
    EXPECT_EQ(vectors.input, rows * (map.width - 2 + 2 * 2));
    EXPECT_LT(scalars.input, 3 * vectors.input);
    EXPECT_EQ(scalars.weights, vectors.weights);
  }
}

TEST(BackwardLadder, CombinedDepthsFetchTheInputOnceForSixteenChannels) {
  const Map map;
  const Fetches rows = fetches_of(input_vectors(map), map);
  const Fetches filters = fetches_of(combined_filters(map), map);
  const Fetches channels = fetches_of(combined_channels(map), map);
  EXPECT_EQ(filters.input, rows.input);
  EXPECT_EQ(filters.weights * 32, rows.weights * 9); // 9 of 16 for 16 filters, before 2 for each
  EXPECT_EQ(channels.input * 16, filters.input);
  EXPECT_EQ(channels.weights, filters.weights);
}

} // namespace
} // namespace tilefuse::kernel
