// SPDX-License-Identifier: Apache-2.0
#include "schedule/text.h"

#include <fmt/format.h>

#include "nest/index.h"

namespace tilefuse::schedule {
namespace {

using nest::Nest;

std::string factors(const Nest &nest, const Schedule &schedule, std::int64_t Split::*member) {
  std::string text;
  for (const IndexId i : schedule.splits.ids()) {
    const bool reduced = !is_output(nest, i);
    const std::int64_t value = schedule.splits[i].*member;
    std::int64_t usual = member == &Split::roll ? 0 : 1;
    if (reduced && member == &Split::tile)
      usual = extent(nest, i);
    const bool always = member == &Split::tile && !reduced;
    if (always || value != usual)
      text += fmt::format(" {}:{}", nest.indices[i].name, value);
  }
  return text;
}

std::string marked(const Nest &nest, const Schedule &schedule, bool Split::*member) {
  std::string text;
  for (const IndexId i : schedule.splits.ids())
    if (schedule.splits[i].*member)
      text += " " + nest.indices[i].name;
  return text;
}

std::string lane_text(const Nest &nest, const Schedule &schedule) {
  if (schedule.lane_parts.empty())
    return factors(nest, schedule, &Split::lane);
  std::string text;
  for (const LanePart &part : schedule.lane_parts)
    text += fmt::format(" {}:{}", nest.indices[part.index].name, part.count);
  return text;
}

std::string registers_text(int registers) {
  return registers == 0 ? std::string() : fmt::format(" registers {}", registers);
}

// "m16n8k16.f16.f32 m 128 warps 2 2".
std::string core_text(const Core &core) {
  std::string text =
      fmt::format(" {} m {} {} {} {}", core.op->name, core.rows,
                  is_wgmma(*core.op) ? "warpgroups" : "warps", core.warp_rows, core.warp_columns);
  text += core.swap_ab ? " swap_ab" : "";
  return text + (core.k_inner ? " k_inner" : "");
}

// "halo tma stages 3", "tma stages 4 epi_n 32".
std::string pipe_text(const Pipe &pipe) {
  std::string text;
  if (pipe.footprint != Footprint::Step)
    text += fmt::format(" {}", kFootprints[pipe.footprint]);
  text += fmt::format(" {}", kEngines[pipe.engine]);
  text += fmt::format(" stages {}", pipe.stages);
  return pipe.epi_n == 0 ? text : fmt::format("{} epi_n {}", text, pipe.epi_n);
}

std::string load_text(const LoadRole &load) {
  std::string text = registers_text(load.registers) + (load.early ? " early" : "");
  return load.lead == 0 ? text : text + fmt::format(" lead {}", load.lead);
}

std::string transform_text(const TransformRole &transform) {
  std::string text =
      transform.groups == 0 ? std::string() : fmt::format(" groups {}", transform.groups);
  return text + registers_text(transform.registers) + (transform.selects ? " select" : "");
}

std::string math_text(const MathRole &math) {
  std::string text = math.instances == 1 ? "" : fmt::format(" pingpong {}", math.instances);
  return text + registers_text(math.registers) + (math.tests_rows ? " test_rows" : "");
}

// "persistent 132 cluster 2 1 split_k 4 raster m".
std::string tiles_text(const TileOrder &tiles) {
  std::string text;
  if (tiles.persistent != 0)
    text += fmt::format(" persistent {}", tiles.persistent);
  if (tiles.cluster_m * tiles.cluster_n != 1)
    text += fmt::format(" cluster {} {}", tiles.cluster_m, tiles.cluster_n);
  if (tiles.split_k != 1)
    text += fmt::format(" split_k {}", tiles.split_k);
  return text + (tiles.raster == Raster::Rows ? " raster m" : "");
}

std::string stage_text(const Nest &nest, const Pipe &pipe) {
  std::string text;
  if (pipe.at)
    text += " at " + nest.indices[*pipe.at].name;
  if (pipe.layout != Layout::Plain)
    text += fmt::format(" {}", kLayouts[pipe.layout]);
  if (pipe.is_async())
    text += fmt::format(" {}", kEngines[pipe.engine]);
  if (pipe.stages != 1)
    text += fmt::format(" stages {}", pipe.stages);
  if (pipe.width != 1)
    text += fmt::format(" width {}", pipe.width);
  return pipe.rounds == Rounds::Loop ? text : fmt::format("{} {}", text, kRounds[pipe.rounds]);
}

class Printer {
public:
  Printer(const Nest &nest, const Schedule &schedule) : nest_(nest), schedule_(schedule) {}
  std::string run();

private:
  void line(std::string_view word, const std::string &rest) {
    if (!rest.empty())
      text_ += fmt::format("  {:<6}{}\n", word, rest);
  }
  void input(std::size_t number);
  void matrix();

  const Nest &nest_;
  const Schedule &schedule_;
  std::string text_;
};

void Printer::input(std::size_t number) {
  const Fill fill = schedule_.fills[number];
  const Pipe &pipe = schedule_.pipes[number];
  const std::string name = fmt::format(" {}", number);
  if (is_packed(fill))
    line("pack", name);
  if (is_staged(fill))
    line(fill == Fill::Produced ? "produce" : "stage", name + stage_text(nest_, pipe));
  if (has_core(schedule_))
    line("pipe", name + pipe_text(pipe));
  if (pipe.prefetch)
    line("prefetch", name);
  if (pipe.stream != 0)
    line("pipeline", fmt::format("{} registers {}", name, pipe.stream));
}

void Printer::matrix() {
  if (schedule_.extra.stages != 0)
    line("pipe", " extra" + pipe_text(schedule_.extra));
  const auto role = [&](std::string_view name, const std::string &rest) {
    line("role", rest.empty() ? rest : fmt::format(" {}{}", name, rest));
  };
  role("load", load_text(schedule_.roles.load));
  role("transform", transform_text(schedule_.roles.transform));
  role("math", math_text(schedule_.roles.math));
  line("order", tiles_text(schedule_.tiles));
}

std::string Printer::run() {
  text_ = fmt::format("schedule {} {}\n", schedule_.name, to_string(schedule_.lanes));
  line("tile", factors(nest_, schedule_, &Split::tile));
  line("lane", lane_text(nest_, schedule_));
  line("vec", factors(nest_, schedule_, &Split::vec));
  line("reg", factors(nest_, schedule_, &Split::keep));
  if (has_core(schedule_))
    line(is_wgmma(*schedule_.core.op) ? "wgmma" : "mma", core_text(schedule_.core));
  if (schedule_.dot != nullptr)
    line("dot", fmt::format(" {}", schedule_.dot->name));
  std::string order;
  for (const IndexId i : schedule_.order)
    order += " " + nest_.indices[i].name;
  line("loop", order);
  line("blocked", marked(nest_, schedule_, &Split::near));
  line("slide", factors(nest_, schedule_, &Split::roll));
  line("trim", marked(nest_, schedule_, &Split::clip));
  line("peel", marked(nest_, schedule_, &Split::edge));
  for (std::size_t k = 0; k < schedule_.fills.size(); ++k)
    input(k);
  matrix();
  if (schedule_.store != Store::Direct)
    line("store", fmt::format(" {}", kStores[schedule_.store]));
  return std::move(text_);
}

} // namespace

std::string to_text(const Nest &nest, const Schedule &schedule) {
  return Printer(nest, schedule).run();
}

} // namespace tilefuse::schedule
