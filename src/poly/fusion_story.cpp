// SPDX-License-Identifier: Apache-2.0
#include "poly/fusion_story.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "poly/isl/legality.h"
#include "poly/isl/schedule_tree_isl.h"
#include "poly/isl/tree_loops.h"
#include "poly/story_tree.h"

namespace tilefuse::poly {
namespace {

constexpr std::int64_t kDefaultTile = 2;

// Loops that the parts of a nest share: those of its initialisation, all where it is one statement.
std::size_t shared_loops(const std::vector<ScopStatement> &statements) {
  std::size_t loops = statements.front().indices.size();
  for (const ScopStatement &statement : statements)
    loops = std::min(loops, statement.indices.size());
  return loops;
}

std::vector<LoopNest> nests_of(const Scop &scop) {
  std::vector<LoopNest> nests;
  std::size_t last = 0;
  for (const ScopStatement &statement : scop.statements) {
    if (nests.empty() || statement.nest != last)
      nests.emplace_back();
    nests.back().statements.push_back(statement);
    last = statement.nest;
  }
  for (LoopNest &nest : nests)
    nest.loops = shared_loops(nest.statements);
  return nests;
}

// The last nest that sums takes in the maps behind it.
void join_followers(std::vector<LoopNest> &nests) {
  const auto sums = [](const LoopNest &nest) {
    return std::any_of(nest.statements.begin(), nest.statements.end(),
                       [](const ScopStatement &s) { return s.is_reduction; });
  };
  const auto last = std::find_if(nests.rbegin(), nests.rend(), sums);
  if (last == nests.rend())
    return;
  const auto anchor = static_cast<std::size_t>(nests.rend() - last) - 1;
  for (std::size_t n = anchor + 1; n < nests.size(); ++n) {
    if (nests[n].loops != nests[anchor].loops)
      throw Error(ErrorCode::Unsupported,
                  nests[n].statements.front().name + " does not have the loops of what it follows",
                  {}, {"the last sum of the program is told of, and maps of its loops behind it"});
    nests[anchor].statements.push_back(nests[n].statements.front());
  }
  nests.resize(anchor + 1);
}

void check_tile(const std::vector<std::int64_t> &tile, std::size_t loops) {
  if (tile.size() > loops)
    throw Error(ErrorCode::Shape, fmt::format("a tile of {} sizes for {} loops of the last nest",
                                              tile.size(), loops));
  if (std::any_of(tile.begin(), tile.end(), [](std::int64_t size) { return size < 1; }))
    throw Error(ErrorCode::Shape, "a tile has at least 1 point of every loop");
}

// "[0, 1]"
std::string place_text(const std::vector<std::int64_t> &place) {
  return fmt::format("[{}]", fmt::join(place, ", "));
}

class Teller {
public:
  Teller(const program::StoredProgram &stored, const StoryOptions &options) {
    story_.scop = make_scop(stored, options.in_place);
    nests_ = nests_of(story_.scop);
    join_followers(nests_);
    if (nests_.size() < 2)
      throw Error(ErrorCode::Unsupported, "there is nothing that runs before the last nest");
    story_.tile = options.tile;
    check_tile(story_.tile, nests_.back().loops);
    story_.tile.resize(nests_.back().loops, kDefaultTile);
    for (const LoopNest &nest : nests_) {
      Chosen &side = &nest == &nests_.back() ? story_.consumers : story_.producers;
      const Chosen names = names_of(nest);
      side.insert(side.end(), names.begin(), names.end());
    }
  }

  FusionStory run() {
    const Dependences deps = dependences(story_.scop);
    const Fusion fusion =
        propose(story_.scop, deps, story_.producers, story_.consumers, story_.tile);
    tell_dependences(deps);
    story_.original = tree_of(story_.scop, nests_);
    story_.tiled = tile_band(story_.original, last_band(), story_.tile);
    story_.loops_apart = to_loops(story_.tiled);
    tell_needs(fusion);
    tell_grid();
    tell_conflicts(fusion);
    tell_rules(fusion);
    if (story_.refusals.empty())
      fuse(fusion);
    return std::move(story_);
  }

private:
  TreePath last_band() const { return {0, nests_.size() - 1, 0}; }
  Points universe_of(const std::string &name) const { return universe(story_.scop, {name}); }

  void tell_dependences(const Dependences &deps) {
    for (const ScopStatement &from : story_.scop.statements)
      for (const ScopStatement &to : story_.scop.statements) {
        const Relation pairs = deps.flow.from(universe_of(from.name)).into(universe_of(to.name));
        if (pairs.is_empty() == false)
          story_.dependences.push_back({from.name, to.name, pairs.text()});
      }
  }

  void tell_needs(const Fusion &fusion) {
    const Relation elements = fusion.tiles.reversed().then(fusion.deps.reads);
    story_.footprint =
        elements.into(fusion.deps.writes.from(universe(story_.scop, story_.producers)).range())
            .text();
    for (const std::string &name : story_.producers) {
      const Relation extension = fusion.extension.into(universe_of(name));
      const std::optional<std::int64_t> executed = extension.pairs().count();
      const std::optional<std::int64_t> distinct = extension.range().count();
      if (!executed || !distinct)
        throw Error(ErrorCode::Unsupported, "the quota of integer set operations did not suffice",
                    {}, {"--fuse-quota gives more"});
      story_.needs.push_back({name, extension.range_box(), *executed, *distinct, extension.text()});
    }
  }

  void tell_grid() {
    for (std::size_t i = 0; i < story_.tile.size(); ++i) {
      const std::int64_t extent = extent_of(nests_.back().statements.front(), i);
      story_.grid.push_back((extent + story_.tile[i] - 1) / story_.tile[i]);
      story_.block.push_back(std::min(extent, story_.tile[i]));
    }
  }

  // The number of values that loop i of a statement takes.
  std::int64_t extent_of(const ScopStatement &statement, std::size_t i) const {
    const Relation value(
        fmt::format("{{ {} -> [{}] }}", instance_text(statement), statement.indices[i]));
    return value.from(universe_of(statement.name)).range().count().value_or(0);
  }

  // One producer, tiled by what a tile of the last nest needs of it.
  void tell_conflicts(const Fusion &fusion) {
    for (auto producer = story_.needs.rbegin(); producer != story_.needs.rend(); ++producer) {
      const Relation own = needed_tiles(fusion, *producer);
      const bool fits = own.has_single_values() == true;
      if (fits && !story_.own_tiled.empty())
        continue;
      story_.own_tile = producer->box;
      story_.own_tiled = producer->statement;
      story_.tiles_fit = fits;
      show_tiles(fusion, own);
      if (!fits)
        return;
    }
  }

  // Tile of the last nest → tiles of the producer, were its space tiled too.
  Relation needed_tiles(const Fusion &fusion, const StoryProducer &producer) const {
    const Fusion own = propose(story_.scop, fusion.deps, {}, {producer.statement}, producer.box);
    return fusion.extension.into(universe_of(producer.statement)).then(own.tiles);
  }

  // The first tile and its neighbour in every direction that has one.
  void show_tiles(const Fusion &fusion, const Relation &own) {
    story_.conflicts.clear();
    const std::vector<std::int64_t> first(story_.grid.size(), 0);
    std::vector<std::int64_t> next;
    for (const std::int64_t tiles : story_.grid)
      next.push_back(std::min<std::int64_t>(1, tiles - 1));
    show_tile(fusion, own, first);
    if (next != first)
      show_tile(fusion, own, next);
  }

  void show_tile(const Fusion &fusion, const Relation &own,
                 const std::vector<std::int64_t> &place) {
    const Points tile("{ " + place_text(place) + " }");
    const Relation needs = fusion.extension.into(universe_of(story_.own_tiled)).from(tile);
    StoryConflict conflict{place_text(place), needs.range().text(), {}};
    for (const std::vector<std::int64_t> &point : own.from(tile).range().points())
      conflict.in.push_back(place_text(point));
    story_.conflicts.push_back(std::move(conflict));
  }

  void tell_rules(const Fusion &fusion) {
    const IslSchedule schedule = to_isl(story_.tiled);
    if (const Refusal order = runs_backwards(fusion, time_of(schedule)))
      story_.refusals.push_back(*order);
    for (std::string &refusal : refusals(fusion))
      story_.refusals.push_back(std::move(refusal));
  }

  void fuse(const Fusion &fusion) {
    TreePath points = last_band();
    points.push_back(0);
    ScheduleTree tree = insert_mark(story_.tiled, points, "thread");
    for (std::size_t n = nests_.size() - 1; n-- > 0;) {
      const Points producer = universe(story_.scop, names_of(nests_[n]));
      tree = graft_extension(tree, points,
                             {.extension = fusion.extension.into(producer).text(),
                              .filter = filter_text(nests_[n]),
                              .producer = {Kind::Mark, "thread", false, {}, {tree_of(nests_[n])}},
                              .rest = filter_text(nests_.back())});
    }
    tree = insert_mark(tree, last_band(), "kernel");
    for (std::size_t n = 0; n + 1 < nests_.size(); ++n)
      if (!stays(fusion, names_of(nests_[n])))
        tree = insert_mark(tree, {0, n, 0}, "skipped");
    verify(tree);
    story_.loops_fused = to_loops(tree);
    story_.fused = std::move(tree);
  }

  // Whether a producer must run where it stood as well.
  bool stays(const Fusion &fusion, const Chosen &producer) {
    Fusion alone = fusion;
    alone.producers = producer;
    alone.consumers.clear();
    for (const ScopStatement &statement : story_.scop.statements)
      if (std::find(producer.begin(), producer.end(), statement.name) == producer.end())
        alone.consumers.push_back(statement.name);
    const Refusal why = is_needed_elsewhere(alone, asked_for());
    if (why)
      story_.kept.push_back(fmt::format("{} stays: {}", fmt::join(producer, ", "), *why));
    return why.has_value();
  }

  // The elements of the program's outputs.
  Points asked_for() const {
    Points elements(std::string("{ }"));
    for (const ScopStatement &statement : story_.scop.statements)
      if (std::count(story_.scop.asked_for.begin(), story_.scop.asked_for.end(),
                     statement.write.memory) > 0)
        elements = elements | Relation(writes_text(story_.scop, {statement.name})).range();
    return elements;
  }

  FusionStory story_;
  std::vector<LoopNest> nests_; // producers, then the last one
};

} // namespace

FusionStory tell_fusion(const program::StoredProgram &stored, const StoryOptions &options) {
  const Quota quota(options.quota);
  return Teller(stored, options).run();
}

} // namespace tilefuse::poly
