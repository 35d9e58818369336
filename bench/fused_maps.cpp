// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <utility>

#include <fmt/format.h>

#include "fused.h"
#include "poly/fuse.h"
#include "poly/post_ops.h"
#include "program/storage/storage.h"
#include "search/network/fusion.h"
#include "search/network/split_groups.h"

namespace tilefuse::bench {
namespace {

// Channels last, filter [m][r][s][c]; what lies in memory is of the block's type.
class Maker {
public:
  explicit Maker(const MapBlock &block) : block_(block) {
    const std::int64_t pad = block.taps / 2;
    const std::int64_t made = (block.size + 2 * pad - block.taps) / block.stride + 1;
    x_ = fmt::format("{}[{}, {}, {}, {}]", block.type, block.batch, block.size, block.size,
                     block.channels);
    y_ = fmt::format("{}[{}, {}, {}, {}]", block.type, block.batch, made, made, block.outputs);
    filter_ = fmt::format("{}[{}, {}, {}, {}]", block.type, block.outputs, block.taps, block.taps,
                          block.channels);
    rows_ = fmt::format("{}*y + r - {}", block.stride, pad);
    columns_ = fmt::format("{}*x + s - {}", block.stride, pad);
  }

  program::Program take() {
    block_.is_forward ? add_forward() : add_backward();
    program::Program program = program::parse_program(
        fmt::format("program \"{}\" {{\n{}{}}}\n", block_.name, text_, outputs_));
    for (const program::TensorId id : program.inputs)
      if (program[id].name == "weights")
        make_constant(program, id);
    return program;
  }

private:
  int add(const std::string &line) {
    text_ += fmt::format("  {}\n", fmt::format(fmt::runtime(line), number_));
    return number_++;
  }
  int input(const char *name, const std::string &type) {
    return add(fmt::format("input %{{}} \"{}\" : {}", name, type));
  }
  // An expression of tensors, rounded to the block's type.
  int map(const std::string &type, const std::string &operands, const std::string &post) {
    const bool is_half = block_.type != "f32";
    return add(fmt::format("%{{}} \"map\" : {} = map[{}]({}) from \"bench\"", type, operands,
                           is_half ? fmt::format("{}({})", block_.type, post) : post));
  }
  std::string value(int operand) const {
    return block_.type == "f32" ? fmt::format("${}", operand) : fmt::format("f32(${})", operand);
  }
  void sum(const std::string &type, const std::string &of, const std::string &to) {
    const int made = add(fmt::format(
        "%{{}} \"sum\" : {} = sum[n, m, y, x, c, r, s]({}) -> [{}] from \"bench\"", type, of, to));
    outputs_ += fmt::format("  output %{}\n", made);
  }

  // BatchNorm and ReLU before a convolution.
  void add_forward() {
    const std::string vector = fmt::format("f32[1, 1, 1, {}]", block_.channels);
    const int x = input("x", x_), scale = input("scale", vector), shift = input("shift", vector);
    const int weights = input("weights", filter_);
    const int a = map(x_, fmt::format("%{}, %{}, %{}", x, scale, shift),
                      fmt::format("max({} * $1 + $2, 0)", value(0)));
    sum(y_, fmt::format("%{}[n, {}, {}, c] * %{}[m, r, s, c]", a, rows_, columns_, weights),
        "n, y, x, m");
  }

  // dy * relu'(y), and for the filter relu(x).
  void add_backward() {
    const int dy = input("dy", y_), y = input("y", y_), weights = input("weights", filter_);
    const int masked = map(y_, fmt::format("%{}, %{}", dy, y),
                           fmt::format("select({} > 0, {}, 0)", value(1), value(0)));
    if (block_.by_input)
      sum(x_, fmt::format("%{}[n, y, x, m] * %{}[m, r, s, c]", masked, weights),
          fmt::format("n, {}, {}, c", rows_, columns_));
    if (!block_.by_filter)
      return;
    const int x = input("x", x_);
    const int active = map(x_, fmt::format("%{}", x), fmt::format("max({}, 0)", value(0)));
    sum(filter_,
        fmt::format("%{}[n, y, x, m] * %{}[n, {}, {}, c]", masked, active, rows_, columns_),
        "m, r, s, c");
  }

  static void make_constant(program::Program &program, program::TensorId id) {
    program::Tensor &tensor = program[id];
    const std::int64_t bytes = program::elems(tensor.shape) * size_bytes(tensor.type);
    tensor.role = program::Role::Constant;
    tensor.data = std::make_shared<const program::Bytes>(static_cast<std::size_t>(bytes));
    std::erase(program.inputs, id);
  }

  const MapBlock &block_;
  std::string x_, y_, filter_, rows_, columns_;
  std::string text_, outputs_;
  int number_ = 0;
};

constexpr std::int64_t kSmallBatch = 32;
constexpr std::int64_t kLargestSize = 56; // of larger batches, whose tensors take gigabytes

// In half precision: a map before a convolution, before the gradient of its input, of its filter.
std::vector<MapBlock> half_blocks() {
  struct Row {
    const char *name;
    std::int64_t size, channels, outputs, taps, stride;
    bool by_input, by_filter;
  };
  const std::vector<Row> rows = {
      {"bn_conv3_56_64", 56, 64, 64, 3, 1, false, false},
      {"bn_conv3_28_128", 28, 128, 128, 3, 1, false, false},
      {"bn_conv3_56_128", 56, 128, 128, 3, 1, false, false},
      {"bn_conv3_56_128_32", 56, 128, 32, 3, 1, false, false},
      {"bn_conv3_28_128_32", 28, 128, 32, 3, 1, false, false},
      {"bn_conv3_112_128", 112, 128, 128, 3, 1, false, false},
      {"bn_conv3_224_64", 224, 64, 64, 3, 1, false, false},
      {"bn_conv1_28_128_512", 28, 128, 512, 1, 1, false, false},
      {"mask_by_input_56_64", 56, 64, 64, 3, 1, true, false},
      {"mask_by_input_28_128", 28, 128, 128, 3, 1, true, false},
      {"mask_by_input_56_64_s2_128", 56, 64, 128, 3, 2, true, false},
      {"mask_by_input_28_128_s2_256", 28, 128, 256, 3, 2, true, false},
      {"mask_by_input_56_256_1x1_s2_512", 56, 256, 512, 1, 2, true, false},
      {"both_by_filter_28_128", 28, 128, 128, 3, 1, false, true}};
  std::vector<MapBlock> all;
  for (const Row &row : rows)
    all.push_back({.name = row.name,
                   .channels = row.channels,
                   .size = row.size,
                   .outputs = row.outputs,
                   .taps = row.taps,
                   .stride = row.stride,
                   .by_input = row.by_input,
                   .by_filter = row.by_filter,
                   .is_forward = !row.by_input && !row.by_filter});
  for (const std::int64_t channels : {64, 128, 256, 512})
    for (const std::int64_t size : {56, 28, 14})
      all.push_back({.name = fmt::format("bn_conv1_{}_{}_128", size, channels),
                     .channels = channels,
                     .size = size,
                     .outputs = 128,
                     .taps = 1,
                     .is_forward = true});
  return all;
}

} // namespace

std::vector<MapBlock> map_blocks() {
  std::vector<MapBlock> all = {
      {"mask_by_input_56_64_s2_128", 1, 64, 56, 128, 3, 2, true, false},
      {"mask_by_input_56_64_s2_128_b32", 32, 64, 56, 128, 3, 2, true},
      {"mask_by_input_28_128_s2_256_b32", 32, 128, 28, 256, 3, 2, true},
      {"mask_by_input_56_256_1x1_s2_512_b32", 32, 256, 56, 512, 1, 2, true},
      {"mask_by_input_112_16_s2_32_b32", 32, 16, 112, 32, 3, 2, true},
      {"both_by_filter_56_64_b32", 32, 64, 56, 64, 3, 1, false, true},
      {"both_by_filter_56_64_1x1_256_b32", 32, 64, 56, 256, 1, 1, false, true},
      {"backward_56_64_s2_128_b32", 32, 64, 56, 128, 3, 2, true, true}};
  for (const std::int64_t batch : {kSmallBatch, std::int64_t{256}})
    for (MapBlock &block : half_blocks()) {
      if (batch > kSmallBatch && block.size > kLargestSize)
        continue;
      block.name += fmt::format("_f16_b{}", batch);
      block.batch = batch;
      block.type = "f16";
      all.push_back(std::move(block));
    }
  return all;
}

std::vector<poly::PlacedGroup> map_groups(const MapBlock &block, Fusing how, const Target &target) {
  program::StoredProgram stored = program::assign_storage(Maker(block).take());
  if (how == Fusing::Forced)
    return poly::make_groups(stored, {.level = poly::FuseLevel::All});
  std::vector<poly::PlacedGroup> groups =
      how == Fusing::Judged ? search::make_groups(stored, {.level = poly::FuseLevel::All}, target)
                            : poly::make_groups(stored, {.level = poly::FuseLevel::Pointwise});
  const std::size_t buffers = stored.buffers.size();
  groups = search::split_groups(std::move(groups), stored, target, {});
  return how == Fusing::Judged ? search::feed_parts(std::move(groups), stored, buffers,
                                                    {.level = poly::FuseLevel::All}, target)
                               : groups;
}

} // namespace tilefuse::bench
