// SPDX-License-Identifier: Apache-2.0
// Values of the operators of ops/: by an interpreter of programs, against loops and numbers written
// out here.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "base/index.h"
#include "tile/interpret.h"

namespace tilefuse::test {
namespace {

using program::Shape;
using I = std::int64_t;
using List = std::vector<double>;

double at(const Values &v, const std::vector<I> &index) {
  I position = 0;
  for (std::size_t d = 0; d < index.size(); ++d) {
    if (index[d] < 0 || index[d] >= v.shape[d])
      return 0;
    position = position * v.shape[d] + index[d];
  }
  return v.data[static_cast<std::size_t>(position)];
}

void expect_near(const Values &got, const List &want, double tolerance = 1e-12) {
  ASSERT_EQ(got.data.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i)
    EXPECT_NEAR(got.data[i], want[i], tolerance) << "element " << i;
}

struct Window {
  I kernel, stride, dilation, pad, out;
};

// conv2d by its definition, grouped.
List reference_conv(const Values &x, const Values &k, const Window &y, const Window &w, I groups) {
  List result;
  const I m_per_group = k.shape[0] / groups;
  for (I n = 0; n < x.shape[0]; ++n)
    for (I m = 0; m < k.shape[0]; ++m)
      for (I oy = 0; oy < y.out; ++oy)
        for (I ox = 0; ox < w.out; ++ox) {
          double sum = 0;
          for (I c = 0; c < k.shape[1]; ++c)
            for (I r = 0; r < y.kernel; ++r)
              for (I s = 0; s < w.kernel; ++s)
                sum += at(x, {n, m / m_per_group * k.shape[1] + c,
                              oy * y.stride + r * y.dilation - y.pad,
                              ox * w.stride + s * w.dilation - w.pad}) *
                       at(k, {m, c, r, s});
          result.push_back(sum);
        }
  return result;
}

tile::Attributes conv_attributes(const Window &y, const Window &x) {
  return {{"SY", y.stride}, {"SX", x.stride}, {"DY", y.dilation}, {"DX", x.dilation},
          {"PY", y.pad},    {"PX", x.pad},    {"OY", y.out},      {"OX", x.out}};
}

const std::vector<std::pair<Window, Window>> kWindows = {
    {{3, 1, 1, 1, 5}, {3, 1, 1, 1, 7}},
    {{3, 2, 1, 0, 2}, {2, 3, 1, 1, 3}},
    {{2, 1, 2, 2, 7}, {3, 1, 3, 1, 3}},
    {{1, 1, 1, 0, 5}, {1, 1, 1, 0, 7}},
};

TEST(OpsValues, Convolutions) {
  for (const auto &[y, x] : kWindows) {
    const Values image = numbers({2, 4, 5, 7});
    const Values full = numbers({3, 4, y.kernel, x.kernel}, 2);
    expect_near(run_operator("conv2d", {image, full}, conv_attributes(y, x)),
                reference_conv(image, full, y, x, 1));

    const Values grouped = numbers({6, 2, y.kernel, x.kernel}, 3);
    tile::Attributes attributes = conv_attributes(y, x);
    attributes["G"] = I{2};
    expect_near(run_operator("group_conv2d", {image, grouped}, attributes),
                reference_conv(image, grouped, y, x, 2));

    const Values depthwise = numbers({4, 1, y.kernel, x.kernel}, 4);
    expect_near(run_operator("depthwise_conv2d", {image, depthwise}, conv_attributes(y, x)),
                reference_conv(image, depthwise, y, x, 4));
  }
}

// A 1-D and a 3-D convolution are 2-D ones with an axis of 1 and a sum over an axis.
TEST(OpsValues, ConvolutionsOfOtherRanks) {
  const Values image = numbers({1, 2, 1, 9});
  const Values filter = numbers({3, 2, 1, 3}, 2);
  const Window one{1, 1, 1, 0, 1};
  const Window x{3, 2, 1, 1, 5};
  const List want = reference_conv(image, filter, one, x, 1);
  const tile::Attributes attributes{{"SX", I{2}}, {"PX", I{1}}, {"OX", I{5}}};
  expect_near(
      run_operator("conv1d", {{{1, 2, 9}, image.data}, {{3, 2, 3}, filter.data}}, attributes),
      want);
  tile::Attributes volume = attributes;
  volume["OZ"] = volume["OY"] = I{1};
  expect_near(run_operator("conv3d",
                           {{{1, 2, 1, 1, 9}, image.data}, {{3, 2, 1, 1, 3}, filter.data}}, volume),
              want);
  volume["G"] = I{1};
  expect_near(run_operator("group_conv3d",
                           {{{1, 2, 1, 1, 9}, image.data}, {{3, 2, 1, 1, 3}, filter.data}}, volume),
              want);
}

TEST(OpsValues, TransposedConvolutionScatters) {
  const Values x = numbers({1, 2, 3});
  const Values k = numbers({2, 3, 4}, 2);
  const I stride = 2, dilation = 1, pad = 1, out = 7;
  List want(static_cast<std::size_t>(3 * out), 0);
  for (I c = 0; c < 2; ++c)
    for (I m = 0; m < 3; ++m)
      for (I i = 0; i < 3; ++i)
        for (I s = 0; s < 4; ++s) {
          const I o = i * stride + s * dilation - pad;
          if (o >= 0 && o < out)
            want[static_cast<std::size_t>(m * out + o)] += at(x, {0, c, i}) * at(k, {c, m, s});
        }
  const tile::Attributes attributes{{"SX", stride}, {"PX", pad}, {"OX", out}};
  expect_near(run_operator("conv_transpose1d", {x, k}, attributes), want);
  tile::Attributes flat = attributes;
  flat["OY"] = I{1};
  expect_near(
      run_operator("conv_transpose2d", {{{1, 2, 1, 3}, x.data}, {{2, 3, 1, 4}, k.data}}, flat),
      want);
  flat["OZ"] = I{1};
  expect_near(run_operator("conv_transpose3d",
                           {{{1, 2, 1, 1, 3}, x.data}, {{2, 3, 1, 1, 4}, k.data}}, flat),
              want);
}

struct Pooled {
  double max = -std::numeric_limits<double>::infinity();
  double sum = 0;
  double real = 0;   // elements of the input
  double padded = 0; // and of the declared padding
};

Pooled pool_window(const Values &x, const Window &w, I end_pad, I o) {
  Pooled pooled;
  const I size = x.shape[2];
  for (I k = 0; k < w.kernel; ++k) {
    const I i = o * w.stride + k * w.dilation - w.pad;
    if (i < size + end_pad)
      ++pooled.padded;
    if (i < 0 || i >= size)
      continue;
    pooled.max = std::max(pooled.max, at(x, {0, 0, i}));
    pooled.sum += at(x, {0, 0, i});
    ++pooled.real;
  }
  return pooled;
}

// The last window of the second case reaches beyond the declared padding, as in ceil mode.
TEST(OpsValues, Pools) {
  Values x = numbers({1, 1, 8});
  for (double &v : x.data)
    v -= 10;
  const I end_pad = 1;
  for (const Window &w : {Window{3, 2, 1, 1, 5}, Window{4, 3, 1, 1, 3}, Window{2, 1, 3, 2, 9},
                          Window{1, 1, 1, 0, 8}}) {
    List max, sum, average, padded;
    for (I o = 0; o < w.out; ++o) {
      const Pooled p = pool_window(x, w, end_pad, o);
      max.push_back(p.max);
      sum.push_back(p.sum);
      average.push_back(p.sum / p.real);
      padded.push_back(p.sum / p.padded);
    }
    tile::Attributes attributes{
        {"KX", w.kernel}, {"SX", w.stride}, {"DX", w.dilation}, {"PX", w.pad}, {"OX", w.out}};
    tile::Attributes flat = attributes;
    flat["KY"] = flat["OY"] = I{1};
    tile::Attributes volume = flat;
    volume["KZ"] = volume["OZ"] = I{1};
    const std::vector<std::pair<Shape, tile::Attributes>> ranks = {
        {{1, 1, 8}, attributes}, {{1, 1, 1, 8}, flat}, {{1, 1, 1, 1, 8}, volume}};
    for (std::size_t rank = 1; rank <= ranks.size(); ++rank) {
      auto [shape, a] = ranks[rank - 1];
      const std::string d = std::to_string(rank) + "d";
      const Values input{shape, x.data};
      expect_near(run_operator("max_pool" + d, {input}, a), max);
      expect_near(run_operator("sum_pool" + d, {input}, a), sum);
      expect_near(run_operator("average_pool" + d, {input}, a), average);
      a["EX"] = end_pad;
      expect_near(run_operator("average_pool" + d + "_padded", {input}, a), padded);
    }
  }
}

TEST(OpsValues, FullAndGlobalPools) {
  const Values x = counted({1, 2, 2, 3});
  expect_near(run_operator("average_pool2d_full", {x},
                           {{"KY", I{2}}, {"KX", I{2}}, {"OY", I{1}}, {"OX", I{2}}}),
              {2, 3, 8, 9});
  expect_near(run_operator("global_average_pool2d", {x}), {2.5, 8.5});
  expect_near(run_operator("global_max_pool2d", {x}), {5, 11});
  expect_near(run_operator("global_max_pool1d", {{{1, 1, 3}, {-3, -2, -5}}}), {-2});
}

TEST(OpsValues, Products) {
  const Values a{{2, 3}, {1, 2, 3, 4, 5, 6}};
  const Values at_{{3, 2}, {1, 4, 2, 5, 3, 6}};
  const Values b{{3, 2}, {1, 0, 2, 1, -1, 3}};
  const Values bt{{2, 3}, {1, 2, -1, 0, 1, 3}};
  const List want{2, 11, 8, 23};
  expect_near(run_operator("gemm_nn", {a, b}), want);
  expect_near(run_operator("gemm_nt", {a, bt}), want);
  expect_near(run_operator("gemm_tn", {at_, b}), want);
  expect_near(run_operator("gemm_tt", {at_, bt}), want);
  expect_near(run_operator("matmul_22", {a, b}), want);
  expect_near(run_operator("matmul_33", {{{1, 2, 3}, a.data}, {{1, 3, 2}, b.data}}), want);
  expect_near(run_operator("matmul_42", {{{1, 1, 2, 3}, a.data}, b}), want);
  expect_near(run_operator("matmul_11", {{{3}, {1, 2, 3}}, {{3}, {4, 5, 6}}}), {32});
  expect_near(
      run_operator("gemm_bias", {{{2, 2}, want}, {{2}, {10, 20}}}, {{"ALPHA", 2.0}, {"BETA", 0.5}}),
      {9, 32, 21, 56});
}

TEST(OpsValues, Normalizations) {
  const Values x = numbers({2, 2, 3});
  const Values scale{{2}, {2, -1}}, bias{{2}, {0.5, 3}}, mean{{2}, {1, -2}},
      variance{{2}, {4, 0.25}};
  List want;
  for (I n = 0; n < 2; ++n)
    for (std::size_t c = 0; c < 2; ++c)
      for (I i = 0; i < 3; ++i)
        want.push_back((at(x, {n, static_cast<I>(c), i}) - mean.data[c]) /
                           std::sqrt(variance.data[c] + 0.01) * scale.data[c] +
                       bias.data[c]);
  expect_near(run_operator("batch_norm1d", {x, scale, bias, mean, variance}, {{"EPSILON", 0.01}}),
              want);
  expect_near(run_operator("batch_norm2d", {{{2, 2, 1, 3}, x.data}, scale, bias, mean, variance},
                           {{"EPSILON", 0.01}}),
              want);

  const double s = std::sqrt(2.0 / 3 + 0.01);
  expect_near(run_operator("layer_norm", {{{1, 3}, {1, 2, 3}}, {{3}, {1, 2, 3}}, {{3}, {0, 1, 0}}},
                           {{"EPSILON", 0.01}}),
              {-1 / s, 1, 3 / s});
  expect_near(run_operator("instance_norm", {{{1, 1, 3}, {1, 2, 3}}, {{1}, {2}}, {{1}, {5}}},
                           {{"EPSILON", 0.01}}),
              {5 - 2 / s, 5, 5 + 2 / s});
}

TEST(OpsValues, LocalResponse) {
  for (const I size : {I{1}, I{2}, I{3}, I{4}, I{5}}) {
    const Values x = numbers({1, 6, 1, 2});
    List want;
    for (I c = 0; c < 6; ++c)
      for (I i = 0; i < 2; ++i) {
        double sum = 0;
        for (I k = c - (size - 1) / 2; k <= c + size / 2; ++k)
          sum += at(x, {0, k, 0, i}) * at(x, {0, k, 0, i});
        want.push_back(at(x, {0, c, 0, i}) /
                       std::pow(2 + 0.5 / static_cast<double>(size) * sum, 0.75));
      }
    expect_near(run_operator("lrn", {x}, {{"SIZE", size}, {"ALPHA", 0.5}, {"BIAS", 2.0}}), want);
  }
}

TEST(OpsValues, SoftmaxStaysFinite) {
  const Values x{{2, 3, 1}, {1000, 1001, 1002, -5, 0, 5}};
  List want, logs;
  for (std::size_t o = 0; o < 2; ++o) {
    const double top = x.data[3 * o + 2];
    double sum = 0;
    for (std::size_t i = 0; i < 3; ++i)
      sum += std::exp(x.data[3 * o + i] - top);
    for (std::size_t i = 0; i < 3; ++i) {
      want.push_back(std::exp(x.data[3 * o + i] - top) / sum);
      logs.push_back(x.data[3 * o + i] - top - std::log(sum));
    }
  }
  expect_near(run_operator("softmax", {x}), want);
  expect_near(run_operator("log_softmax", {x}), logs);
  expect_near(run_operator("reduce_log_sum_exp", {{{1, 2, 1}, {1000, 1000}}}),
              {1000 + std::log(2)});
}

TEST(OpsValues, Reductions) {
  const Values x{{1, 3, 2}, {1, -2, 3, 4, -5, 6}};
  expect_near(run_operator("reduce_sum", {x}), {-1, 8});
  expect_near(run_operator("reduce_mean", {x}), {-1.0 / 3, 8.0 / 3});
  expect_near(run_operator("reduce_max", {x}), {3, 6});
  expect_near(run_operator("reduce_min", {x}), {-5, -2});
  expect_near(run_operator("reduce_prod", {x}), {-15, -48});
  expect_near(run_operator("reduce_l1", {x}), {9, 12});
  expect_near(run_operator("reduce_l2", {x}), {std::sqrt(35), std::sqrt(56)});
  expect_near(run_operator("reduce_sum_square", {x}), {35, 56});
  expect_near(run_operator("reduce_log_sum", {{{1, 2, 1}, {3, 4}}}), {std::log(7)});
}

TEST(OpsValues, SlicesAndPads) {
  const Values x = counted({1, 5, 2});
  expect_near(run_operator("slice", {x}, {{"START", I{4}}, {"STEP", I{-2}}, {"COUNT", I{3}}}),
              {8, 9, 4, 5, 0, 1});
  expect_near(
      run_operator(
          "slice3", {x},
          {{"B1", I{1}}, {"S1", I{3}}, {"B2", I{1}}, {"N0", I{1}}, {"N1", I{2}}, {"N2", I{1}}}),
      {3, 9});
  expect_near(run_operator("take", {x}, {{"INDEX", I{3}}}), {6, 7});
  const Values y = counted({1, 2, 1});
  expect_near(run_operator("pad_value", {y}, {{"LEADING", I{1}}, {"SIZE", I{4}}, {"VALUE", 7.5}}),
              {7.5, 0, 1, 7.5});
  expect_near(run_operator("pad", {x}, {{"LEADING", I{-1}}, {"SIZE", I{3}}}), {2, 3, 4, 5, 6, 7});
  expect_near(run_operator("pad2", {{{1, 2}, {1, 2}}},
                           {{"L0", I{1}}, {"S0", I{2}}, {"L1", I{1}}, {"S1", I{4}}}),
              {0, 0, 0, 0, 0, 1, 2, 0});
  const Values z = counted({1, 4, 1});
  expect_near(run_operator("pad_reflect_front", {z}, {{"COUNT", I{3}}}), {3, 2, 1, 0, 1, 2, 3});
  expect_near(run_operator("pad_reflect_back", {z}, {{"COUNT", I{2}}}), {0, 1, 2, 3, 2, 1});
  expect_near(run_operator("pad_edge_front", {z}, {{"COUNT", I{2}}}), {0, 0, 0, 1, 2, 3});
  expect_near(run_operator("pad_edge_back", {z}, {{"COUNT", I{2}}}), {0, 1, 2, 3, 3, 3});
}

TEST(OpsValues, ConcatenationChains) {
  const Values a{{2, 1, 1}, {1, 2}}, b{{2, 2, 1}, {3, 4, 5, 6}};
  const Values first = run_operator("insert_first", {a}, {{"SIZE", I{3}}});
  expect_near(run_operator("insert", {first, b}, {{"OFFSET", I{1}}}), {1, 3, 4, 2, 5, 6});
  const Values whole = run_operator("pad3", {a}, {{"S0", I{2}}, {"S1", I{3}}, {"S2", I{1}}});
  expect_near(run_operator("insert3", {whole, b}, {{"L1", I{1}}}), {1, 3, 4, 2, 5, 6});
}

TEST(OpsValues, Rearrangements) {
  expect_near(
      run_operator("transpose3", {counted({2, 1, 3})}, {{"A0", I{2}}, {"A1", I{0}}, {"A2", I{1}}}),
      {0, 3, 1, 4, 2, 5});
  expect_near(
      run_operator("upsample_nearest", {counted({1, 1, 2, 2})}, {{"FY", I{2}}, {"FX", I{3}}}),
      {0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 2, 2, 2, 3, 3, 3});
  expect_near(run_operator("upsample_axis", {counted({1, 2, 2})}, {{"FACTOR", I{2}}}),
              {0, 1, 0, 1, 2, 3, 2, 3});
  expect_near(run_operator("tile_axis", {counted({1, 2, 2})}, {{"TIMES", I{2}}}),
              {0, 1, 2, 3, 0, 1, 2, 3});
  expect_near(
      run_operator("expand3", {counted({2, 1})}, {{"D0", I{2}}, {"D1", I{2}}, {"D2", I{2}}}),
      {0, 0, 1, 1, 0, 0, 1, 1});
  expect_near(
      run_operator("interpolate_axis", {{{1, 2, 1}, {10, 20}}, {{3, 2}, {1, 0, 0.5, 0.5, 0, 1}}}),
      {10, 15, 20});
}

// Examples of the ONNX operator descriptions: block 2, 8 channels of 1 x 1.
TEST(OpsValues, DepthAndSpace) {
  const Values x = counted({1, 8, 1, 1});
  const tile::Attributes two{{"B", I{2}}};
  expect_near(run_operator("depth_to_space_dcr", {x}, two), {0, 2, 4, 6, 1, 3, 5, 7});
  expect_near(run_operator("depth_to_space_crd", {x}, two), {0, 1, 2, 3, 4, 5, 6, 7});
  const Values image = numbers({2, 3, 4, 6});
  const Values deep = run_operator("space_to_depth", {image}, two);
  EXPECT_EQ(deep.data[1], image.data[2]);
  expect_near(run_operator("depth_to_space_dcr", {deep}, two), image.data);
}

TEST(OpsValues, Pointwise) {
  const Values x{{9}, {-3.5, -2, -0.5, -0.25, 0, 0.25, 0.5, 2, 3.5}};
  const auto check = [&](const std::string &name, const std::function<double(double)> &f,
                         const tile::Attributes &a = {}) {
    SCOPED_TRACE(name);
    List want;
    for (const double v : x.data)
      want.push_back(f(v));
    expect_near(run_operator(name, {x}, a), want, 1e-7);
  };
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  check("identity", [](double v) { return v; });
  check("neg", [](double v) { return -v; });
  check("sign", [](double v) { return v > 0 ? 1.0 : v < 0 ? -1.0 : 0.0; });
  check("round", [](double v) { return std::nearbyint(v); });
  check("relu", [](double v) { return std::max(v, 0.0); });
  check("sigmoid", sigmoid);
  check("silu", [&](double v) { return v * sigmoid(v); });
  check("leaky_relu", [](double v) { return v < 0 ? 0.3 * v : v; }, {{"ALPHA", 0.3}});
  check("thresholded_relu", [](double v) { return v > 0.5 ? v : 0; }, {{"ALPHA", 0.5}});
  check("elu", [](double v) { return v < 0 ? 2 * std::expm1(v) : v; }, {{"ALPHA", 2.0}});
  check("celu", [](double v) { return std::max(v, 0.0) + std::min(0.0, 2 * std::expm1(v / 2)); },
        {{"ALPHA", 2.0}});
  check("selu", [](double v) {
    return 1.05070102214813232421875 * (v > 0 ? v : 1.67326319217681884765625 * std::expm1(v));
  });
  check("hard_sigmoid", [](double v) { return std::max(0.0, std::min(1.0, 0.2 * v + 0.5)); });
  check("hard_swish", [](double v) { return v * std::max(0.0, std::min(1.0, v / 6 + 0.5)); });
  check("softplus", [](double v) { return std::log1p(std::exp(v)); });
  check("mish", [](double v) { return v * std::tanh(std::log1p(std::exp(v))); });
  check("softsign", [](double v) { return v / (1 + std::fabs(v)); });
  check("gelu", [](double v) { return 0.5 * v * (1 + std::erf(v / std::sqrt(2))); });
  check("gelu_tanh", [](double v) {
    return 0.5 * v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
  });
  check("shrink", [](double v) { return v < -0.4  ? v + 0.1
                                        : v > 0.4 ? v - 0.1
                                                  : 0; },
        {{"LAMBDA", 0.4}, {"BIAS", 0.1}});
  check("clip", [](double v) { return std::min(std::max(v, -1.0), 2.0); },
        {{"LO", -1.0}, {"HI", I{2}}});
  check("clip_low", [](double v) { return std::max(v, -1.0); }, {{"LO", -1.0}});
  check("clip_high", [](double v) { return std::min(v, 2.0); }, {{"HI", 2.0}});
  check("cast_i8", [](double v) { return std::nearbyint(v); });
  check("is_nan", [](double) { return 0; });
}

TEST(OpsValues, PointwisePairs) {
  const Values a{{2, 1}, {-5, 4}, DType::I32}, b{{3}, {3, -3, 1}, DType::I32};
  expect_near(run_operator("sub", {a, b}), {-8, -2, -6, 1, 7, 3});
  expect_near(run_operator("div", {a, b}), {-1, 1, -5, 1, -1, 4});
  expect_near(run_operator("mod", {a, b}), {-2, -2, 0, 1, 1, 0});
  expect_near(run_operator("mod_floor", {a, b}), {1, -2, 0, 1, -2, 0});
  expect_near(run_operator("less", {a, b}), {1, 1, 1, 0, 0, 0});
  expect_near(run_operator("where", {{{3}, {1, 0, 1}, DType::Bool}, a, b}), {-5, -3, -5, 4, -3, 4});
  expect_near(run_operator("xor", {{{2}, {1, 1}, DType::Bool}, {{2}, {0, 1}, DType::Bool}}),
              {1, 0});
  expect_near(run_operator("prelu", {{{1, 2, 1}, {-2, -2}}, {{2, 1}, {0.5, 3}}}), {-1, -6});
  expect_near(run_operator("pow", {{{2}, {2, 3}}, {{1}, {2}, DType::I32}}), {4, 9});
}

} // namespace
} // namespace tilefuse::test
