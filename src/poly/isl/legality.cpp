// SPDX-License-Identifier: Apache-2.0
#include "poly/isl/legality.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace tilefuse::poly {
namespace {

constexpr const char *kQuota = "the quota of integer set operations did not suffice";

// A refusal unless `none` holds nothing.
template <class Set> Refusal unless_empty(const Set &none, const std::string &what) {
  const std::optional<bool> is_empty = none.is_empty();
  if (!is_empty)
    return kQuota;
  if (*is_empty)
    return std::nullopt;
  return what + ": " + none.text();
}

template <class Set>
Refusal unless_within(const Set &part, const Set &of, const std::string &what) {
  const std::optional<bool> is_within = part.is_within(of);
  if (is_within == true)
    return std::nullopt;
  return is_within ? what + ": " + (part - of).text() : kQuota;
}

Points of(const Fusion &fusion, const Chosen &statements) {
  return universe(fusion.scop, statements);
}

// The elements that a producer reads and no producer wrote before.
Points exposed(const Fusion &fusion) {
  const Points producers = of(fusion, fusion.producers);
  const Relation within = fusion.deps.flow.from(producers).into(producers);
  const Relation reads = fusion.deps.reads.from(producers);
  return (reads - (within.reversed().then(fusion.deps.writes) & reads)).range();
}

std::size_t place(const Chosen &order, const std::string &name) {
  return static_cast<std::size_t>(std::find(order.begin(), order.end(), name) - order.begin());
}

// Tiles of one statement: `S2[h, w, kh, kw] -> [floor(h/2), floor(w/2)] : …`.
std::string tile_text(const ScopStatement &statement, const std::vector<std::int64_t> &sizes) {
  std::vector<std::string> tile;
  for (std::size_t i = 0; i < sizes.size() && i < statement.indices.size(); ++i)
    tile.push_back(fmt::format("floor({}/{})", statement.indices[i], sizes[i]));
  return fmt::format("{} -> [{}]", instance_text(statement), fmt::join(tile, ", "));
}

} // namespace

Fusion propose(const Scop &scop, const Dependences &deps, const Chosen &producers,
               const Chosen &consumers, const std::vector<std::int64_t> &sizes) {
  Fusion fusion{scop, deps, producers, consumers, {}, {}};
  std::vector<std::string> tiles;
  for (const std::string &name : consumers)
    for (const ScopStatement &statement : scop.statements)
      if (statement.name == name)
        tiles.push_back(tile_text(statement, sizes));
  fusion.tiles =
      Relation(fmt::format("{{ {} }}", fmt::join(tiles, "; "))).from(of(fusion, consumers));
  const Points instances = of(fusion, producers);
  const Relation sources = deps.reads.then(deps.writes.reversed()).into(instances);
  Relation needs = fusion.tiles.reversed();
  fusion.extension = needs.then(sources);
  for (std::size_t round = 1; round < producers.size(); ++round)
    fusion.extension = fusion.extension | fusion.extension.then(sources);
  return fusion;
}

Refusal runs_backwards(const Fusion &fusion, const Relation &schedule) {
  const Points consumers = of(fusion, fusion.consumers);
  const Relation among = fusion.deps.all().from(consumers).into(consumers);
  return unless_empty(among & schedule.from(consumers).not_before(), "a dependence runs backwards");
}

Refusal misses_sources(const Fusion &fusion) {
  const Relation sources = fusion.deps.flow.from(of(fusion, fusion.producers)).reversed();
  return unless_within(fusion.tiles.reversed().then(sources), fusion.extension,
                       "a tile lacks what it reads");
}

Refusal misses_transitive_sources(const Fusion &fusion) {
  const Points producers = of(fusion, fusion.producers);
  const Relation flow = fusion.deps.flow.from(producers).into(producers);
  if (Refusal missing = unless_within(fusion.extension.then(flow.reversed()), fusion.extension,
                                      "a producer lacks what it reads"))
    return missing;
  for (const std::string &later : fusion.producers)
    for (const std::string &earlier : fusion.producers) {
      if (place(fusion.producers, earlier) <= place(fusion.producers, later))
        continue;
      const Relation back = flow.from(of(fusion, {earlier})).into(of(fusion, {later}));
      if (Refusal order = unless_empty(back, later + " would run before " + earlier))
        return order;
    }
  return std::nullopt;
}

Refusal splits_reduction(const Fusion &fusion) {
  const Relation same = fusion.deps.writes.then(fusion.deps.writes.reversed());
  const Relation produced = fusion.extension.then(same).into(of(fusion, fusion.producers));
  if (Refusal part = unless_within(produced, fusion.extension, "a tile runs part of a reduction"))
    return part;
  const std::optional<bool> is_whole =
      fusion.deps.writes.reversed().then(fusion.tiles).has_single_values();
  if (is_whole == true)
    return std::nullopt;
  return is_whole ? "several tiles write one element" : kQuota;
}

Refusal overwrites_its_input(const Fusion &fusion) {
  const Points written = fusion.deps.writes.from(of(fusion, fusion.producers)).range();
  return unless_empty(exposed(fusion) & written,
                      "it overwrites what it reads, so running it again gives another result");
}

Refusal is_needed_elsewhere(const Fusion &fusion, const Points &live_out) {
  const Points producers = of(fusion, fusion.producers);
  const Points group = producers | of(fusion, fusion.consumers);
  const Relation leaving = fusion.deps.flow.from(producers);
  if (Refusal read = unless_empty(leaving - leaving.into(group), "others read its result"))
    return read;
  return unless_empty(fusion.deps.writes.from(producers).range() & live_out,
                      "its result is asked for");
}

Refusal stores_wrongly(const Fusion &fusion, const Relation &stores) {
  if (Refusal missing = unless_within(stores, fusion.extension, "a tile stores what it lacks"))
    return missing;
  const std::optional<bool> is_once = stores.reversed().has_single_values();
  if (is_once != true)
    return is_once ? "several tiles store one result" : kQuota;
  return unless_within(of(fusion, fusion.producers), stores.range(), "no tile stores a result");
}

Refusal consumers_overwrite_its_input(const Fusion &fusion) {
  const Points written = fusion.deps.writes.from(of(fusion, fusion.consumers)).range();
  return unless_empty(exposed(fusion) & written, "its consumer overwrites what it reads");
}

Refusal is_impure(const Fusion &fusion) {
  for (const ScopStatement &statement : fusion.scop.statements)
    if (!statement.is_pure && place(fusion.producers, statement.name) < fusion.producers.size())
      return statement.name + " gives another result each time it runs";
  return std::nullopt;
}

Refusal computes_padding(const Fusion &fusion) {
  return unless_within(fusion.extension.range(), fusion.deps.domain,
                       "it would be computed where only padding is");
}

std::vector<std::string> refusals(const Fusion &fusion) {
  std::vector<std::string> found;
  for (const Refusal &refusal :
       {misses_sources(fusion), misses_transitive_sources(fusion), splits_reduction(fusion),
        overwrites_its_input(fusion), consumers_overwrite_its_input(fusion), is_impure(fusion),
        computes_padding(fusion)})
    if (refusal)
      found.push_back(*refusal);
  return found;
}

} // namespace tilefuse::poly
