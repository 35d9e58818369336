// SPDX-License-Identifier: Apache-2.0
// Attention and the embedding of positions that goes with it. Heads that share keys are rows of one
// product, so that keys and values are never repeated.
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "onnx/operators.h"
#include "onnx/operators/along_axis.h"
#include "onnx/operators/ops_index.h"
#include "onnx/operators/ops_slice.h"

namespace tilefuse::onnx_import {
namespace {

Value permuted(const Call &call, const Value &value, const Ints &axes) {
  tile::Attributes attributes;
  for (std::size_t i = 0; i < axes.size(); ++i)
    attributes[fmt::format("A{}", i)] = axes[i];
  return call.apply(fmt::format("transpose{}", axes.size()), {value}, attributes);
}

// [batch, heads, places, features] of an operand that may be [batch, places, heads * features].
Value by_heads(const Call &call, const Value &value, std::int64_t heads) {
  if (value.shape.size() == 4)
    return value;
  if (value.shape.size() != 3 || heads < 1 || value.shape[2] % heads != 0)
    call.fail(ErrorCode::Shape, fmt::format("{} heads do not fit {}", heads, to_text(value.shape)));
  const Value view =
      call.reshape(value, {value.shape[0], value.shape[1], heads, value.shape[2] / heads});
  return permuted(call, view, {0, 2, 1, 3});
}

// A result [batch, heads, places, features] in the form of the operands.
Value as_operand(const Call &call, const Value &value, std::size_t rank) {
  if (rank == 4)
    return value;
  const program::Shape &shape = value.shape;
  return call.reshape(permuted(call, value, {0, 2, 1, 3}),
                      {shape[0], shape[2], shape[1] * shape[3]});
}

Value with_past(const Call &call, const Value &value, std::size_t past) {
  if (!call.has(past))
    return value;
  program::Shape shape = call.value(past).shape;
  if (shape.size() == 4)
    shape[2] = value.shape[2];
  if (shape != value.shape)
    call.fail(ErrorCode::Shape, fmt::format("past {} and {} do not match",
                                            to_text(call.value(past).shape), to_text(value.shape)));
  return put_together(call, {call.value(past), value}, 2);
}

// The mask operand, filled up to `keys`, or nothing. What lies beyond a mask is not seen.
std::optional<Value> mask_of(const Call &call, std::int64_t keys) {
  if (!call.has(3))
    return std::nullopt;
  const Value &mask = call.value(3);
  if (mask.shape.empty() || mask.shape.back() == keys || mask.shape.back() == 1)
    return mask;
  if (mask.type != DType::Bool)
    call.fail(ErrorCode::Unsupported,
              fmt::format("a mask {} for {} keys is not supported", to_text(mask.shape), keys));
  const Value bytes = call.apply("cast_u8", {mask});
  return call.apply("cast_bool", {window_along(call, bytes, mask.shape.size() - 1, 0, keys)});
}

// Which keys may be seen: what the bool mask, causality and the lengths say together, broadcast to
// scores [batch, heads, queries, keys]; nothing where all are.
std::optional<Value> kept_keys(const Call &call, const Value &scores,
                               const std::optional<Value> &mask, std::int64_t past) {
  const program::Shape &shape = scores.shape;
  const Value flat = call.reshape(scores, {shape[0] * shape[1], shape[2], shape[3]});
  std::optional<Value> kept;
  const auto also = [&](const Value &more) {
    kept = kept ? call.apply("and", {*kept, more}) : more;
  };
  if (mask && mask->type == DType::Bool)
    also(*mask);
  const bool is_causal = call.flag("is_causal", false);
  if (is_causal && !call.has(6))
    also(call.reshape(call.apply("causal_mask", {flat}, {{"OFFSET", past}}), shape));
  if (!call.has(6))
    return kept;
  const Value lengths = call.apply("expand2", {call.reshape(call.value(6), {shape[0], 1})},
                                   {{"D0", shape[0]}, {"D1", shape[1]}});
  const Value by_head = call.reshape(lengths, {shape[0] * shape[1]});
  also(call.reshape(call.apply("length_mask", {flat, by_head}), shape));
  if (is_causal)
    also(call.reshape(call.apply("causal_length_mask", {flat, by_head}), shape));
  return kept;
}

Value softmax_of(const Call &call, const Value &scores, const std::optional<Value> &kept) {
  const program::Shape &shape = scores.shape;
  const Value flat = call.reshape(scores, {shape[0] * shape[1], shape[2], shape[3]});
  if (!kept)
    return call.reshape(
        call.apply("softmax", {call.reshape(scores, {elems_between(shape, 0, 3), shape[3], 1})}),
        shape);
  const Value whole = call.apply(
      "expand4", {*kept}, {{"D0", shape[0]}, {"D1", shape[1]}, {"D2", shape[2]}, {"D3", shape[3]}});
  return call.reshape(call.apply("masked_softmax", {flat, call.reshape(whole, flat.shape)}), shape);
}

// The operands as [batch, heads, places, features], keys and values behind those of the past.
struct Heads {
  Value query, key, value;
  // Products are per batch and head of keys, whose queries are rows one after the other.
  std::int64_t products() const { return query.shape[0] * key.shape[1]; }
  std::int64_t rows() const { return query.shape[1] / key.shape[1] * query.shape[2]; }
};

Heads heads_of(const Call &call) {
  const std::int64_t query_heads = call.integer("q_num_heads", 0);
  const std::int64_t key_heads = call.integer("kv_num_heads", query_heads);
  Heads heads{by_heads(call, call.value(0), query_heads),
              with_past(call, by_heads(call, call.value(1), key_heads), 4),
              with_past(call, by_heads(call, call.value(2), key_heads), 5)};
  const program::Shape &q = heads.query.shape, &k = heads.key.shape;
  if (k[1] < 1 || q[1] % k[1] != 0 || q[3] != k[3] || heads.value.shape[2] != k[2])
    call.fail(ErrorCode::Shape,
              fmt::format("queries {} and keys {} do not match", to_text(q), to_text(k)));
  return heads;
}

// The scaled products of queries and keys, [batch, heads, queries, keys].
Value scores_of(const Call &call, const Heads &heads) {
  const program::Shape &q = heads.query.shape, &k = heads.key.shape;
  const double scale = call.real("scale", 1 / std::sqrt(static_cast<double>(q[3])));
  const Value turned =
      permuted(call, call.reshape(heads.key, {heads.products(), k[2], k[3]}), {0, 2, 1});
  const Value rows = call.reshape(heads.query, {heads.products(), heads.rows(), q[3]});
  const Value product = call.apply("matmul_33", {rows, turned});
  return call.reshape(call.apply("mul", {product, scalar_constant(scale, product.type)}),
                      {q[0], q[1], q[2], k[2]});
}

// Scores with softcap and a mask of numbers, as shares of each query.
Value weights_of(const Call &call, Value scores) {
  const double cap = call.real("softcap", 0);
  if (cap != 0)
    scores = call.apply("soft_cap", {scores}, {{"CAP", cap}});
  const std::optional<Value> mask = mask_of(call, scores.shape[3]);
  if (mask && mask->type != DType::Bool)
    scores = call.apply("add", {scores, *mask});
  const std::int64_t past = call.has(4) ? call.value(4).shape[2] : 0;
  return softmax_of(call, scores, kept_keys(call, scores, mask, past));
}

} // namespace

void import_attention(Call &call) {
  const Heads heads = heads_of(call);
  const Value scores = scores_of(call, heads);
  const Value weights = weights_of(call, scores);
  const std::int64_t keys = heads.key.shape[2], features = heads.value.shape[3];
  const Value mixed =
      call.apply("matmul_33", {call.reshape(weights, {heads.products(), heads.rows(), keys}),
                               call.reshape(heads.value, {heads.products(), keys, features})});
  const program::Shape &q = heads.query.shape;
  call.result(as_operand(call, call.reshape(mixed, {q[0], q[1], q[2], features}),
                         call.value(0).shape.size()));
  call.result(heads.key, 1);
  call.result(heads.value, 2);
  call.result(call.integer("qk_matmul_output_mode", 0) == 3 ? weights : scores, 3);
}

void import_rotary_embedding(Call &call) {
  const Value &input = call.value(0);
  const Value heads = by_heads(call, input, call.integer("num_heads", 0));
  const std::int64_t batch = heads.shape[0], places = heads.shape[2];
  const std::int64_t turned = call.integer("rotary_embedding_dim", 0);
  const std::int64_t pairs = (turned == 0 ? heads.shape[3] : turned) / 2;
  const auto angles = [&](std::size_t i) {
    const Value &cache = call.value(i);
    if (!call.has(3))
      return call.reshape(cache, {batch, places, pairs});
    if (cache.shape.size() != 2)
      call.fail(ErrorCode::Shape, fmt::format("a cache has shape {}", to_text(cache.shape)));
    const Value picked = pick_rows(call, cache, call.reshape(call.value(3), {batch * places}));
    return call.reshape(picked, {batch, places, pairs});
  };
  const char *function = call.flag("interleaved", false) ? "rotate_pairs" : "rotate_halves";
  call.result(
      as_operand(call, call.apply(function, {heads, angles(1), angles(2)}), input.shape.size()));
}

} // namespace tilefuse::onnx_import
