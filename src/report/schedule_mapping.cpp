// SPDX-License-Identifier: Apache-2.0
#include "report/schedule_mapping.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/index.h"
#include "nest/index.h"
#include "report/core_mapping.h"
#include "report/flat_table.h"
#include "schedule/blocks.h"
#include "schedule/staging.h"
#include "schedule/text.h"

namespace tilefuse::report {
namespace {

using nest::IndexId;
using nest::Nest;
using nest::Operand;
using schedule::Fill;
using schedule::Schedule;

std::string linear_text(const nest::Linear &form, const Nest &nest) {
  program::Affine affine;
  for (const std::int64_t factor : form.coeff)
    affine.coeff.emplace_back(factor);
  affine.constant = form.constant;
  std::vector<std::string> names;
  for (const nest::Index &index : nest.indices)
    names.push_back(index.name);
  return program::to_text(affine, names);
}

void add_column(FlatTable &table, const Nest &nest, const Operand &operand, std::string name) {
  nest::Linear flat = nest::flat(operand, nest.indices.size());
  table.columns.push_back({std::move(name), flat.constant, std::move(flat.coeff)});
}

// "staged in each chunk of c, odd strides, two buffers"
std::string stage_words(const Nest &nest, const Schedule &schedule, std::size_t input) {
  const schedule::Pipe &stage = schedule.pipes[input];
  std::string text = stage.at
                         ? fmt::format("staged in each chunk of {}", nest.indices[*stage.at].name)
                         : "staged once per block";
  if (stage.layout != schedule::Layout::Plain)
    text += fmt::format(", {}", schedule::kLayouts[stage.layout]);
  if (stage.is_async())
    text += fmt::format(", {} buffers filled by asynchronous copies", stage.stages);
  return text + (stage.is_double_buffered() ? ", two buffers" : "");
}

std::string stage_text(const Nest &nest, const Schedule &schedule, std::size_t input) {
  const int number = static_cast<int>(input);
  const schedule::StageTile tile = schedule::stage_tile(nest, schedule, number);
  const schedule::Source source = schedule::source_of(nest, schedule, number);
  std::size_t width = 4;
  std::vector<std::string> names;
  for (const schedule::StageDim &dim : tile.dims) {
    names.push_back(linear_text(source.dims[at(dim.dim)].at, nest));
    width = std::max(width, names.back().size() + 1);
  }
  std::string text =
      fmt::format("{:>{}}{:>10}{:>10}{:>10}\n", "", width, "Range", "Global", "Local");
  for (std::size_t d = 0; d < tile.dims.size(); ++d) {
    const schedule::StageDim &dim = tile.dims[d];
    text += fmt::format("{:>{}}{:>10}{:>10}{:>10}{}\n", names[d], width, dim.range,
                        source.dims[at(dim.dim)].stride, dim.stride,
                        dim.checked ? "  padded outside the tensor" : "");
  }
  return text + fmt::format("size {} ({} bytes)\n", schedule::buffer_elems(schedule, number, tile),
                            schedule::stage_bytes(nest, schedule, number));
}

std::string pack_text(const Nest &nest, const Schedule &schedule, std::size_t input) {
  const schedule::PackLayout layout =
      schedule::pack_layout(nest, schedule, static_cast<int>(input));
  std::vector<std::string> dims;
  for (const schedule::PackDim &dim : layout.dims)
    dims.push_back(fmt::format("{} {}{}", nest.indices[dim.index].name, dim.count,
                               dim.step > 1 ? fmt::format(" of {}", dim.step) : ""));
  return fmt::format("outermost first: {}\nsize {}\n", fmt::join(dims, ", "), layout.elems);
}

// "y 7, x 2" for the indices of which `count` is above 1.
template <class Count> std::string counts(const Nest &nest, const Count &count) {
  std::vector<std::string> parts;
  for (const IndexId i : nest.indices.ids())
    if (count(i) > 1)
      parts.push_back(fmt::format("{} {}", nest.indices[i].name, count(i)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string names_with(const Nest &nest, const Schedule &schedule, bool schedule::Split::*mark) {
  std::vector<std::string> names;
  for (const IndexId i : nest.indices.ids())
    if (schedule.splits[i].*mark)
      names.push_back(nest.indices[i].name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string lanes_text(const Nest &nest, const Schedule &schedule) {
  const std::optional<IndexId> vector = schedule::vector_index(schedule);
  std::string text;
  if (schedule.lanes == LaneKind::WorkItem) {
    std::vector<std::string> digits;
    for (const schedule::LanePart &part : schedule::lane_digits(schedule))
      digits.push_back(fmt::format("{} {}", nest.indices[part.index].name, part.count));
    text = fmt::format("work-items: {}{}{}\n", schedule::group_size(schedule),
                       digits.empty() ? "" : ", slowest first ", fmt::join(digits, ", "));
  }
  if (vector)
    text += fmt::format("lanes: {} vector elements of {}\n", schedule::vector_width(schedule),
                        nest.indices[*vector].name);
  return text.empty() ? "one lane\n" : text;
}

} // namespace

std::string nest_table(const Nest &nest) {
  FlatTable table;
  for (const nest::Index &index : nest.indices) {
    table.names.push_back(index.name);
    table.ranges.push_back(index.extent);
  }
  add_column(table, nest, nest.out, "out");
  for (std::size_t k = 0; k < nest.inputs.size(); ++k)
    add_column(table, nest, nest.inputs[k], fmt::format("in {}", k));
  for (std::size_t k = 0; k < nest.extras.size(); ++k)
    add_column(table, nest, nest.extras[k], fmt::format("extra {}", k));
  return to_text(table);
}

std::string layouts(const poly::Group &group, const Schedule &schedule) {
  if (schedule::has_core(schedule))
    return core_layouts(group, schedule);
  const Nest &nest = group.anchor;
  std::string text;
  for (std::size_t k = 0; k < nest.inputs.size(); ++k) {
    const Fill fill = schedule.fills[k];
    text += fmt::format("input {}: ", k);
    if (fill == Fill::Direct)
      text += "read in place\n";
    if (schedule::is_packed(fill))
      text += "packed at load, " + pack_text(nest, schedule, k);
    if (schedule::is_staged(fill))
      text += stage_words(nest, schedule, k) + "\n" + stage_text(nest, schedule, k);
  }
  return text.empty() ? "no inputs\n" : text;
}

std::string mapping(const Nest &nest, const Schedule &schedule) {
  if (schedule::has_core(schedule))
    return core_mapping(nest, schedule);
  const auto tiles = [&](IndexId i) {
    return (extent(nest, i) + schedule.splits[i].of_block() - 1) / schedule.splits[i].of_block();
  };
  const std::string grid =
      counts(nest, [&](IndexId i) { return is_output(nest, i) ? tiles(i) : 1; });
  const std::string chunks =
      counts(nest, [&](IndexId i) { return is_output(nest, i) ? 1 : tiles(i); });
  const std::string keep = counts(nest, [&](IndexId i) { return schedule.splits[i].keep; });
  std::string text = fmt::format("{} blocks{}{}\n", schedule::blocks(nest, schedule),
                                 grid.empty() ? "" : ": ", grid);
  text += lanes_text(nest, schedule);
  text += fmt::format("registers: {}{}{} accumulators\n", keep, keep.empty() ? "" : " -> ",
                      schedule::accumulators(nest, schedule));
  if (!chunks.empty())
    text += fmt::format("chunks: {}\n", chunks);
  for (const auto &[words, mark] : {std::pair{"taps inside only", &schedule::Split::clip},
                                    std::pair{"bodies for edges", &schedule::Split::edge}}) {
    const std::string marked = names_with(nest, schedule, mark);
    text += marked.empty() ? "" : fmt::format("{}: {}\n", words, marked);
  }
  std::vector<std::string> loops;
  for (const IndexId i : schedule.order)
    loops.push_back(nest.indices[i].name);
  return text + fmt::format("loops, outermost first: {}\n", fmt::join(loops, " "));
}

} // namespace tilefuse::report
