// SPDX-License-Identifier: Apache-2.0
#include "onnx/table.h"

#include <limits>

#include "onnx/operators.h"

namespace tilefuse::onnx_import {
namespace {

constexpr std::int64_t kNow = std::numeric_limits<std::int64_t>::max();

constexpr std::string_view kConv = "auto_pad dilations group kernel_shape pads strides";
constexpr std::string_view kConvTranspose =
    "auto_pad dilations group=1 kernel_shape output_padding output_shape pads strides";
constexpr std::string_view kMaxPool =
    "auto_pad ceil_mode dilations kernel_shape pads storage_order strides";
constexpr std::string_view kAveragePool =
    "auto_pad ceil_mode count_include_pad dilations kernel_shape pads strides";
constexpr std::string_view kBatchNorm =
    "consumed_inputs epsilon is_test momentum spatial=1 training_mode=0";
constexpr std::string_view kBinary = "axis broadcast consumed_inputs";
constexpr std::string_view kReduce = "axes keepdims noop_with_empty_axes";
constexpr std::string_view kResize =
    "antialias=0 axes "
    "coordinate_transformation_mode=asymmetric|half_pixel|pytorch_half_pixel|align_corners|"
    "half_pixel_symmetric cubic_coeff_a exclude_outside extrapolation_value "
    "keep_aspect_ratio_policy=stretch mode=nearest|linear|cubic nearest_mode";

constexpr Operator kOperators[] = {
    {"Abs", 1, kNow, import_unary, "consumed_inputs", "abs"},
    {"Add", 1, kNow, import_binary, kBinary, "add"},
    {"And", 1, kNow, import_binary, kBinary, "and"},
    {"AveragePool", 1, kNow, import_average_pool, kAveragePool},
    {"BatchNormalization", 1, kNow, import_batch_norm, kBatchNorm},
    {"Cast", 1, kNow, import_cast, "to saturate"},
    {"CastLike", 15, kNow, import_cast_like, "saturate"},
    {"Ceil", 1, kNow, import_unary, "consumed_inputs", "ceil"},
    {"Celu", 12, kNow, import_unary, "alpha", "celu"},
    {"Clip", 1, 10, import_clip_attributes, "consumed_inputs max min"},
    {"Clip", 11, kNow, import_clip},
    {"Concat", 1, kNow, import_concat, "axis"},
    {"Constant", 1, kNow, import_constant, "value value_float value_floats value_int value_ints"},
    {"ConstantOfShape", 9, kNow, import_constant_of_shape, "value"},
    {"Conv", 1, kNow, import_conv, kConv},
    {"ConvInteger", 10, kNow, import_conv_integer, kConv},
    {"ConvTranspose", 1, kNow, import_conv_transpose, kConvTranspose},
    {"Cos", 7, kNow, import_unary, "", "cos"},
    {"DepthToSpace", 1, kNow, import_depth_to_space, "blocksize mode=DCR|CRD"},
    {"DequantizeLinear", 10, kNow, import_dequantize, "axis block_size=0"},
    {"Div", 1, kNow, import_binary, kBinary, "div"},
    {"Dropout", 1, kNow, import_dropout, "consumed_inputs is_test ratio seed"},
    {"Elu", 1, kNow, import_unary, "alpha consumed_inputs", "elu"},
    {"Equal", 1, kNow, import_binary, kBinary, "equal"},
    {"Erf", 9, kNow, import_unary, "", "erf"},
    {"Exp", 1, kNow, import_unary, "consumed_inputs", "exp"},
    {"Expand", 8, kNow, import_expand},
    {"Flatten", 1, kNow, import_flatten, "axis"},
    {"Floor", 1, kNow, import_unary, "consumed_inputs", "floor"},
    {"Gather", 1, kNow, import_gather, "axis"},
    {"Gelu", 20, kNow, import_gelu, "approximate=none|tanh"},
    {"Gemm", 1, kNow, import_gemm, "alpha beta broadcast transA transB"},
    {"GlobalAveragePool", 1, kNow, import_global_pool, "", "global_average_pool"},
    {"GlobalMaxPool", 1, kNow, import_global_pool, "", "global_max_pool"},
    {"Greater", 1, kNow, import_binary, kBinary, "greater"},
    {"GreaterOrEqual", 12, kNow, import_binary, "", "greater_or_equal"},
    {"HardSigmoid", 1, kNow, import_unary, "alpha beta consumed_inputs", "hard_sigmoid"},
    {"HardSwish", 14, kNow, import_unary, "", "hard_swish"},
    {"Identity", 1, kNow, import_identity},
    {"InstanceNormalization", 1, kNow, import_instance_norm, "consumed_inputs epsilon"},
    {"IsNaN", 9, kNow, import_unary, "", "is_nan"},
    {"LRN", 1, kNow, import_lrn, "alpha beta bias size"},
    {"LayerNormalization", 17, kNow, import_layer_norm, "axis epsilon stash_type=1"},
    {"LeakyRelu", 1, kNow, import_unary, "alpha consumed_inputs", "leaky_relu"},
    {"Less", 1, kNow, import_binary, kBinary, "less"},
    {"LessOrEqual", 12, kNow, import_binary, "", "less_or_equal"},
    {"Log", 1, kNow, import_unary, "consumed_inputs", "log"},
    {"LogSoftmax", 1, 12, import_softmax_flat, "axis", "log_softmax"},
    {"LogSoftmax", 13, kNow, import_softmax, "axis", "log_softmax"},
    {"MatMul", 1, kNow, import_matmul},
    {"MatMulInteger", 10, kNow, import_matmul_integer},
    {"Max", 1, kNow, import_variadic, "consumed_inputs", "max"},
    {"MaxPool", 1, kNow, import_max_pool, kMaxPool},
    {"Mean", 1, kNow, import_mean, "consumed_inputs"},
    {"Min", 1, kNow, import_variadic, "consumed_inputs", "min"},
    {"Mish", 18, kNow, import_unary, "", "mish"},
    {"Mod", 10, kNow, import_mod, "fmod"},
    {"Mul", 1, kNow, import_binary, kBinary, "mul"},
    {"Neg", 1, kNow, import_unary, "consumed_inputs", "neg"},
    {"Not", 1, kNow, import_unary, "", "not"},
    {"Or", 1, kNow, import_binary, kBinary, "or"},
    {"PRelu", 1, kNow, import_prelu, "consumed_inputs"},
    {"Pad", 1, 1, import_pad, "mode=constant|reflect|edge paddings value"},
    {"Pad", 2, 10, import_pad, "mode=constant|reflect|edge pads value"},
    {"Pad", 11, kNow, import_pad, "mode=constant|reflect|edge"},
    {"Pow", 1, kNow, import_binary, kBinary, "pow"},
    {"QLinearConv", 10, kNow, import_qlinear_conv, kConv},
    {"QLinearMatMul", 10, kNow, import_qlinear_matmul},
    {"QuantizeLinear", 10, kNow, import_quantize, "axis block_size=0 output_dtype saturate"},
    {"Range", 11, kNow, import_range},
    {"Reciprocal", 1, kNow, import_unary, "consumed_inputs", "reciprocal"},
    {"ReduceL1", 1, kNow, import_reduce, kReduce, "l1"},
    {"ReduceL2", 1, kNow, import_reduce, kReduce, "l2"},
    {"ReduceLogSum", 1, kNow, import_reduce, kReduce, "log_sum"},
    {"ReduceLogSumExp", 1, kNow, import_reduce, kReduce, "log_sum_exp"},
    {"ReduceMax", 1, kNow, import_reduce, kReduce, "max"},
    {"ReduceMean", 1, kNow, import_reduce, kReduce, "mean"},
    {"ReduceMin", 1, kNow, import_reduce, kReduce, "min"},
    {"ReduceProd", 1, kNow, import_reduce, kReduce, "prod"},
    {"ReduceSum", 1, kNow, import_reduce, kReduce, "sum"},
    {"ReduceSumSquare", 1, kNow, import_reduce, kReduce, "sum_square"},
    {"Relu", 1, kNow, import_unary, "consumed_inputs", "relu"},
    {"Reshape", 1, kNow, import_reshape, "allowzero consumed_inputs shape"},
    {"Resize", 10, 10, import_upsample, "mode=nearest|linear"},
    {"Resize", 11, kNow, import_resize, kResize},
    {"Round", 11, kNow, import_unary, "", "round"},
    {"Selu", 1, kNow, import_unary, "alpha consumed_inputs gamma", "selu"},
    {"Shape", 1, kNow, import_shape, "end start"},
    {"Shrink", 9, kNow, import_unary, "bias lambd", "shrink"},
    {"Sigmoid", 1, kNow, import_unary, "consumed_inputs", "sigmoid"},
    {"Sign", 9, kNow, import_unary, "", "sign"},
    {"Sin", 7, kNow, import_unary, "", "sin"},
    {"Size", 1, kNow, import_size},
    {"Slice", 1, 9, import_slice, "axes ends starts"},
    {"Slice", 10, kNow, import_slice},
    {"Softmax", 1, 12, import_softmax_flat, "axis", "softmax"},
    {"Softmax", 13, kNow, import_softmax, "axis", "softmax"},
    {"Softplus", 1, kNow, import_unary, "", "softplus"},
    {"Softsign", 1, kNow, import_unary, "", "softsign"},
    {"SpaceToDepth", 1, kNow, import_space_to_depth, "blocksize"},
    {"Split", 1, 12, import_split, "axis split"},
    {"Split", 13, kNow, import_split, "axis num_outputs"},
    {"Sqrt", 1, kNow, import_unary, "consumed_inputs", "sqrt"},
    {"Squeeze", 1, kNow, import_squeeze, "axes"},
    {"Sub", 1, kNow, import_binary, kBinary, "sub"},
    {"Sum", 1, kNow, import_variadic, "consumed_inputs", "add"},
    {"Tanh", 1, kNow, import_unary, "consumed_inputs", "tanh"},
    {"ThresholdedRelu", 1, kNow, import_unary, "alpha", "thresholded_relu"},
    {"Tile", 6, kNow, import_tile},
    {"Transpose", 1, kNow, import_transpose, "perm"},
    {"Unsqueeze", 1, kNow, import_unsqueeze, "axes"},
    {"Upsample", 7, 9, import_upsample, "mode=nearest|linear scales"},
    {"Where", 9, kNow, import_where},
    {"Xor", 1, kNow, import_binary, kBinary, "xor"},
};

} // namespace

std::span<const Operator> operators() { return kOperators; }

const Operator *find_operator(std::string_view type, std::int64_t opset) {
  for (const Operator &row : kOperators)
    if (row.type == type && row.since <= opset && opset <= row.until)
      return &row;
  return nullptr;
}

} // namespace tilefuse::onnx_import
