// SPDX-License-Identifier: Apache-2.0
// The handlers of the table, by file. Each reads one node through a Call, instantiates Tile
// functions and defines the node's outputs.
#pragma once

#include "onnx/call.h"

namespace tilefuse::onnx_import {

// ops_conv.cpp
void import_conv(Call &call);
void import_conv_transpose(Call &call);
void import_col2im(Call &call);
void import_gemm(Call &call);
void import_matmul(Call &call);

// ops_quant.cpp
void import_quantize(Call &call);
void import_dequantize(Call &call);
void import_conv_integer(Call &call);
void import_matmul_integer(Call &call);
void import_qlinear_conv(Call &call);
void import_qlinear_matmul(Call &call);
void import_dynamic_quantize(Call &call);

// ops_pool.cpp
void import_max_pool(Call &call);
void import_average_pool(Call &call);
void import_lp_pool(Call &call);
void import_global_lp_pool(Call &call);
void import_global_pool(Call &call); // function: the name without its rank

// ops_norm.cpp
void import_batch_norm(Call &call);
void import_instance_norm(Call &call);
void import_layer_norm(Call &call);
void import_lrn(Call &call);
void import_group_norm(Call &call);
void import_rms_norm(Call &call);
void import_lp_norm(Call &call);
void import_mean_variance_norm(Call &call);
void import_softmax_flat(Call &call); // before opset 13: over all dimensions from the axis on
void import_softmax(Call &call);

// ops_pointwise.cpp
void import_unary(Call &call);  // attributes alpha, beta, gamma, lambd, bias are passed on
void import_binary(Call &call); // also the `broadcast` and `axis` attributes of opset < 7
void import_pow(Call &call);
void import_variadic(Call &call);
void import_mean(Call &call);
void import_clip_attributes(Call &call);
void import_clip(Call &call);
void import_prelu(Call &call);
void import_where(Call &call);
void import_cast(Call &call);
void import_cast_like(Call &call);
void import_gelu(Call &call);
void import_mod(Call &call);
void import_is_inf(Call &call);
void import_bit_shift(Call &call);

// ops_reduce.cpp
void import_reduce(Call &call); // function: without "reduce_"

// ops_shape.cpp
void import_identity(Call &call);
void import_dropout(Call &call);
void import_reshape(Call &call);
void import_flatten(Call &call);
void import_squeeze(Call &call);
void import_unsqueeze(Call &call);
void import_transpose(Call &call);
void import_expand(Call &call);
void import_tile(Call &call);
void import_constant(Call &call);
void import_constant_of_shape(Call &call);
void import_shape(Call &call);
void import_size(Call &call);
void import_range(Call &call);
void import_depth_to_space(Call &call);
void import_space_to_depth(Call &call);

// ops_slice.cpp
void import_concat(Call &call);
void import_slice(Call &call);
void import_split(Call &call);

// ops_index.cpp
void import_gather(Call &call);
void import_gather_elements(Call &call);
void import_gather_nd(Call &call);
void import_scatter_elements(Call &call);
void import_scatter_nd(Call &call);
void import_max_unpool(Call &call);
void import_non_zero(Call &call); // of a constant
void import_compress(Call &call); // by a constant condition
void import_one_hot(Call &call);

// ops_order.cpp
void import_arg(Call &call); // function: "arg_max" or "arg_min"
void import_top_k(Call &call);
void import_cumulative(Call &call); // function: "sum" or "product"
void import_trilu(Call &call);
void import_eye_like(Call &call);

// ops_einsum.cpp
void import_einsum(Call &call);

// ops_attention.cpp
void import_attention(Call &call);
void import_rotary_embedding(Call &call);

// ops_recurrent.cpp
void import_rnn(Call &call);
void import_gru(Call &call);
void import_lstm(Call &call);

// ops_loss.cpp
void import_nll_loss(Call &call);
void import_softmax_loss(Call &call);
void import_adagrad(Call &call);
void import_adam(Call &call);
void import_momentum(Call &call);

// ops_sample.cpp
void import_affine_grid(Call &call);
void import_grid_sample(Call &call);
void import_deform_conv(Call &call);
void import_roi_align(Call &call);

// ops_pad.cpp
void import_pad(Call &call);
void import_center_crop_pad(Call &call);

// ops_resize.cpp
void import_upsample(Call &call);
void import_resize(Call &call);

} // namespace tilefuse::onnx_import
