// SPDX-License-Identifier: Apache-2.0
#include "report/schedule_tree_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace tilefuse::report {
namespace {

using poly::FusionStory;
using poly::ScopAccess;
using poly::ScopStatement;

std::string heading(std::string_view what) { return fmt::format("---- {} ----\n", what); }

std::string access_text(const ScopAccess &access) {
  return fmt::format("{}[{}]", access.memory, fmt::join(access.subscripts, ", "));
}

// "4x4", of no loops "1"
std::string by(const std::vector<std::int64_t> &sizes) {
  return sizes.empty() ? "1" : fmt::format("{}", fmt::join(sizes, "x"));
}

std::string statements(const FusionStory &story) {
  std::size_t widest = 0;
  std::vector<std::string> left;
  for (const ScopStatement &statement : story.scop.statements) {
    left.push_back(fmt::format("{} -> {}", instance_text(statement), time_text(statement)));
    widest = std::max(widest, left.back().size());
  }
  std::string text = heading("statements");
  for (std::size_t s = 0; s < left.size(); ++s) {
    const ScopStatement &statement = story.scop.statements[s];
    std::vector<std::string> reads;
    for (const ScopAccess &access : statement.reads)
      reads.push_back(access_text(access));
    text += fmt::format("{:{}}   {}{}{}\n", left[s], widest, access_text(statement.write),
                        reads.empty() ? "" : " from ", fmt::join(reads, ", "));
  }
  return text + "domain " + domain_text(story.scop) + "\n";
}

std::string dependences(const FusionStory &story) {
  std::string text = heading("dependences");
  for (const poly::StoryDependence &dependence : story.dependences)
    text += fmt::format("{} before {}: {}\n", dependence.from, dependence.to, dependence.pairs);
  return text;
}

std::string conflict(const FusionStory &story) {
  std::string text = heading("tiling both spaces");
  text += fmt::format("{} by {} and {} by {} {}fit together:\n", story.own_tiled,
                      by(story.own_tile), fmt::join(story.consumers, ", "), by(story.tile),
                      story.tiles_fit ? "" : "do not ");
  for (const poly::StoryConflict &at : story.conflicts)
    text +=
        fmt::format("tile {} of {} needs {}: in tile{} {} of {}\n", at.tile, story.consumers.back(),
                    at.needs, at.in.size() == 1 ? "" : "s", fmt::join(at.in, " "), story.own_tiled);
  return text + fmt::format("{}only {} is tiled, and what a tile needs is derived from it\n",
                            story.tiles_fit ? "" : "so ", fmt::join(story.consumers, ", "));
}

std::string needs(const FusionStory &story) {
  std::string text = heading("what a tile needs");
  text += "elements  " + story.footprint + "\n";
  for (const poly::StoryProducer &producer : story.needs)
    text += fmt::format("extension {}\n{}: {} points at most, executed {} for {}, ratio {:.4f}\n",
                        producer.extension, producer.statement, by(producer.box), producer.executed,
                        producer.distinct,
                        static_cast<double>(producer.executed) /
                            static_cast<double>(std::max<std::int64_t>(producer.distinct, 1)));
  return text;
}

std::string mapping(const FusionStory &story) {
  const std::vector<std::string> &loops = story.scop.statements.back().indices;
  std::string text = heading("grid and block");
  text += fmt::format("kernel: grid {}, block {}\n", by(story.grid), by(story.block));
  for (std::size_t i = 0; i < story.tile.size(); ++i)
    text +=
        fmt::format("  {0}: block b{1} = floor({0}/{2}) of {3}, thread t{1} = {0} mod {2} of {4}\n",
                    loops[i], i, story.tile[i], story.grid[i], story.block[i]);
  for (const poly::StoryProducer &producer : story.needs)
    text +=
        fmt::format("  {}: its box of {} is dealt to the threads of the block, then a barrier\n",
                    producer.statement, by(producer.box));
  return text;
}

} // namespace

std::string to_text(const FusionStory &story) {
  std::string text = statements(story) + dependences(story);
  text += heading("tree") + poly::to_text(story.original);
  text += conflict(story) + needs(story);
  text += heading("tree, tiled") + poly::to_text(story.tiled);
  if (!story.fused) {
    text += heading("not fused");
    for (const std::string &refusal : story.refusals)
      text += refusal + "\n";
    return text + heading("loops") + story.loops_apart;
  }
  text += heading("tree, fused") + poly::to_text(*story.fused);
  for (const std::string &kept : story.kept)
    text += kept + "\n";
  return text + mapping(story) + heading("loops before") + story.loops_apart + heading("loops") +
         story.loops_fused;
}

} // namespace tilefuse::report
