// SPDX-License-Identifier: Apache-2.0
// Attention as a program of Tile, and the groups that it becomes: one, where rows between its two
// products stay in registers (poly/row_group.h).
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "model/passes.h"
#include "poly/row_group.h"
#include "program/storage/storage.h"
#include "search/network/fusion.h"
#include "target/target.h"
#include "tile/tile.h"

namespace tilefuse::model {

// Attention whose scores, T, `scores` makes of the product S and further inputs.
inline std::string attention(const std::string &inputs, const std::string &scores) {
  return fmt::format(R"(
function attention(Q[B, H, M, D], K[B, H, N, D], V[B, H, N, C], {}) -> (O) {{
  S[b, h, m, n : B, H, M, N] = +(Q[b, h, m, d] * K[b, h, n, d]);
  {}
  X[b, h, m : B, H, M] = >(T[b, h, m, n]);
  E = exp(T - reshape(X, B, H, M, 1));
  L[b, h, m : B, H, M] = +(E[b, h, m, n]);
  P = E / reshape(L, B, H, M, 1);
  O[b, m, h, c : B, M, H, C] = +(P[b, h, m, n] * V[b, h, n, c]);
}}
)",
                     inputs, scores);
}

inline const std::string kBiased =
    attention("BIAS[H, M, N]", "T = S * 0.25 + reshape(BIAS, 1, H, M, N);");
// Windows that are shifted: a scale of each head, and a mask of each window of an image.
inline const std::string kMasked = attention("BIAS[H, M, N], SCALE[H], MASK[W, M, N]", R"(
  R = S * reshape(SCALE, 1, H, 1, 1) + reshape(BIAS, 1, H, M, N);
  T = reshape(reshape(R, B / W, W, H, M, N) + reshape(MASK, 1, W, 1, M, N), B, H, M, N);)");

struct Attention {
  std::int64_t batch = 2, heads = 3, rows = 37, keys = 37, depth = 64, values = 64;
  DType type = DType::F16;
};

// The groups that a function of such inputs becomes.
inline std::vector<poly::PlacedGroup> groups_of(const std::string &text,
                                                const std::vector<program::Shape> &shapes,
                                                DType type, const Target &target) {
  tile::Library library;
  library.add(text, "test");
  program::Program made;
  made.name = "attention";
  for (const program::Shape &shape : shapes)
    made.inputs.push_back(made.add({.name = fmt::format("t{}", made.inputs.size()),
                                    .type = type,
                                    .shape = shape,
                                    .role = program::Role::Input}));
  const std::vector<program::TensorId> args = made.inputs;
  made.outputs = library.instantiate("attention", args, {}, made, "attention");
  return search::make_groups(program::assign_storage(prepare(made, target, {})), {}, target);
}

inline std::vector<poly::PlacedGroup> groups_of(const Attention &p, const Target &target) {
  return groups_of(kBiased,
                   {{p.batch, p.heads, p.rows, p.depth},
                    {p.batch, p.heads, p.keys, p.depth},
                    {p.batch, p.heads, p.keys, p.values},
                    {p.heads, p.rows, p.keys}},
                   p.type, target);
}

} // namespace tilefuse::model
