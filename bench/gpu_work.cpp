// SPDX-License-Identifier: Apache-2.0
#include "gpu_work.h"

#include <fmt/format.h>

#include <string_view>

#include "base/error.h"
#include "model/compile.h"
#include "model/passes.h"
#include "poly/post_ops.h"
#include "program/gradient/gradient.h"
#include "search/network/fusion.h"

namespace tilefuse::bench {
namespace {

// The statements behind the sum %2: what the epilogue says, of the output's type.
std::string epilogue_text(const ConvProblem &p, const std::string &out) {
  const bool is_whole = p.type == DType::I8;
  const std::string type(to_string(p.type));
  std::string value = is_whole ? "f32($0) * $1" : "$0";
  std::string args = "%2";
  std::string leaves;
  if (is_whole) {
    leaves += fmt::format("  const %3 \"scale\" : f32[{}]\n", p.outputs);
    args += ", %3";
  }
  if (p.epilogue == Epilogue::Full) {
    const int bias = is_whole ? 4 : 3;
    const std::string real = is_whole ? "f32" : type;
    leaves += fmt::format("  const %{} \"bias\" : {}[{}]\n  input %{} \"added\" : {}{}\n", bias,
                          real, p.outputs, bias + 1, type, out);
    args += fmt::format(", %{}, %{}", bias, bias + 1);
    value += is_whole ? " + $2 + f32($3)" : " + $1 + $2";
  }
  const int result = 3 + (is_whole ? 1 : 0) + (p.epilogue == Epilogue::Full ? 2 : 0);
  const bool clips = p.epilogue != Epilogue::Plain;
  if (is_whole)
    value = fmt::format("i8(max(min(round({}), 127), {}))", value, clips ? "0" : "-128");
  else if (clips)
    value = fmt::format("max({}, 0)", value);
  if (!is_whole && !clips)
    return "  output %2\n";
  return fmt::format("{}  %{} \"O\" : {}{} = map[{}]({}) from \"bench\"\n  output %{}\n", leaves,
                     result, type, out, args, value, result);
}

// One spatial dimension of the data, by the names of its point and tap.
struct Axis {
  const char *point;
  const char *tap;
  std::int64_t size, taps, out;
};

std::vector<Axis> axes_of(const ConvProblem &p) {
  std::vector<Axis> axes = {{"x", "s", p.width, p.taps_x, p.out_width()}};
  if (p.dims > 1)
    axes.insert(axes.begin(), {"y", "r", p.height, p.taps_y, p.out_height()});
  if (p.dims > 2)
    axes.insert(axes.begin(), {"z", "q", p.front, p.taps_y, p.out_front()});
  return axes;
}

// I[n][z][y][x][c], K[m][q][r][s][c], of as many dimensions as there are. With groups the channels
// of a group are neighbours on both sides.
std::string program_text(const ConvProblem &p, bool constant_filter) {
  const std::string type(to_string(p.type));
  const bool grouped = p.groups > 1;
  const std::int64_t depth = p.channels / p.groups, width = p.outputs / p.groups;
  std::string data, filter, out, points, taps, at, tap_at;
  for (const Axis &axis : axes_of(p)) {
    data += fmt::format(", {}", axis.size);
    filter += fmt::format(", {}", axis.taps);
    out += fmt::format(", {}", axis.out);
    points += fmt::format(", {}", axis.point);
    taps += fmt::format(", {}", axis.tap);
    at += fmt::format(", {}*{} + {}*{} - {}", p.stride, axis.point, p.dilation, axis.tap, p.pad);
    tap_at += fmt::format(", {}", axis.tap);
  }
  const std::string shape = fmt::format("[{}{}, {}]", p.batch, out, p.outputs);
  const std::string channel = grouped ? fmt::format("{}*g + m", width) : "m";
  return fmt::format(
      "program \"conv\" {{\n  input %0 \"I\" : {0}[{1}{2}, {3}]\n  {4} %1 \"K\" : {0}[{5}{6}, "
      "{7}]\n"
      "  %2 \"T\" : {8}{9} = sum[n{10}{11}, m{12}, c](%0[n{13}, {14}] * %1[{15}{16}, c]) -> "
      "[n{10}, {15}]{17} from \"bench\"\n{18}}}\n",
      type, p.batch, data, p.channels, constant_filter ? "const" : "input", p.outputs, filter,
      depth, p.type == DType::I8 ? "i32" : type, shape, points, grouped ? ", g" : "", taps, at,
      grouped ? fmt::format("{}*g + c", depth) : "c", channel, tap_at,
      grouped ? fmt::format(" where 0 <= m < {}", width) : "", epilogue_text(p, shape));
}

// Channels in blocks: I[n][c / 32][y][x][32], K[c / 32][r][s][m][32], scales per channel.
std::string blocked_text(const ConvProblem &p) {
  constexpr std::int64_t kBlock = 32;
  if (p.type != DType::I8 || p.channels % kBlock != 0 || p.outputs % kBlock != 0)
    throw Error(ErrorCode::Unsupported,
                fmt::format("{}: blocks of {} channels of i8 only", to_text(p), kBlock));
  const std::int64_t in = p.channels / kBlock, out = p.outputs / kBlock;
  const auto along = [&](const char *point, const char *tap) {
    return fmt::format("{}*{} + {}*{} - {}", p.stride, point, p.dilation, tap, p.pad);
  };
  const std::string shape =
      fmt::format("[{}, {}, {}, {}, {}]", p.batch, out, p.out_height(), p.out_width(), kBlock);
  return fmt::format(
      "program \"conv\" {{\n  input %0 \"I\" : i8[{0}, {1}, {2}, {3}, {4}]\n"
      "  const %1 \"K\" : i8[{1}, {5}, {6}, {7}, {4}]\n"
      "  %2 \"T\" : i32{8} = sum[n, mo, y, x, mi, co, r, s, ci](%0[n, co, {9}, {10}, ci] * "
      "%1[co, r, s, {4}*mo + mi, ci]) -> [n, mo, y, x, mi] from \"bench\"\n"
      "  const %3 \"scale\" : f32[{11}, 1, 1, {4}]\n"
      "  %4 \"O\" : i8{8} = map[%2, %3](i8(max(min(round(f32($0) * $1), 127), {12}))) from "
      "\"bench\"\n  output %4\n}}\n",
      p.batch, in, p.height, p.width, kBlock, p.taps_y, p.taps_x, p.outputs, shape, along("y", "r"),
      along("x", "s"), out, p.epilogue == Epilogue::Plain ? -128 : 0);
}

// Zeros, for what needs to know that there will be some.
void give_data(program::Program &program) {
  for (program::Tensor &tensor : program.tensors)
    if (tensor.role == program::Role::Constant)
      tensor.data = std::make_shared<const program::Bytes>(
          static_cast<std::size_t>(program::elems(tensor.shape) * size_bytes(tensor.type)));
}

} // namespace

double ConvProblem::flops() const {
  double products = static_cast<double>(batch * outputs * (channels / groups));
  for (const Axis &axis : axes_of(*this))
    products *= static_cast<double>(axis.out * axis.taps);
  return 2 * products;
}

std::string to_text(const ConvProblem &p) {
  return fmt::format("n{} c{} {}x{} k{} {}x{} s{} d{} p{}{} {}", p.batch, p.channels, p.height,
                     p.width, p.outputs, p.taps_y, p.taps_x, p.stride, p.dilation, p.pad,
                     p.groups > 1 ? fmt::format(" g{}", p.groups) : "",
                     tilefuse::to_string(p.type));
}

std::string to_string(Direction direction) {
  switch (direction) {
  case Direction::Forward:
    return "forward";
  case Direction::InputGradient:
    return "input_gradient";
  case Direction::FilterGradient:
    return "filter_gradient";
  }
  return {};
}

program::Program program_of(const ConvProblem &problem, Direction direction) {
  const bool is_forward = direction == Direction::Forward;
  program::Program program = program::parse_program(
      problem.in_blocks ? blocked_text(problem) : program_text(problem, is_forward));
  if (!is_forward) {
    const std::size_t by = direction == Direction::InputGradient ? 0 : 1;
    program = program::gradient(program, {.by = {program.inputs[by]}});
  }
  program = model::simplify(program);
  program.tf32 = problem.tf32;
  give_data(program);
  return program;
}

Work work_of(const ConvProblem &problem, Direction direction, const Target &target) {
  const program::Program program = program_of(problem, direction);
  search::KeptChoices kept(nullptr, target);
  Work work{.stored = program::assign_storage(model::lay_out_for(program, target, kept))};
  work.groups = search::make_groups(work.stored, {}, target);
  return work;
}

} // namespace tilefuse::bench
