// SPDX-License-Identifier: Apache-2.0
#include "gpu_work.h"

#include <fmt/format.h>

#include <string_view>

#include "base/error.h"
#include "model/compile.h"
#include "program/gradient.h"

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

std::string program_text(const ConvProblem &p, bool constant_filter) {
  const std::string type(to_string(p.type));
  const std::string out =
      fmt::format("[{}, {}, {}, {}]", p.batch, p.out_height(), p.out_width(), p.outputs);
  const auto along = [&](const char *point, const char *tap) {
    return fmt::format("{}*{} + {}*{} - {}", p.stride, point, p.dilation, tap, p.pad);
  };
  return fmt::format("program \"conv\" {{\n  input %0 \"I\" : {0}[{1}, {2}, {3}, {4}]\n"
                     "  {5} %1 \"K\" : {0}[{6}, {7}, {8}, {4}]\n"
                     "  %2 \"T\" : {9}{10} = sum[n, y, x, m, r, s, c](%0[n, {11}, {12}, c] * "
                     "%1[m, r, s, c]) -> [n, y, x, m] from \"bench\"\n{13}}}\n",
                     type, p.batch, p.height, p.width, p.channels,
                     constant_filter ? "const" : "input", p.outputs, p.taps_y, p.taps_x,
                     p.type == DType::I8 ? "i32" : type, out, along("y", "r"), along("x", "s"),
                     epilogue_text(p, out));
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
  return 2.0 * static_cast<double>(batch * out_height() * out_width()) *
         static_cast<double>(outputs * channels * taps_y * taps_x);
}

std::string to_text(const ConvProblem &p) {
  return fmt::format("n{} c{} {}x{} k{} {}x{} s{} d{} p{} {}", p.batch, p.channels, p.height,
                     p.width, p.outputs, p.taps_y, p.taps_x, p.stride, p.dilation, p.pad,
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

Work work_of(const ConvProblem &problem, Direction direction, const Target &target) {
  const bool is_forward = direction == Direction::Forward;
  program::Program program = program::parse_program(
      problem.in_blocks ? blocked_text(problem) : program_text(problem, is_forward));
  if (!is_forward) {
    const std::size_t by = direction == Direction::InputGradient ? 0 : 1;
    program = program::gradient(program, {.by = {program.inputs[by]}});
  }
  program = model::simplify(program);
  give_data(program);
  Work work{.stored = program::assign_storage(model::lay_out_for(program, target))};
  work.groups = poly::make_groups(work.stored);
  return work;
}

} // namespace tilefuse::bench
