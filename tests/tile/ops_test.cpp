// SPDX-License-Identifier: Apache-2.0
// Every function of ops/: a program that verifies, with the result's shape and type. A function
// without a case is a failure.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "base/error.h"
#include "paths.h"
#include "tile/interpret.h"

namespace tilefuse::test {
namespace {

using program::Shape;
using I = std::int64_t;

struct Case {
  std::string function;
  std::vector<Shape> inputs;
  tile::Attributes attributes;
  Shape result;
  std::set<std::size_t> positions = {}; // inputs of i32; the others are f32
};

tile::Attributes ints(const std::vector<std::pair<std::string, I>> &list) {
  return {list.begin(), list.end()};
}

const std::vector<Case> &cases() {
  static const std::vector<Case> all = {
      {"conv1d", {{1, 3, 9}, {5, 3, 3}}, ints({{"SX", 2}, {"PX", 1}, {"OX", 5}}), {1, 5, 5}},
      {"conv2d",
       {{2, 3, 7, 5}, {4, 3, 3, 2}},
       ints({{"SY", 2}, {"DX", 2}, {"PY", 1}, {"OY", 4}, {"OX", 3}}),
       {2, 4, 4, 3}},
      {"conv3d",
       {{1, 1, 3, 4, 5}, {2, 1, 1, 2, 3}},
       ints({{"OZ", 3}, {"OY", 3}, {"OX", 3}}),
       {1, 2, 3, 3, 3}},
      {"depthwise_conv1d", {{1, 3, 9}, {3, 1, 3}}, ints({{"OX", 7}}), {1, 3, 7}},
      {"depthwise_conv2d",
       {{1, 3, 5, 5}, {3, 1, 3, 3}},
       ints({{"PY", 1}, {"PX", 1}, {"OY", 5}, {"OX", 5}}),
       {1, 3, 5, 5}},
      {"depthwise_conv3d",
       {{1, 2, 3, 3, 3}, {2, 1, 1, 1, 1}},
       ints({{"OZ", 3}, {"OY", 3}, {"OX", 3}}),
       {1, 2, 3, 3, 3}},
      {"group_conv1d", {{1, 4, 5}, {6, 2, 3}}, ints({{"OX", 3}, {"G", 2}}), {1, 6, 3}},
      {"group_conv2d",
       {{1, 4, 5, 5}, {6, 2, 3, 3}},
       ints({{"OY", 3}, {"OX", 3}, {"G", 2}}),
       {1, 6, 3, 3}},
      {"group_conv3d",
       {{1, 4, 1, 5, 5}, {2, 2, 1, 3, 3}},
       ints({{"OZ", 1}, {"OY", 3}, {"OX", 3}, {"G", 2}}),
       {1, 2, 1, 3, 3}},
      {"conv_transpose1d", {{1, 2, 3}, {2, 3, 3}}, ints({{"SX", 2}, {"OX", 7}}), {1, 3, 7}},
      {"conv_transpose2d",
       {{1, 2, 3, 3}, {2, 3, 3, 3}},
       ints({{"SY", 2}, {"SX", 2}, {"OY", 7}, {"OX", 7}}),
       {1, 3, 7, 7}},
      {"conv_transpose3d",
       {{1, 1, 2, 2, 2}, {1, 1, 2, 2, 2}},
       ints({{"OZ", 3}, {"OY", 3}, {"OX", 3}}),
       {1, 1, 3, 3, 3}},
      {"add_channel1d", {{2, 3, 4}, {3}}, {}, {2, 3, 4}},
      {"add_channel2d", {{2, 3, 4, 5}, {3}}, {}, {2, 3, 4, 5}},
      {"add_channel3d", {{2, 3, 4, 5, 1}, {3}}, {}, {2, 3, 4, 5, 1}},
      {"max_pool1d", {{1, 3, 7}}, ints({{"KX", 3}, {"SX", 2}, {"OX", 3}}), {1, 3, 3}},
      {"max_pool2d",
       {{1, 3, 7, 7}},
       ints({{"KY", 3}, {"KX", 2}, {"OY", 5}, {"OX", 6}}),
       {1, 3, 5, 6}},
      {"max_pool3d",
       {{1, 1, 3, 3, 3}},
       ints({{"KZ", 2}, {"KY", 2}, {"KX", 2}, {"OZ", 2}, {"OY", 2}, {"OX", 2}}),
       {1, 1, 2, 2, 2}},
      {"sum_pool1d", {{1, 3, 7}}, ints({{"KX", 3}, {"SX", 2}, {"OX", 3}}), {1, 3, 3}},
      {"sum_pool2d",
       {{1, 3, 7, 7}},
       ints({{"KY", 3}, {"KX", 2}, {"OY", 5}, {"OX", 6}}),
       {1, 3, 5, 6}},
      {"sum_pool3d",
       {{1, 1, 3, 3, 3}},
       ints({{"KZ", 2}, {"KY", 2}, {"KX", 2}, {"OZ", 2}, {"OY", 2}, {"OX", 2}}),
       {1, 1, 2, 2, 2}},
      {"average_pool1d_full", {{1, 3, 7}}, ints({{"KX", 3}, {"SX", 2}, {"OX", 3}}), {1, 3, 3}},
      {"average_pool2d_full",
       {{1, 3, 7, 7}},
       ints({{"KY", 3}, {"KX", 2}, {"OY", 5}, {"OX", 6}}),
       {1, 3, 5, 6}},
      {"average_pool3d_full",
       {{1, 1, 3, 3, 3}},
       ints({{"KZ", 2}, {"KY", 2}, {"KX", 2}, {"OZ", 2}, {"OY", 2}, {"OX", 2}}),
       {1, 1, 2, 2, 2}},
      {"average_pool1d",
       {{1, 3, 7}},
       ints({{"KX", 3}, {"SX", 2}, {"PX", 1}, {"OX", 4}}),
       {1, 3, 4}},
      {"average_pool2d",
       {{1, 3, 7, 7}},
       ints({{"KY", 3}, {"KX", 2}, {"OY", 5}, {"OX", 6}}),
       {1, 3, 5, 6}},
      {"average_pool3d",
       {{1, 1, 3, 3, 3}},
       ints({{"KZ", 2}, {"KY", 2}, {"KX", 2}, {"OZ", 2}, {"OY", 2}, {"OX", 2}}),
       {1, 1, 2, 2, 2}},
      {"average_pool1d_padded",
       {{1, 3, 7}},
       ints({{"KX", 3}, {"SX", 2}, {"PX", 1}, {"EX", 1}, {"OX", 4}}),
       {1, 3, 4}},
      {"average_pool2d_padded",
       {{1, 3, 7, 7}},
       ints({{"KY", 3}, {"KX", 2}, {"OY", 5}, {"OX", 6}}),
       {1, 3, 5, 6}},
      {"average_pool3d_padded",
       {{1, 1, 3, 3, 3}},
       ints({{"KZ", 2}, {"KY", 2}, {"KX", 2}, {"OZ", 2}, {"OY", 2}, {"OX", 2}}),
       {1, 1, 2, 2, 2}},
      {"global_average_pool1d", {{2, 3, 7}}, {}, {2, 3, 1}},
      {"global_average_pool2d", {{2, 3, 7, 5}}, {}, {2, 3, 1, 1}},
      {"global_average_pool3d", {{2, 3, 7, 5, 2}}, {}, {2, 3, 1, 1, 1}},
      {"global_max_pool1d", {{2, 3, 7}}, {}, {2, 3, 1}},
      {"global_max_pool2d", {{2, 3, 7, 5}}, {}, {2, 3, 1, 1}},
      {"global_max_pool3d", {{2, 3, 7, 5, 2}}, {}, {2, 3, 1, 1, 1}},
      {"gemm_nn", {{2, 3}, {3, 4}}, {}, {2, 4}},
      {"gemm_nt", {{2, 3}, {4, 3}}, {}, {2, 4}},
      {"gemm_tn", {{3, 2}, {3, 4}}, {}, {2, 4}},
      {"gemm_tt", {{3, 2}, {4, 3}}, {}, {2, 4}},
      {"gemm_bias", {{2, 4}, {4}}, {{"ALPHA", 0.5}}, {2, 4}},
      {"gemm_scale", {{2, 4}}, {{"ALPHA", 0.5}}, {2, 4}},
      {"matmul_11", {{3}, {3}}, {}, {}},
      {"matmul_12", {{3}, {3, 4}}, {}, {4}},
      {"matmul_21", {{2, 3}, {3}}, {}, {2}},
      {"matmul_22", {{2, 3}, {3, 4}}, {}, {2, 4}},
      {"matmul_13", {{3}, {5, 3, 4}}, {}, {5, 4}},
      {"matmul_31", {{5, 2, 3}, {3}}, {}, {5, 2}},
      {"matmul_23", {{2, 3}, {5, 3, 4}}, {}, {5, 2, 4}},
      {"matmul_32", {{5, 2, 3}, {3, 4}}, {}, {5, 2, 4}},
      {"matmul_33", {{5, 2, 3}, {5, 3, 4}}, {}, {5, 2, 4}},
      {"matmul_24", {{2, 3}, {6, 5, 3, 4}}, {}, {6, 5, 2, 4}},
      {"matmul_42", {{6, 5, 2, 3}, {3, 4}}, {}, {6, 5, 2, 4}},
      {"matmul_34", {{5, 2, 3}, {6, 5, 3, 4}}, {}, {6, 5, 2, 4}},
      {"matmul_43", {{6, 5, 2, 3}, {5, 3, 4}}, {}, {6, 5, 2, 4}},
      {"matmul_44", {{6, 5, 2, 3}, {6, 5, 3, 4}}, {}, {6, 5, 2, 4}},
      {"batch_norm0d", {{2, 3}, {3}, {3}, {3}, {3}}, {}, {2, 3}},
      {"batch_norm1d", {{2, 3, 4}, {3}, {3}, {3}, {3}}, {}, {2, 3, 4}},
      {"batch_norm2d", {{2, 3, 4, 5}, {3}, {3}, {3}, {3}}, {}, {2, 3, 4, 5}},
      {"batch_norm3d", {{2, 3, 4, 5, 1}, {3}, {3}, {3}, {3}}, {}, {2, 3, 4, 5, 1}},
      {"lrn", {{1, 7, 2, 2}}, ints({{"SIZE", 5}}), {1, 7, 2, 2}},
      {"softmax", {{2, 5, 3}}, {}, {2, 5, 3}},
      {"log_softmax", {{2, 5, 3}}, {}, {2, 5, 3}},
      {"instance_norm", {{2, 3, 4}, {3}, {3}}, {}, {2, 3, 4}},
      {"layer_norm", {{2, 3}, {3}, {3}}, {}, {2, 3}},
      {"transpose2", {{2, 3}}, ints({{"A0", 1}, {"A1", 0}}), {3, 2}},
      {"transpose3", {{2, 3, 4}}, ints({{"A0", 1}, {"A1", 2}, {"A2", 0}}), {3, 4, 2}},
      {"transpose4",
       {{2, 3, 4, 5}},
       ints({{"A0", 0}, {"A1", 2}, {"A2", 3}, {"A3", 1}}),
       {2, 4, 5, 3}},
      {"transpose5",
       {{2, 3, 4, 5, 6}},
       ints({{"A0", 4}, {"A1", 3}, {"A2", 2}, {"A3", 1}, {"A4", 0}}),
       {6, 5, 4, 3, 2}},
      {"transpose6",
       {{2, 3, 4, 5, 6, 7}},
       ints({{"A0", 0}, {"A1", 1}, {"A2", 4}, {"A3", 2}, {"A4", 5}, {"A5", 3}}),
       {2, 3, 6, 4, 7, 5}},
      {"reshape0", {{1, 1}}, {}, {}},
      {"reshape1", {{2, 6}}, ints({{"D0", 12}}), {12}},
      {"reshape2", {{12}}, ints({{"D0", 3}, {"D1", 4}}), {3, 4}},
      {"reshape3", {{12}}, ints({{"D0", 3}, {"D1", 2}, {"D2", 2}}), {3, 2, 2}},
      {"reshape4", {{12}}, ints({{"D0", 3}, {"D1", 2}, {"D2", 2}, {"D3", 1}}), {3, 2, 2, 1}},
      {"reshape5",
       {{12}},
       ints({{"D0", 3}, {"D1", 2}, {"D2", 2}, {"D3", 1}, {"D4", 1}}),
       {3, 2, 2, 1, 1}},
      {"reshape6",
       {{12}},
       ints({{"D0", 3}, {"D1", 2}, {"D2", 2}, {"D3", 1}, {"D4", 1}, {"D5", 1}}),
       {3, 2, 2, 1, 1, 1}},
      {"expand1", {{1}}, ints({{"D0", 4}}), {4}},
      {"expand2", {{3, 1}}, ints({{"D0", 3}, {"D1", 4}}), {3, 4}},
      {"expand3", {{3, 1}}, ints({{"D0", 2}, {"D1", 3}, {"D2", 4}}), {2, 3, 4}},
      {"expand4", {{3, 1}}, ints({{"D0", 5}, {"D1", 2}, {"D2", 3}, {"D3", 4}}), {5, 2, 3, 4}},
      {"expand5",
       {{1}},
       ints({{"D0", 1}, {"D1", 2}, {"D2", 1}, {"D3", 2}, {"D4", 2}}),
       {1, 2, 1, 2, 2}},
      {"expand6",
       {{}},
       ints({{"D0", 1}, {"D1", 2}, {"D2", 1}, {"D3", 2}, {"D4", 2}, {"D5", 1}}),
       {1, 2, 1, 2, 2, 1}},
      {"slice", {{2, 7, 3}}, ints({{"START", 5}, {"STEP", -2}, {"COUNT", 3}}), {2, 3, 3}},
      {"slice1", {{7}}, ints({{"B0", 1}, {"N0", 3}}), {3}},
      {"slice2", {{7, 5}}, ints({{"N0", 7}, {"N1", 2}, {"S1", 2}}), {7, 2}},
      {"slice3", {{7, 5, 3}}, ints({{"N0", 7}, {"N1", 2}, {"N2", 3}}), {7, 2, 3}},
      {"slice4", {{1, 7, 5, 3}}, ints({{"N0", 1}, {"N1", 2}, {"N2", 3}, {"N3", 1}}), {1, 2, 3, 1}},
      {"slice5",
       {{1, 7, 5, 3, 2}},
       ints({{"N0", 1}, {"N1", 2}, {"N2", 3}, {"N3", 1}, {"N4", 2}}),
       {1, 2, 3, 1, 2}},
      {"pad", {{2, 3, 4}}, ints({{"LEADING", 1}, {"SIZE", 6}}), {2, 6, 4}},
      {"pad_value", {{2, 3, 4}}, ints({{"LEADING", 1}, {"SIZE", 6}, {"VALUE", 9}}), {2, 6, 4}},
      {"pad1", {{3}}, ints({{"L0", 1}, {"S0", 5}}), {5}},
      {"pad2", {{3, 4}}, ints({{"S0", 5}, {"S1", 4}}), {5, 4}},
      {"pad3", {{3, 4, 2}}, ints({{"S0", 5}, {"S1", 4}, {"S2", 2}}), {5, 4, 2}},
      {"pad4", {{3, 4, 2, 1}}, ints({{"S0", 5}, {"S1", 4}, {"S2", 2}, {"S3", 1}}), {5, 4, 2, 1}},
      {"pad5",
       {{3, 4, 2, 1, 1}},
       ints({{"S0", 5}, {"S1", 4}, {"S2", 2}, {"S3", 1}, {"S4", 2}}),
       {5, 4, 2, 1, 2}},
      {"pad1_value", {{3}}, ints({{"L0", 1}, {"S0", 5}, {"VALUE", 9}}), {5}},
      {"pad2_value", {{3, 4}}, ints({{"S0", 5}, {"S1", 4}, {"VALUE", 9}}), {5, 4}},
      {"pad3_value", {{3, 4, 2}}, ints({{"S0", 5}, {"S1", 4}, {"S2", 2}, {"VALUE", 9}}), {5, 4, 2}},
      {"pad4_value",
       {{3, 4, 2, 1}},
       ints({{"S0", 5}, {"S1", 4}, {"S2", 2}, {"S3", 1}, {"VALUE", 9}}),
       {5, 4, 2, 1}},
      {"pad5_value",
       {{3, 4, 2, 1, 1}},
       ints({{"S0", 5}, {"S1", 4}, {"S2", 2}, {"S3", 1}, {"S4", 2}, {"VALUE", 9}}),
       {5, 4, 2, 1, 2}},
      {"pad2d", {{1, 2, 3, 3}}, ints({{"PY", 1}, {"PX", 2}, {"OY", 5}, {"OX", 6}}), {1, 2, 5, 6}},
      {"pad_reflect_front", {{2, 4, 1}}, ints({{"COUNT", 3}}), {2, 7, 1}},
      {"pad_reflect_back", {{2, 4, 1}}, ints({{"COUNT", 3}}), {2, 7, 1}},
      {"pad_edge_front", {{2, 4, 1}}, ints({{"COUNT", 5}}), {2, 9, 1}},
      {"pad_edge_back", {{2, 4, 1}}, ints({{"COUNT", 5}}), {2, 9, 1}},
      {"insert_first", {{2, 3, 4}}, ints({{"SIZE", 8}}), {2, 8, 4}},
      {"insert", {{2, 8, 4}, {2, 5, 4}}, ints({{"OFFSET", 3}}), {2, 8, 4}},
      {"insert1", {{8}, {5}}, ints({{"L0", 3}}), {8}},
      {"insert2", {{8, 2}, {5, 2}}, ints({{"L0", 3}}), {8, 2}},
      {"insert3", {{8, 2, 3}, {5, 2, 3}}, ints({{"L0", 3}}), {8, 2, 3}},
      {"insert4", {{1, 8, 2, 3}, {1, 5, 2, 3}}, ints({{"L1", 3}}), {1, 8, 2, 3}},
      {"insert5", {{1, 8, 2, 3, 1}, {1, 5, 2, 3, 1}}, ints({{"L1", 3}}), {1, 8, 2, 3, 1}},
      {"upsample_nearest", {{1, 2, 3, 4}}, ints({{"FY", 2}, {"FX", 3}}), {1, 2, 6, 12}},
      {"upsample_axis", {{2, 3, 4}}, ints({{"FACTOR", 2}}), {2, 6, 4}},
      {"interpolate_axis", {{2, 3, 4}, {7, 3}}, {}, {2, 7, 4}},
      {"tile_axis", {{2, 3, 4}}, ints({{"TIMES", 2}}), {2, 6, 4}},
      {"depth_to_space_dcr", {{1, 8, 2, 3}}, ints({{"B", 2}}), {1, 2, 4, 6}},
      {"depth_to_space_crd", {{1, 8, 2, 3}}, ints({{"B", 2}}), {1, 2, 4, 6}},
      {"space_to_depth", {{1, 2, 4, 6}}, ints({{"B", 2}}), {1, 8, 2, 3}},
      {"take", {{2, 3, 4}}, ints({{"INDEX", 2}}), {2, 1, 4}},
      {"prelu", {{2, 3, 4}, {3, 1}}, {}, {2, 3, 4}},
      {"where", {{3, 1}, {4}, {}}, {}, {3, 4}},
      {"clip", {{2, 3}}, {{"LO", -1.0}, {"HI", 1.0}}, {2, 3}},
      {"clip_low", {{2, 3}}, {{"LO", -1.0}}, {2, 3}},
      {"clip_high", {{2, 3}}, {{"HI", 1.0}}, {2, 3}},
      {"clip_tensor", {{2, 3}, {}, {1}}, {}, {2, 3}},
      {"quantize_i8", {{2, 3, 4}, {3, 1}, {3, 1}}, {}, {2, 3, 4}},
      {"quantize_u8", {{2, 3}, {}, {}}, {}, {2, 3}},
      {"quantize_i16", {{2, 3}, {}, {}}, {}, {2, 3}},
      {"quantize_u16", {{2, 3, 4}, {3, 1}, {3, 1}}, {}, {2, 3, 4}},
      {"dequantize", {{2, 3, 4}, {3, 1}, {3, 1}}, {}, {2, 3, 4}},
      {"without_zero", {{2, 3}, {3}}, {}, {2, 3}},
      {"requantize_i8", {{2, 3, 4}, {}, {3, 1}, {}, {}}, {}, {2, 3, 4}},
      {"requantize_u8", {{2, 3}, {}, {}, {}, {}}, {}, {2, 3}},
      {"dynamic_scale", {{}, {}}, {}, {}},
      {"dynamic_zero", {{}, {}}, {}, {}},
      {"dynamic_quantize", {{2, 3}, {}, {}}, {}, {2, 3}},
  };
  return all;
}

// Losses, optimisers, samples and elements chosen by indices.
const std::vector<Case> &choices() {
  static const std::vector<Case> all = {
      {"pick", {{2, 5, 3}, {4}}, {}, {2, 4, 3}, {1}},
      {"pick_outer", {{2, 5, 3}, {2, 4}}, {}, {2, 4, 3}, {1}},
      {"pick_each", {{2, 5, 3}, {2, 4, 3}}, {}, {2, 4, 3}, {1}},
      {"put", {{4, 3}, {4}}, ints({{"A", 6}}), {6, 3}},
      {"put_count", {{4}}, ints({{"A", 6}}), {6}},
      {"put_each", {{2, 4, 3}, {2, 4, 3}}, ints({{"A", 6}}), {2, 6, 3}},
      {"put_each_count", {{2, 4, 3}}, ints({{"A", 6}}), {2, 6, 3}},
      {"put_over", {{6, 3}, {6, 3}, {6, 1}}, {}, {6, 3}},
      {"wrap_index", {{2, 3}}, ints({{"A", 6}}), {2, 3}},
      {"flat_index", {{4, 2}, {2}, {2}}, {}, {4}},
      {"hardmax", {{2, 5, 3}}, {}, {2, 5, 3}},
      {"rank_down", {{2, 5, 3}}, {}, {2, 5, 3}},
      {"rank_up", {{2, 5, 3}}, {}, {2, 5, 3}},
      {"of_rank", {{2, 5, 3}, {2, 5, 3}}, ints({{"COUNT", 2}}), {2, 2, 3}},
      {"place_of_rank", {{2, 5, 3}}, ints({{"COUNT", 2}}), {2, 2, 3}},
      {"one_hot", {{2, 1, 3}, {2}}, ints({{"D", 4}}), {2, 4, 3}},
      {"upper_triangle", {{2, 3, 4}}, ints({{"K", 1}}), {2, 3, 4}},
      {"lower_triangle", {{2, 3, 4}}, ints({{"K", -1}}), {2, 3, 4}},
      {"eye_like", {{3, 4}}, ints({{"K", 1}}), {3, 4}},
      {"sum_before", {{2, 5, 3}}, ints({{"SKIP", 1}}), {2, 5, 3}},
      {"sum_after", {{2, 5, 3}}, {}, {2, 5, 3}},
      {"product_before", {{2, 5, 3}}, {}, {2, 5, 3}},
      {"product_after", {{2, 5, 3}}, {}, {2, 5, 3}},
      {"nll_weight", {{2, 3}, {5}}, {}, {2, 3}},
      {"nll_weight_ignore", {{2, 3}, {5}}, ints({{"IGNORE", 1}}), {2, 3}},
      {"nll", {{2, 5, 3}, {2, 3}, {2, 3}}, {}, {2, 3}},
      {"adagrad", {{3}, {3}, {3}, {}}, {}, {3}},
      {"momentum", {{3}, {3}, {3}, {}}, {{"ALPHA", 0.9}, {"BETA", 0.1}}, {3}},
      {"momentum_nesterov", {{3}, {3}, {3}, {}}, {{"ALPHA", 0.9}, {"BETA", 0.1}}, {3}},
      {"adam", {{3}, {3}, {3}, {3}, {}}, {}, {3}},
      {"adam_first", {{2, 3}, {2, 3}, {1}, {1}}, {}, {2, 3}},
      {"adam_second", {{2, 3}, {2, 3}, {1}, {1}}, {}, {2, 3}},
      {"adamw", {{2, 3}, {2, 3}, {2, 3}, {2, 3}, {2}, {2}, {1}, {1}, {1}}, {}, {2, 3}},
      {"sgd", {{2, 3}, {2, 3}, {2, 3}, {2}, {1}, {1}}, {}, {2, 3}},
      {"sgd_momentum", {{2, 3}, {2, 3}, {2, 3}, {2}, {1}, {1}}, {}, {2, 3}},
      {"sgd_nesterov", {{2, 3}, {2, 3}, {2, 3}, {2}, {2}, {1}, {1}, {1}}, {}, {2, 3}},
      {"sum_of_squares", {{2, 3}, {2}}, {}, {1}},
      {"is_alive", {{1}}, {}, {1}},
      {"unscaling", {{1}, {1}}, {{"CLIP", 1.0}}, {1}},
      {"norm_of_owner", {{2, 3}, {2}}, ints({{"COUNT", 2}}), {2}},
      {"trust", {{2}, {2}, {2}}, {}, {2}},
      {"lars_change", {{2}, {2}, {2}, {1}}, {}, {2}},
      {"lars_momentum", {{2, 3}, {2, 3}, {2, 3}, {2}, {2}, {1}, {1}}, {}, {2, 3}},
      {"lamb_change", {{2, 3}, {2, 3}, {2, 3}, {2}, {1}}, {}, {2, 3}},
      {"lamb", {{2, 3}, {2, 3}, {2, 3}, {2}, {2}, {1}, {1}}, {}, {2, 3}},
      {"average", {{2, 3}, {2, 3}, {1}, {1}}, {}, {2, 3}},
      {"kept", {{2, 3}}, {}, {2, 3}},
      {"count_steps", {{1}, {1}}, {}, {1}},
      {"next_good", {{1}, {1}}, ints({{"EVERY", 5}}), {1}},
      {"next_scale", {{1}, {1}, {1}}, ints({{"EVERY", 5}}), {1}},
      {"pictures", {{2, 4, 5, 3}, {3}, {3}}, {}, {2, 4, 5, 3}},
      {"pictures_by_channel", {{2, 4, 5, 3}, {3}, {3}}, {}, {2, 3, 4, 5}},
      {"as_rows", {{2, 3, 4, 5}}, {}, {2, 60}},
      {"mixed", {{2, 4, 5, 3}, {9}}, {}, {2, 4, 5, 3}},
      {"drop_path",
       {{2, 4, 5, 3}, {9}},
       ints({{"AT", 3}, {"PATHS", 3}, {"PATH", 2}}),
       {2, 4, 5, 3}},
      {"labels_of_others", {{3}}, {}, {3}},
      {"mixed_loss", {{1}, {1}, {1}}, {}, {1}},
      {"loss_cross_entropy", {{2, 5}, {2}}, {{"SMOOTH", 0.1}}, {1}},
      {"loss_mse", {{2, 5}, {2}}, {}, {1}},
      {"log_shares", {{2, 5}}, {{"TEMPERATURE", 2.0}}, {2, 5}},
      {"teacher_loss", {{2, 5}, {2, 5}}, {{"TEMPERATURE", 2.0}}, {1}},
      {"taught_loss", {{1}, {1}}, {{"SHARE", 0.25}}, {1}},
      {"loss_bce", {{2, 5}, {2}}, {}, {1}},
      {"count_hits", {{2, 5}, {2}}, {}, {1}},
      {"batch_sums0d", {{2, 3}, {3}}, {}, {3}},
      {"batch_norm0d_train", {{2, 3}, {3}, {3}, {3}, {3}, {3}}, {}, {2, 3}},
      {"batch_sums1d", {{2, 3, 4}, {3}}, {}, {3}},
      {"batch_norm1d_train", {{2, 3, 4}, {3}, {3}, {3}, {3}, {3}}, {}, {2, 3, 4}},
      {"batch_sums2d", {{2, 3, 4, 5}, {3}}, {}, {3}},
      {"batch_norm2d_train", {{2, 3, 4, 5}, {3}, {3}, {3}, {3}, {3}}, {}, {2, 3, 4, 5}},
      {"batch_sums3d", {{2, 3, 2, 4, 5}, {3}}, {}, {3}},
      {"batch_norm3d_train", {{2, 3, 2, 4, 5}, {3}, {3}, {3}, {3}, {3}}, {}, {2, 3, 2, 4, 5}},
      {"place_of_edges", {{2, 3}}, ints({{"A", 5}}), {2, 3}},
      {"place_of_centres", {{2, 3}}, ints({{"A", 5}}), {2, 3}},
      {"place_at_border", {{2, 3}}, ints({{"A", 5}}), {2, 3}},
      {"place_reflected", {{2, 3}}, {{"LO", -0.5}, {"SPAN", 5.0}}, {2, 3}},
      {"taps", {{2, 3}}, ints({{"T", 2}}), {2, 3, 2}},
      {"nearest_tap", {{2, 3}}, {}, {2, 3, 1}},
      {"subscripts", {{2, 3, 4}}, ints({{"A", 5}}), {2, 3, 4}},
      {"subscripts_inside", {{2, 3, 4}}, ints({{"A", 5}}), {2, 3, 4}},
      {"affine_grid", {{2, 2, 3}, {6, 3}}, {}, {2, 6, 2}},
      {"weights_nearest", {{2, 3}, {2, 3, 1}}, {}, {2, 3, 1}},
      {"weights_linear", {{2, 3}, {2, 3, 2}}, {}, {2, 3, 2}},
      {"weights_cubic", {{2, 3}, {2, 3, 4}}, {}, {2, 3, 4}},
      {"keys", {{2, 3}}, {{"C", -0.75}}, {2, 3}},
      {"sample2d",
       {{2, 4, 5, 6}, {2, 3, 1}, {2, 3, 1}, {2, 3, 2}, {2, 3, 2}},
       {},
       {2, 4, 3},
       {1, 3}},
      {"sample3d",
       {{2, 4, 5, 6, 7}, {2, 3, 2}, {2, 3, 2}, {2, 3, 1}, {2, 3, 1}, {2, 3, 2}, {2, 3, 2}},
       {},
       {2, 4, 3},
       {1, 3, 5}},
      {"region_places", {{3}, {3}}, ints({{"T", 4}}), {3, 4}},
      {"region_inside", {{3, 4}}, ints({{"A", 5}}), {3, 4}},
      {"region_share", {{3, 4}}, ints({{"A", 5}, {"B", 2}}), {3, 4}},
      {"region_weights", {{3, 4, 2}, {3, 4}}, {}, {3, 4, 2}},
      {"region_align",
       {{2, 4, 5, 6}, {3}, {3, 2, 4}, {3, 2, 4}, {3, 1, 4}, {3, 1, 4}},
       {},
       {3, 4, 2, 1},
       {1, 2, 4}},
      {"region_largest",
       {{2, 4, 5, 6}, {3}, {3, 2, 4}, {3, 2, 4}, {3, 1, 4}, {3, 1, 4}},
       {},
       {3, 4, 2, 1},
       {1, 2, 4}},
      {"deform_product", {{2, 2, 3, 4}, {2, 5, 3}}, {}, {2, 2, 5, 4}},
      {"window", {{2, 5, 3}}, ints({{"BEGIN", -2}, {"SIZE", 6}}), {2, 6, 3}},
      {"pad_wrap_front", {{2, 4, 1}}, ints({{"COUNT", 3}}), {2, 7, 1}},
      {"pad_wrap_back", {{2, 4, 1}}, ints({{"COUNT", 2}, {"BEGIN", 1}}), {2, 6, 1}},
      {"standardize", {{2, 5}}, {}, {2, 5}},
      {"row_mean", {{2, 5}}, {}, {2}},
      {"row_inverse_deviation", {{2, 5}}, {}, {2}},
      {"scale_channels", {{2, 3, 4}, {3}, {3}}, {}, {2, 3, 4}},
      {"rms_norm", {{2, 5}, {5}}, {}, {2, 5}},
      {"batch_moments", {{2, 3, 4}}, {}, {3}},
      {"blend", {{3}, {3}}, {}, {3}},
      {"over_deviation", {{2, 3}, {2, 1}}, {}, {2, 3}},
      {"lp_norm1", {{2, 5, 3}}, {}, {2, 5, 3}},
      {"lp_norm2", {{2, 5, 3}}, {}, {2, 5, 3}},
      {"masked_softmax", {{2, 3, 4}, {3, 4}}, {}, {2, 3, 4}},
      {"causal_mask", {{2, 3, 4}}, ints({{"OFFSET", 1}}), {2, 3, 4}},
      {"length_mask", {{2, 3, 4}, {2}}, {}, {2, 3, 4}},
      {"causal_length_mask", {{2, 3, 4}, {2}}, {}, {2, 3, 4}},
      {"soft_cap", {{2, 3}}, {{"CAP", 30.0}}, {2, 3}},
      {"rotate_halves", {{2, 3, 4, 6}, {2, 4, 2}, {2, 4, 2}}, {}, {2, 3, 4, 6}},
      {"rotate_pairs", {{2, 3, 4, 6}, {2, 4, 2}, {2, 4, 2}}, {}, {2, 3, 4, 6}},
      {"lp_power", {{2, 3}}, ints({{"P", 3}}), {2, 3}},
      {"lp_root", {{2, 3}}, ints({{"P", 3}}), {2, 3}},
      {"max_pool1d_index", {{1, 2, 6}, {1, 2, 3}}, ints({{"KX", 2}, {"SX", 2}}), {1, 2, 3}},
      {"max_pool2d_index",
       {{1, 2, 6, 4}, {1, 2, 3, 2}},
       ints({{"KY", 2}, {"KX", 2}, {"SY", 2}, {"SX", 2}, {"BY", 4}, {"BX", 1}}),
       {1, 2, 3, 2}},
      {"max_pool3d_index",
       {{1, 1, 2, 2, 2}, {1, 1, 1, 1, 1}},
       ints({{"KZ", 2}, {"KY", 2}, {"KX", 2}, {"BZ", 4}, {"BY", 2}, {"BX", 1}}),
       {1, 1, 1, 1, 1}},
      {"group_conv_transpose1d", {{1, 4, 3}, {4, 3, 2}}, ints({{"OX", 4}, {"G", 2}}), {1, 6, 4}},
      {"group_conv_transpose2d",
       {{1, 4, 3, 3}, {4, 1, 2, 2}},
       ints({{"OY", 4}, {"OX", 4}, {"G", 2}}),
       {1, 2, 4, 4}},
      {"group_conv_transpose3d",
       {{1, 2, 1, 3, 3}, {2, 1, 1, 2, 2}},
       ints({{"OZ", 1}, {"OY", 4}, {"OX", 4}, {"G", 2}}),
       {1, 2, 1, 4, 4}},
      {"col2im",
       {{1, 2, 6, 6}},
       ints({{"R", 2}, {"S", 3}, {"VY", 3}, {"VX", 2}, {"OY", 4}, {"OX", 4}}),
       {1, 2, 4, 4}},
      {"col2im3d",
       {{1, 2, 6, 6}},
       ints({{"Q", 1},
             {"R", 2},
             {"S", 3},
             {"VZ", 1},
             {"VY", 3},
             {"VX", 2},
             {"OZ", 1},
             {"OY", 4},
             {"OX", 4}}),
       {1, 2, 1, 4, 4}},
  };
  return all;
}

const std::vector<std::string> kUnary = {"identity",
                                         "neg",
                                         "abs",
                                         "exp",
                                         "log",
                                         "sqrt",
                                         "tanh",
                                         "floor",
                                         "ceil",
                                         "round",
                                         "erf",
                                         "sin",
                                         "cos",
                                         "reciprocal",
                                         "sign",
                                         "is_nan",
                                         "not",
                                         "relu",
                                         "sigmoid",
                                         "leaky_relu",
                                         "thresholded_relu",
                                         "elu",
                                         "celu",
                                         "selu",
                                         "hard_sigmoid",
                                         "hard_swish",
                                         "silu",
                                         "softplus",
                                         "mish",
                                         "softsign",
                                         "gelu",
                                         "gelu_tanh",
                                         "shrink",
                                         "tan",
                                         "sinh",
                                         "cosh",
                                         "atan",
                                         "asin",
                                         "acos",
                                         "asinh",
                                         "acosh",
                                         "atanh",
                                         "is_inf",
                                         "is_inf_positive",
                                         "is_inf_negative",
                                         "swish",
                                         "cast_bool",
                                         "cast_i8",
                                         "cast_u8",
                                         "cast_i16",
                                         "cast_u16",
                                         "cast_i32",
                                         "cast_u32",
                                         "cast_i64",
                                         "cast_u64",
                                         "cast_f16",
                                         "cast_bf16",
                                         "cast_f32",
                                         "cast_f64"};
const std::vector<std::string> kBinary = {
    "add", "sub",       "mul",   "div",  "max",           "min",     "pow",
    "mod", "mod_floor", "equal", "less", "less_or_equal", "greater", "greater_or_equal",
    "and", "or",        "xor"};
const std::vector<std::string> kReductions = {
    "reduce_sum",        "reduce_mean", "reduce_max", "reduce_min",     "reduce_prod",
    "reduce_sum_square", "reduce_l1",   "reduce_l2",  "reduce_log_sum", "reduce_log_sum_exp"};
// Of integers alone.
const std::vector<std::string> kBitwise = {"bit_and", "bit_or", "bit_xor"};
const std::vector<std::string> kPlaces = {"arg_max", "arg_min", "arg_max_last", "arg_min_last"};
const std::set<std::string> kBool = {"causal_mask",
                                     "length_mask",
                                     "causal_length_mask",
                                     "is_nan",
                                     "is_inf",
                                     "is_inf_positive",
                                     "is_inf_negative",
                                     "not",
                                     "equal",
                                     "less",
                                     "less_or_equal",
                                     "greater",
                                     "greater_or_equal",
                                     "and",
                                     "or",
                                     "xor"};

DType result_type(const std::string &function, DType operand) {
  if (kBool.count(function) != 0)
    return DType::Bool;
  if (function == "without_zero" || function == "subscripts" || function.starts_with("rank_") ||
      function.ends_with("_count"))
    return DType::I32;
  if (function.starts_with("arg_") || function.ends_with("_index") || function == "place_of_rank")
    return function == "wrap_index" || function == "flat_index" ? operand : DType::I64;
  if (function.starts_with("loss_") || function.starts_with("pictures") || function == "is_alive" ||
      function == "count_hits" || function == "mixed")
    return DType::F32;
  if (function == "dynamic_zero" || function == "dynamic_quantize")
    return DType::U8;
  for (const std::string prefix : {"cast_", "quantize_", "requantize_"})
    if (function.substr(0, prefix.size()) == prefix)
      return parse_dtype(function.substr(prefix.size())).value_or(operand);
  return operand;
}

void check(const Case &c, DType type) {
  SCOPED_TRACE(c.function + " of " + std::string(to_string(type)));
  std::vector<Values> inputs;
  for (std::size_t k = 0; k < c.inputs.size(); ++k)
    inputs.push_back({c.inputs[k], {}, c.positions.count(k) != 0 ? DType::I32 : type});
  const program::Program program = operator_program(c.function, inputs, c.attributes);
  const program::Tensor &result = program[program.outputs.at(0)];
  EXPECT_EQ(result.shape, c.result);
  EXPECT_EQ(result.type, result_type(c.function, type));
  for (const program::Statement &statement : program.statements)
    EXPECT_EQ(statement.origin, c.function);
}

std::vector<Case> all_cases() {
  std::vector<Case> all = cases();
  all.insert(all.end(), choices().begin(), choices().end());
  for (const std::string &name : kUnary)
    all.push_back({name, {{2, 3}}, {}, {2, 3}});
  for (const std::string &name : kBinary)
    all.push_back({name, {{2, 1, 3}, {4, 1}}, {}, {2, 4, 3}});
  for (const std::string &name : kReductions)
    all.push_back({name, {{2, 5, 3}}, {}, {2, 1, 3}});
  for (const std::string &name : kPlaces)
    all.push_back({name, {{2, 5, 3}}, {}, {2, 1, 3}});
  all.push_back({"cast_like", {{2, 3}, {1}}, {}, {2, 3}});
  return all;
}

std::vector<Case> integer_cases() {
  std::vector<Case> all{{"bit_not", {{2, 3}}, {}, {2, 3}},
                        {"bit_left", {{2, 3}, {3}}, ints({{"BITS", 8}}), {2, 3}},
                        {"bit_right", {{2, 3}, {3}}, ints({{"BITS", 8}}), {2, 3}}};
  for (const std::string &name : kBitwise)
    all.push_back({name, {{2, 1, 3}, {4, 1}}, {}, {2, 4, 3}});
  return all;
}

TEST(Ops, EveryFunctionHasACase) {
  std::set<std::string> tested;
  for (const auto &cases : {all_cases(), integer_cases()})
    for (const Case &c : cases)
      EXPECT_TRUE(tested.insert(c.function).second) << c.function;
  const std::vector<std::string> functions = library().functions();
  EXPECT_EQ(tested, std::set<std::string>(functions.begin(), functions.end()));
}

TEST(Ops, EveryFunctionMakesAProgramThatVerifies) {
  for (const Case &c : all_cases())
    for (const DType type : {DType::F32, DType::F16})
      check(c, type);
  for (const Case &c : integer_cases())
    for (const DType type : {DType::I32, DType::U8})
      check(c, type);
}

TEST(Ops, ShapesThatDoNotFitAreErrors) {
  const auto fails = [](const std::string &function, const std::vector<Shape> &shapes,
                        const tile::Attributes &attributes) {
    std::vector<Values> inputs;
    for (const Shape &shape : shapes)
      inputs.push_back({shape, {}});
    try {
      operator_program(function, inputs, attributes);
    } catch (const Error &error) {
      return error.message();
    }
    return std::string();
  };
  const tile::Attributes out = ints({{"OY", 3}, {"OX", 3}});
  EXPECT_EQ(fails("conv2d", {{1, 4, 5, 5}, {2, 3, 3, 3}}, out),
            "conv2d: dimension 1 of K[M, C, R, S] is 3 in f32[2, 3, 3, 3], need 4 as in I[N, C, H, "
            "W] f32[1, 4, 5, 5]");
  EXPECT_EQ(fails("conv2d", {{1, 4, 5}, {2, 4, 3, 3}}, out),
            "conv2d: I is f32[1, 4, 5], need 4 dimensions: I[N, C, H, W]");
  tile::Attributes groups = out;
  groups["G"] = I{3};
  EXPECT_EQ(fails("group_conv2d", {{1, 4, 5, 5}, {6, 2, 3, 3}}, groups),
            "group_conv2d: f32[1, 4, 5, 5] has 100 elements, [1, 3, 2, 5, 5] needs 150");
  EXPECT_EQ(fails("depthwise_conv2d", {{1, 4, 5, 5}, {4, 2, 3, 3}}, out),
            "depthwise_conv2d: dimension 1 of K[C, 1, R, S] is 2 in f32[4, 2, 3, 3], need 1");
  EXPECT_EQ(fails("add", {{2, 3}, {2}}, {}),
            "add: f32[2] does not broadcast with [2, 3]: 2 against 3; sizes must be equal or 1");
  EXPECT_EQ(fails("depth_to_space_dcr", {{1, 6, 2, 2}}, ints({{"B", 2}})),
            "depth_to_space_dcr: f32[1, 6, 2, 2] has 24 elements, [1, 2, 2, 1, 2, 2] needs 16");
  EXPECT_EQ(fails("max_pool2d", {{1, 1, 2, 2}}, ints({{"KY", 0}, {"KX", 1}, {"OY", 2}, {"OX", 2}})),
            "max_pool2d: the constraint's bound is 0, it must be at least 1");
}

TEST(Ops, LibraryThatIsNotThere) {
  EXPECT_THROW(tile::read_library(TILEFUSE_SOURCE_DIR "/ops/none"), Error);
  EXPECT_THROW(tile::read_library(TILEFUSE_SOURCE_DIR "/cmake"), Error);
}

} // namespace
} // namespace tilefuse::test
