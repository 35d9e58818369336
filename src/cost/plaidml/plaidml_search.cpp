// SPDX-License-Identifier: Apache-2.0
#include "cost/plaidml/plaidml_search.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.h"

namespace tilefuse::cost::plaidml {
namespace {

constexpr std::size_t kMaxVisits = std::size_t{1} << 20;

Visit visit(const Flat &flat, const Settings &settings, Tile tile) {
  const Stats stats = statistics(flat, tile, settings);
  return {std::move(tile), stats, score(stats, settings)};
}

void choose(Search &search) {
  for (std::size_t v = 0; v < search.visits.size(); ++v) {
    const double score = search.visits[v].score.score;
    const double best = search.visits[search.best].score.score;
    search.ties = v == 0 || score > best ? 1 : search.ties + (score == best ? 1 : 0);
    if (score >= best)
      search.best = v;
  }
}

class Walker {
public:
  Walker(const Flat &flat, const Settings &settings, Walk walk)
      : flat_(flat), settings_(settings), walk_(walk) {}

  Search run() {
    const Tile ones(flat_.rank(), 1);
    add(ones);
    pending_.emplace(last_score_, ones);
    while (!pending_.empty()) {
      auto next = std::prev(pending_.end());
      if (walk_ == Walk::Fast && next->first < last_score_)
        break;
      last_score_ = next->first;
      const Tile tile = next->second;
      pending_.erase(next);
      expand(tile);
    }
    choose(search_);
    return std::move(search_);
  }

private:
  void add(const Tile &tile) {
    if (search_.visits.size() == kMaxVisits)
      throw Error(ErrorCode::Limit, "the walk over all tiles passes 1048576 of them");
    search_.visits.push_back(visit(flat_, settings_, tile));
    last_score_ = search_.visits.back().score.score;
    seen_.insert(tile);
  }

  void expand(const Tile &tile) {
    for (std::size_t i = 0; i < tile.size(); ++i) {
      Tile neighbour = tile;
      neighbour[i] = std::min(2 * tile[i], flat_.ranges[i]);
      if (seen_.count(neighbour) != 0)
        continue;
      add(neighbour);
      if (last_score_ > 0)
        pending_.emplace(last_score_, neighbour);
    }
  }

  const Flat &flat_;
  const Settings &settings_;
  Walk walk_;
  Search search_;
  std::set<Tile> seen_;
  std::set<std::pair<double, Tile>> pending_;
  double last_score_ = 0;
};

} // namespace

Search search(const Flat &flat, const Settings &settings, Walk walk) {
  return Walker(flat, settings, walk).run();
}

Search evaluate(const Flat &flat, const Settings &settings, const std::vector<Tile> &tiles) {
  Search result;
  for (const Tile &tile : tiles)
    result.visits.push_back(visit(flat, settings, tile));
  choose(result);
  return result;
}

} // namespace tilefuse::cost::plaidml
