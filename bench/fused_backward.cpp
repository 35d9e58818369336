// SPDX-License-Identifier: Apache-2.0
#include "fused.h"

#include "model/fusion.h"
#include "poly/fuse.h"
#include "program/storage.h"
#include "tile/tile.h"

namespace tilefuse::bench {
namespace {

using program::Role;
using program::TensorId;

constexpr const char *kFunctions =
    "function relu(X) -> (Y) { Y = max(X, 0); }\n"
    "function mask(G, Y) -> (D) { D = Y > 0 ? G : 0; }\n"
    "function by_filter(D[N, M, OY, OX], X[N, C, H, W]; R, S, ST, P) -> (O) {\n"
    "  O[m, c, r, s : M, C, R, S] = +(D[n, m, y, x] * X[n, c, ST*y + r - P, ST*x + s - P]);\n"
    "}\n"
    "function by_input(D[N, M, OY, OX], K[M, C, R, S]; H, W, ST, P) -> (O) {\n"
    "  O[n, c, ST*y + r - P, ST*x + s - P : N, C, H, W] = +(D[n, m, y, x] * K[m, c, r, s]);\n"
    "}\n";

class Maker {
public:
  explicit Maker(const BackwardBlock &block) {
    library_.add(kFunctions, "bench");
    program_.name = block.name;
    const std::int64_t pad = block.taps / 2;
    const std::int64_t made = (block.size + 2 * pad - block.taps) / block.stride + 1;
    const program::Shape of_y = {block.batch, block.outputs, made, made};
    const TensorId masked = call("mask", {input("dy", of_y), input("y", of_y)}, {});
    if (block.by_input)
      program_.outputs.push_back(
          call("by_input", {masked, weights(block)},
               {{"H", block.size}, {"W", block.size}, {"ST", block.stride}, {"P", pad}}));
    if (block.by_filter) {
      const TensorId x = input("x", {block.batch, block.channels, block.size, block.size});
      program_.outputs.push_back(
          call("by_filter", {masked, call("relu", {x}, {})},
               {{"R", block.taps}, {"S", block.taps}, {"ST", block.stride}, {"P", pad}}));
    }
  }

  program::Program take() { return std::move(program_); }

private:
  TensorId input(const char *name, program::Shape shape) {
    const TensorId id = program_.add(
        {.name = name, .type = DType::F32, .shape = std::move(shape), .role = Role::Input});
    program_.inputs.push_back(id);
    return id;
  }
  TensorId weights(const BackwardBlock &block) {
    const program::Shape shape = {block.outputs, block.channels, block.taps, block.taps};
    const auto bytes = static_cast<std::size_t>(program::elems(shape) * 4);
    return program_.add({.name = "weights",
                         .type = DType::F32,
                         .shape = shape,
                         .role = Role::Constant,
                         .data = std::make_shared<const program::Bytes>(bytes)});
  }
  TensorId call(const char *function, std::vector<TensorId> args, tile::Attributes attributes) {
    return library_.instantiate(function, args, attributes, program_, function).at(0);
  }

  tile::Library library_;
  program::Program program_;
};

} // namespace

std::vector<BackwardBlock> backward_blocks() {
  return {{"mask_by_input_56_64_s2_128", 1, 64, 56, 128, 3, 2, true, false},
          {"mask_by_input_56_64_s2_128_b32", 32, 64, 56, 128, 3, 2, true, false},
          {"mask_by_input_28_128_s2_256_b32", 32, 128, 28, 256, 3, 2, true, false},
          {"mask_by_input_56_256_1x1_s2_512_b32", 32, 256, 56, 512, 1, 2, true, false},
          {"mask_by_input_112_16_s2_32_b32", 32, 16, 112, 32, 3, 2, true, false},
          {"both_by_filter_56_64_b32", 32, 64, 56, 64, 3, 1, false, true},
          {"both_by_filter_56_64_1x1_256_b32", 32, 64, 56, 256, 1, 1, false, true},
          {"backward_56_64_s2_128_b32", 32, 64, 56, 128, 3, 2, true, true}};
}

std::vector<poly::PlacedGroup> backward_groups(const BackwardBlock &block, Fusing how,
                                               const Target &target) {
  const program::StoredProgram stored = program::assign_storage(Maker(block).take());
  if (how == Fusing::Judged)
    return model::make_groups(stored, {.level = poly::FuseLevel::All}, target);
  const bool fused = how == Fusing::Forced;
  return poly::make_groups(stored,
                           {.level = fused ? poly::FuseLevel::All : poly::FuseLevel::Pointwise});
}

} // namespace tilefuse::bench
