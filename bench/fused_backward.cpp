// SPDX-License-Identifier: Apache-2.0
#include "fused.h"

#include "model/fusion.h"
#include "model/split_groups.h"
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
    "function by_filter(D[N, OY, OX, M], X[N, H, W, C]; R, S, ST, P) -> (O) {\n"
    "  O[m, r, s, c : M, R, S, C] = +(D[n, y, x, m] * X[n, ST*y + r - P, ST*x + s - P, c]);\n"
    "}\n"
    "function by_input(D[N, OY, OX, M], K[M, R, S, C]; H, W, ST, P) -> (O) {\n"
    "  O[n, ST*y + r - P, ST*x + s - P, c : N, H, W, C] = +(D[n, y, x, m] * K[m, r, s, c]);\n"
    "}\n";

class Maker {
public:
  explicit Maker(const BackwardBlock &block) {
    library_.add(kFunctions, "bench");
    program_.name = block.name;
    const std::int64_t pad = block.taps / 2;
    const std::int64_t made = (block.size + 2 * pad - block.taps) / block.stride + 1;
    const program::Shape of_y = {block.batch, made, made, block.outputs};
    const TensorId masked = call("mask", {input("dy", of_y), input("y", of_y)}, {});
    if (block.by_input)
      program_.outputs.push_back(
          call("by_input", {masked, weights(block)},
               {{"H", block.size}, {"W", block.size}, {"ST", block.stride}, {"P", pad}}));
    if (block.by_filter) {
      const TensorId x = input("x", {block.batch, block.size, block.size, block.channels});
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
    const program::Shape shape = {block.outputs, block.taps, block.taps, block.channels};
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
  program::StoredProgram stored = program::assign_storage(Maker(block).take());
  if (how == Fusing::Forced)
    return poly::make_groups(stored, {.level = poly::FuseLevel::All});
  std::vector<poly::PlacedGroup> groups =
      how == Fusing::Judged ? model::make_groups(stored, {.level = poly::FuseLevel::All}, target)
                            : poly::make_groups(stored, {.level = poly::FuseLevel::Pointwise});
  return model::split_groups(std::move(groups), stored, target, {});
}

} // namespace tilefuse::bench
