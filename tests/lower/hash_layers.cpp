// SPDX-License-Identifier: Apache-2.0
#include "lower/hash_rows.h"

#include <set>
#include <utility>

#include <fmt/format.h>

#include "../bench/gpu_odd.h"
#include "../bench/gpu_work.h"
#include "../bench/layers.h"
#include "../bench/target_device.h"
#include "model/compile.h"
#include "target/rows.h"

namespace tilefuse::testing {
namespace {

using bench::ConvProblem;
using bench::Direction;

struct List {
  std::string name;
  std::vector<ConvProblem> problems;
};

struct Row {
  const char *name;
  std::int64_t channels, size, outputs;
  std::int64_t kernel = 1, stride = 1, dilation = 1, pad = 0, groups = 1;
};

std::vector<ConvProblem> problems_of(const std::vector<Row> &rows) {
  std::vector<ConvProblem> problems;
  for (const Row &row : rows)
    problems.push_back({.name = row.name,
                        .channels = row.channels,
                        .height = row.size,
                        .width = row.size,
                        .outputs = row.outputs,
                        .taps_y = row.kernel,
                        .taps_x = row.kernel,
                        .stride = row.stride,
                        .dilation = row.dilation,
                        .pad = row.pad,
                        .groups = row.groups});
  return problems;
}

std::vector<ConvProblem> resnet50() {
  std::vector<ConvProblem> problems;
  for (const bench::Layer &layer : bench::layers_of("resnet50"))
    problems.push_back({.name = layer.name,
                        .channels = layer.channels,
                        .height = layer.height,
                        .width = layer.width,
                        .outputs = layer.outputs,
                        .taps_y = layer.kernel,
                        .taps_x = layer.kernel,
                        .stride = layer.stride,
                        .pad = layer.pad});
  return problems;
}

std::vector<ConvProblem> vgg16() {
  std::vector<Row> rows = {
      {"conv1_1", 3, 224, 64},    {"conv1_2", 64, 224, 64},  {"conv2_1", 64, 112, 128},
      {"conv2_2", 128, 112, 128}, {"conv3_1", 128, 56, 256}, {"conv3_2", 256, 56, 256},
      {"conv4_1", 256, 28, 512},  {"conv4_2", 512, 28, 512}, {"conv5", 512, 14, 512}};
  for (Row &row : rows) {
    row.kernel = 3;
    row.pad = 1;
  }
  return problems_of(rows);
}

Row depthwise(const char *name, std::int64_t channels, std::int64_t size, std::int64_t stride) {
  return {name, channels, size, channels, 3, stride, 1, 1, channels};
}

std::vector<ConvProblem> mobilenet_v2() {
  return problems_of({{"first", 3, 224, 32, 3, 2, 1, 1},   depthwise("deep_32", 32, 112, 1),
                      {"project_32_16", 32, 112, 16},      {"expand_16_96", 16, 112, 96},
                      depthwise("deep_96s2", 96, 112, 2),  {"project_96_24", 96, 56, 24},
                      {"expand_24_144", 24, 56, 144},      depthwise("deep_144", 144, 56, 1),
                      {"project_144_24", 144, 56, 24},     depthwise("deep_144s2", 144, 56, 2),
                      {"project_144_32", 144, 28, 32},     {"expand_32_192", 32, 28, 192},
                      depthwise("deep_192", 192, 28, 1),   {"project_192_32", 192, 28, 32},
                      depthwise("deep_192s2", 192, 28, 2), {"project_192_64", 192, 14, 64},
                      {"expand_64_384", 64, 14, 384},      depthwise("deep_384", 384, 14, 1),
                      {"project_384_64", 384, 14, 64},     {"project_384_96", 384, 14, 96},
                      {"expand_96_576", 96, 14, 576},      depthwise("deep_576", 576, 14, 1),
                      {"project_576_96", 576, 14, 96},     depthwise("deep_576s2", 576, 14, 2),
                      {"project_576_160", 576, 7, 160},    {"expand_160_960", 160, 7, 960},
                      depthwise("deep_960", 960, 7, 1),    {"project_960_160", 960, 7, 160},
                      {"project_960_320", 960, 7, 320},    {"last", 320, 7, 1280}});
}

std::vector<ConvProblem> grouped() {
  return problems_of({{"g32_56_128", 128, 56, 128, 3, 1, 1, 1, 32},
                      {"g32_56_256s2", 256, 56, 256, 3, 2, 1, 1, 32},
                      {"g32_14_512", 512, 14, 512, 3, 1, 1, 1, 32},
                      {"g3_28_240_1x1", 240, 28, 240, 1, 1, 1, 0, 3},
                      {"g2_27_96_256_5x5", 96, 27, 256, 5, 1, 1, 2, 2},
                      {"g4_15_20_28s2", 20, 15, 28, 3, 2, 1, 1, 4}});
}

std::vector<ConvProblem> odd() {
  std::vector<ConvProblem> problems = bench::odd_problems();
  for (ConvProblem &more : problems_of({{"one_to_one", 1, 13, 1, 3, 1, 1, 1},
                                        {"dilated_strided", 24, 31, 40, 3, 2, 2, 2},
                                        {"no_padding", 17, 11, 33, 4, 1, 1, 0},
                                        {"one_pixel", 100, 1, 10}}))
    problems.push_back(std::move(more));
  return problems;
}

std::vector<List> lists() {
  std::vector<List> all = {{"resnet50", resnet50()},
                           {"vgg16", vgg16()},
                           {"mobilenet_v2", mobilenet_v2()},
                           {"grouped", grouped()},
                           {"odd", odd()}};
  std::set<std::string> known; // equal layers of two lists are one row
  for (List &list : all)
    std::erase_if(list.problems, [&](const ConvProblem &problem) {
      return problem.dims == 2 && !known.insert(to_text(problem)).second;
    });
  return all;
}

// A row of devices/ and what is computed for it.
struct Column {
  std::string row;
  DType type = DType::F16;
  bool tf32 = false;
  std::string name() const {
    return fmt::format("{}:{}", row, tf32 ? "tf32" : std::string(to_string(type)));
  }
};

std::vector<Column> columns_of(const std::string &list, Direction direction, std::int64_t batch) {
  std::vector<Column> columns = {
      {"cuda_sm80"},
      {"cuda_sm90"},
      {"cpu_avx2", DType::F32},
      {"cpu_avx512", DType::F32},
      {"opencl_gpu", DType::F32},
      {"opencl_nvidia", DType::F32},
  };
  if (batch != 32 || (list != "resnet50" && list != "odd"))
    return columns;
  for (const char *row : {"cuda_sm80", "cuda_sm90"}) {
    columns.push_back({row, DType::BF16});
    columns.push_back({row, DType::F32, true});
    if (direction == Direction::Forward)
      columns.push_back({row, DType::I8});
  }
  return columns;
}

// All launches of a program, chosen as a session without a cache does.
Cell chosen(const program::Program &program, const Column &column) {
  const bench::TargetDevice device(target_row(column.row));
  search::KeptChoices kept(nullptr, device.target());
  model::Compiled compiled = model::choose_kernels(program, device, kept, {});
  Cell cell{column.name(), {}, {}};
  for (const model::CompiledLaunch &each : compiled.launches)
    add_launch(cell, each.launch, device.target());
  return cell;
}

std::vector<Cell> cells_of(ConvProblem problem, const std::string &list, Direction direction) {
  std::vector<Cell> cells;
  if (direction == Direction::Forward)
    problem.epilogue = bench::Epilogue::Relu;
  for (const Column &column : columns_of(list, direction, problem.batch)) {
    problem.type = column.type;
    problem.tf32 = column.tf32;
    cells.push_back(chosen(program_of(problem, direction), column));
  }
  return cells;
}

} // namespace

std::vector<HashRow> layer_rows() {
  std::vector<HashRow> rows;
  for (const std::int64_t batch : {1, 32, 256})
    for (const List &list : lists())
      for (ConvProblem problem : list.problems)
        for (const Direction direction :
             {Direction::Forward, Direction::InputGradient, Direction::FilterGradient}) {
          problem.batch = batch;
          rows.push_back({.name = fmt::format("layers/{}/{}/{}/n{}", list.name, problem.name,
                                              to_string(direction), batch),
                          .part = batch == 32 ? Part::Slow : Part::Nightly,
                          .cells = [problem, name = list.name, direction] {
                            return cells_of(problem, name, direction);
                          }});
        }
  return rows;
}

} // namespace tilefuse::testing
