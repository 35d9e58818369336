// SPDX-License-Identifier: Apache-2.0
#include "onnx/table.h"

#include <limits>

#include "onnx/operators.h"

namespace tilefuse::onnx_import {
namespace {

constexpr std::int64_t kNow = std::numeric_limits<std::int64_t>::max();

constexpr int kMany = std::numeric_limits<int>::max(); // results

constexpr std::string_view kConv = "auto_pad dilations group kernel_shape pads strides";
constexpr std::string_view kConvTranspose =
    "auto_pad dilations group kernel_shape output_padding output_shape pads strides";
constexpr std::string_view kMaxPool =
    "auto_pad ceil_mode dilations kernel_shape pads storage_order strides";
constexpr std::string_view kAveragePool =
    "auto_pad ceil_mode count_include_pad dilations kernel_shape pads strides";
constexpr std::string_view kBatchNorm = "consumed_inputs epsilon is_test momentum spatial=1";
constexpr std::string_view kBinary = "axis broadcast consumed_inputs";
constexpr std::string_view kRecurrent =
    "activations direction=forward|reverse|bidirectional hidden_size input_forget=0 layout "
    "linear_before_reset output_sequence";
constexpr std::string_view kReduce = "axes keepdims noop_with_empty_axes";
constexpr std::string_view kResize =
    "antialias axes "
    "coordinate_transformation_mode=asymmetric|half_pixel|pytorch_half_pixel|align_corners|"
    "half_pixel_symmetric|tf_half_pixel_for_nn|tf_crop_and_resize cubic_coeff_a exclude_outside "
    "extrapolation_value "
    "keep_aspect_ratio_policy=stretch|not_larger|not_smaller mode=nearest|linear|cubic "
    "nearest_mode";

constexpr Operator kOperators[] = {
    {"Abs", 1, kNow, import_unary, "consumed_inputs", "abs"},
    {"Acos", 7, kNow, import_unary, "", "acos"},
    {"Acosh", 9, kNow, import_unary, "", "acosh"},
    {"Adagrad", 1, kNow, import_adagrad, "decay_factor epsilon norm_coefficient", "", kMany},
    {"Adam", 1, kNow, import_adam, "alpha beta epsilon norm_coefficient norm_coefficient_post", "",
     kMany},
    {"Add", 1, kNow, import_binary, kBinary, "add"},
    {"AffineGrid", 20, kNow, import_affine_grid, "align_corners"},
    {"And", 1, kNow, import_binary, kBinary, "and"},
    {"ArgMax", 1, kNow, import_arg, "axis keepdims select_last_index", "arg_max"},
    {"ArgMin", 1, kNow, import_arg, "axis keepdims select_last_index", "arg_min"},
    {"Asin", 7, kNow, import_unary, "", "asin"},
    {"Asinh", 9, kNow, import_unary, "", "asinh"},
    {"Atan", 7, kNow, import_unary, "", "atan"},
    {"Atanh", 9, kNow, import_unary, "", "atanh"},
    {"Attention", 23, kNow, import_attention,
     "is_causal kv_num_heads q_num_heads qk_matmul_output_mode=0|3 scale softcap softmax_precision",
     "", 4},
    {"AveragePool", 1, kNow, import_average_pool, kAveragePool},
    {"BatchNormalization", 1, 13, import_batch_norm, kBatchNorm},
    {"BatchNormalization", 14, kNow, import_batch_norm, "epsilon momentum training_mode", "", 3},
    {"BitShift", 11, kNow, import_bit_shift, "direction=LEFT|RIGHT"},
    {"BitwiseAnd", 18, kNow, import_binary, "", "bit_and"},
    {"BitwiseNot", 18, kNow, import_unary, "", "bit_not"},
    {"BitwiseOr", 18, kNow, import_binary, "", "bit_or"},
    {"BitwiseXor", 18, kNow, import_binary, "", "bit_xor"},
    {"Cast", 1, kNow, import_cast, "to saturate"},
    {"CastLike", 15, kNow, import_cast_like, "saturate"},
    {"Ceil", 1, kNow, import_unary, "consumed_inputs", "ceil"},
    {"Celu", 12, kNow, import_unary, "alpha", "celu"},
    {"CenterCropPad", 18, kNow, import_center_crop_pad, "axes"},
    {"Clip", 1, 10, import_clip_attributes, "consumed_inputs max min"},
    {"Clip", 11, kNow, import_clip},
    {"Col2Im", 18, kNow, import_col2im, "dilations pads strides"},
    {"Compress", 9, kNow, import_compress, "axis"},
    {"Concat", 1, kNow, import_concat, "axis"},
    {"Constant", 1, kNow, import_constant, "value value_float value_floats value_int value_ints"},
    {"ConstantOfShape", 9, kNow, import_constant_of_shape, "value"},
    {"Conv", 1, kNow, import_conv, kConv},
    {"ConvInteger", 10, kNow, import_conv_integer, kConv},
    {"ConvTranspose", 1, kNow, import_conv_transpose, kConvTranspose},
    {"Cos", 7, kNow, import_unary, "", "cos"},
    {"Cosh", 9, kNow, import_unary, "", "cosh"},
    {"CumProd", 26, kNow, import_cumulative, "exclusive=0 reverse", "product"},
    {"CumSum", 11, kNow, import_cumulative, "exclusive reverse", "sum"},
    {"DeformConv", 19, kNow, import_deform_conv,
     "dilations group kernel_shape offset_group pads strides"},
    {"DepthToSpace", 1, kNow, import_depth_to_space, "blocksize mode=DCR|CRD"},
    {"DequantizeLinear", 1, kNow, import_dequantize, "axis block_size"},
    {"Div", 1, kNow, import_binary, kBinary, "div"},
    {"Dropout", 1, kNow, import_dropout, "consumed_inputs is_test ratio seed", "", 2},
    {"DynamicQuantizeLinear", 11, kNow, import_dynamic_quantize, "", "", 3},
    {"Einsum", 12, kNow, import_einsum, "equation"},
    {"Elu", 1, kNow, import_unary, "alpha consumed_inputs", "elu"},
    {"Equal", 1, kNow, import_binary, kBinary, "equal"},
    {"Erf", 9, kNow, import_unary, "", "erf"},
    {"Exp", 1, kNow, import_unary, "consumed_inputs", "exp"},
    {"Expand", 8, kNow, import_expand},
    {"EyeLike", 9, kNow, import_eye_like, "dtype k"},
    {"Flatten", 1, kNow, import_flatten, "axis"},
    {"Floor", 1, kNow, import_unary, "consumed_inputs", "floor"},
    {"GRU", 7, kNow, import_gru, kRecurrent, "", 2},
    {"Gather", 1, kNow, import_gather, "axis"},
    {"GatherElements", 11, kNow, import_gather_elements, "axis"},
    {"GatherND", 11, kNow, import_gather_nd, "batch_dims"},
    {"Gelu", 20, kNow, import_gelu, "approximate=none|tanh"},
    {"Gemm", 1, kNow, import_gemm, "alpha beta broadcast transA transB"},
    {"GlobalAveragePool", 1, kNow, import_global_pool, "", "global_average_pool"},
    {"GlobalLpPool", 2, kNow, import_global_lp_pool, "p"},
    {"GlobalMaxPool", 1, kNow, import_global_pool, "", "global_max_pool"},
    {"Greater", 1, kNow, import_binary, kBinary, "greater"},
    {"GreaterOrEqual", 12, kNow, import_binary, "", "greater_or_equal"},
    {"GridSample", 16, kNow, import_grid_sample,
     "align_corners mode=bilinear|nearest|bicubic|linear|cubic "
     "padding_mode=zeros|border|reflection"},
    {"GroupNormalization", 18, kNow, import_group_norm, "epsilon num_groups stash_type=1"},
    {"HardSigmoid", 1, kNow, import_unary, "alpha beta consumed_inputs", "hard_sigmoid"},
    {"HardSwish", 14, kNow, import_unary, "", "hard_swish"},
    {"Hardmax", 1, 12, import_softmax_flat, "axis", "hardmax"},
    {"Hardmax", 13, kNow, import_softmax, "axis", "hardmax"},
    {"Identity", 1, kNow, import_identity},
    {"If", 1, kNow, nullptr, "else_branch then_branch", "", kMany},
    {"InstanceNormalization", 1, kNow, import_instance_norm, "consumed_inputs epsilon"},
    {"IsInf", 10, kNow, import_is_inf, "detect_negative detect_positive"},
    {"IsNaN", 9, kNow, import_unary, "", "is_nan"},
    {"LRN", 1, kNow, import_lrn, "alpha beta bias size"},
    {"LSTM", 7, kNow, import_lstm, kRecurrent, "", 3},
    // Since 17; onnxruntime's optimiser writes it, and the one behind Sign, into files of any opset.
    {"LayerNormalization", 1, kNow, import_layer_norm, "axis epsilon stash_type=1", "", 3},
    {"LeakyRelu", 1, kNow, import_unary, "alpha consumed_inputs", "leaky_relu"},
    {"Less", 1, kNow, import_binary, kBinary, "less"},
    {"LessOrEqual", 12, kNow, import_binary, "", "less_or_equal"},
    {"Log", 1, kNow, import_unary, "consumed_inputs", "log"},
    {"LogSoftmax", 1, 12, import_softmax_flat, "axis", "log_softmax"},
    {"LogSoftmax", 13, kNow, import_softmax, "axis", "log_softmax"},
    {"LpNormalization", 1, kNow, import_lp_norm, "axis p=1|2"},
    {"LpPool", 2, kNow, import_lp_pool, "auto_pad ceil_mode dilations kernel_shape p pads strides"},
    {"MatMul", 1, kNow, import_matmul},
    {"MatMulInteger", 10, kNow, import_matmul_integer},
    {"Max", 1, kNow, import_variadic, "consumed_inputs", "max"},
    {"MaxPool", 1, kNow, import_max_pool, kMaxPool, "", 2},
    {"MaxUnpool", 9, kNow, import_max_unpool, "kernel_shape pads strides"},
    {"Mean", 1, kNow, import_mean, "consumed_inputs"},
    {"MeanVarianceNormalization", 9, kNow, import_mean_variance_norm, "axes"},
    {"Min", 1, kNow, import_variadic, "consumed_inputs", "min"},
    {"Mish", 18, kNow, import_unary, "", "mish"},
    {"Mod", 10, kNow, import_mod, "fmod"},
    {"Momentum", 1, kNow, import_momentum, "alpha beta mode=standard|nesterov norm_coefficient", "",
     kMany},
    {"Mul", 1, kNow, import_binary, kBinary, "mul"},
    {"Neg", 1, kNow, import_unary, "consumed_inputs", "neg"},
    {"NegativeLogLikelihoodLoss", 12, kNow, import_nll_loss,
     "ignore_index reduction=none|mean|sum"},
    {"NonZero", 9, kNow, import_non_zero},
    {"Not", 1, kNow, import_unary, "", "not"},
    {"OneHot", 9, kNow, import_one_hot, "axis"},
    {"Or", 1, kNow, import_binary, kBinary, "or"},
    {"PRelu", 1, kNow, import_prelu, "consumed_inputs"},
    {"Pad", 1, 1, import_pad, "mode=constant|reflect|edge paddings value"},
    {"Pad", 2, 10, import_pad, "mode=constant|reflect|edge pads value"},
    {"Pad", 11, kNow, import_pad, "mode=constant|reflect|edge|wrap"},
    {"Pow", 1, kNow, import_pow, kBinary, "pow"},
    {"QLinearConv", 10, kNow, import_qlinear_conv, kConv},
    {"QLinearMatMul", 10, kNow, import_qlinear_matmul},
    {"QuantizeLinear", 1, kNow, import_quantize, "axis block_size output_dtype saturate"},
    {"RMSNormalization", 23, kNow, import_rms_norm, "axis epsilon stash_type=1"},
    {"RNN", 7, kNow, import_rnn, kRecurrent, "", 2},
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
    {"RoiAlign", 10, kNow, import_roi_align,
     "coordinate_transformation_mode=half_pixel|output_half_pixel mode=avg|max output_height "
     "output_width sampling_ratio spatial_scale"},
    {"RotaryEmbedding", 23, kNow, import_rotary_embedding,
     "interleaved num_heads rotary_embedding_dim"},
    {"Round", 11, kNow, import_unary, "", "round"},
    {"Scatter", 9, kNow, import_scatter_elements, "axis"},
    {"ScatterElements", 11, kNow, import_scatter_elements, "axis reduction=none|add"},
    {"ScatterND", 11, kNow, import_scatter_nd, "reduction=none|add"},
    {"Selu", 1, kNow, import_unary, "alpha consumed_inputs gamma", "selu"},
    {"Shape", 1, kNow, import_shape, "end start"},
    {"Shrink", 9, kNow, import_unary, "bias lambd", "shrink"},
    {"Sigmoid", 1, kNow, import_unary, "consumed_inputs", "sigmoid"},
    {"Sign", 9, kNow, import_unary, "", "sign"},
    {"SimplifiedLayerNormalization", 1, kNow, import_rms_norm, "axis epsilon stash_type=1"},
    {"Sin", 7, kNow, import_unary, "", "sin"},
    {"Sinh", 9, kNow, import_unary, "", "sinh"},
    {"Size", 1, kNow, import_size},
    {"Slice", 1, 9, import_slice, "axes ends starts"},
    {"Slice", 10, kNow, import_slice},
    {"Softmax", 1, 12, import_softmax_flat, "axis", "softmax"},
    {"Softmax", 13, kNow, import_softmax, "axis", "softmax"},
    {"SoftmaxCrossEntropyLoss", 12, kNow, import_softmax_loss,
     "ignore_index reduction=none|mean|sum", "", 2},
    {"Softplus", 1, kNow, import_unary, "", "softplus"},
    {"Softsign", 1, kNow, import_unary, "", "softsign"},
    {"SpaceToDepth", 1, kNow, import_space_to_depth, "blocksize"},
    {"Split", 1, 12, import_split, "axis split", "", kMany},
    {"Split", 13, kNow, import_split, "axis num_outputs", "", kMany},
    {"Sqrt", 1, kNow, import_unary, "consumed_inputs", "sqrt"},
    {"Squeeze", 1, kNow, import_squeeze, "axes"},
    {"Sub", 1, kNow, import_binary, kBinary, "sub"},
    {"Sum", 1, kNow, import_variadic, "consumed_inputs", "add"},
    {"Swish", 24, kNow, import_unary, "alpha", "swish"},
    {"Tan", 7, kNow, import_unary, "", "tan"},
    {"Tanh", 1, kNow, import_unary, "consumed_inputs", "tanh"},
    {"ThresholdedRelu", 1, kNow, import_unary, "alpha", "thresholded_relu"},
    {"Tile", 6, kNow, import_tile},
    {"TopK", 1, kNow, import_top_k, "axis k largest sorted", "", 2},
    {"Transpose", 1, kNow, import_transpose, "perm"},
    {"Trilu", 14, kNow, import_trilu, "upper"},
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
