// SPDX-License-Identifier: Apache-2.0
// What tiles need in closed form: chains of convolutions, pooling, gradients and resizing with
// their known figures, and random ones against isl, which is the oracle.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "poly/isl/exact_count.h"
#include "poly/isl/isl_objects.h"
#include "poly/progression.h"
#include "support/sampling.h"

namespace tilefuse::poly {
namespace {

// x in { (scale * o + tap_step * k - pad) / divisor }, k in [0, taps).
struct Window {
  std::int64_t scale = 1;
  std::int64_t tap_step = 1;
  std::int64_t taps = 1;
  std::int64_t pad = 0;
  std::int64_t divisor = 1;
};

Window conv(std::int64_t taps, std::int64_t stride, std::int64_t pad, std::int64_t dilation = 1) {
  return {stride, dilation, taps, pad, 1};
}
Window gradient(std::int64_t taps, std::int64_t stride, std::int64_t pad) {
  return {1, -1, taps, -pad, stride};
}
Window upsample(std::int64_t by) { return {1, -1, by, 0, by}; }
const Window kSame{};

nest::Linear form_of(const Window &window) {
  return {-window.pad, {window.scale, window.tap_step}};
}

Progression needed(const Window &window, const Progression &out, std::int64_t size) {
  const Progression variables[] = {out, whole(window.taps)};
  return clipped(image(form_of(window), window.divisor, variables), size);
}

struct Reader {
  std::size_t level; // 0 is the live-out
  Window window;
};

// A producer: its size, who reads it, and what is known of one dimension of it.
struct Level {
  std::int64_t size;
  std::vector<Reader> readers;
  std::int64_t interior; // points of an interior tile
  std::int64_t corner;   // of the first tile
  std::int64_t executed; // of all tiles together
  std::int64_t distinct;
  std::int64_t last = 0; // of the last tile, where it is known
};

struct Chain {
  const char *id;
  std::int64_t out;
  std::int64_t tile;
  std::vector<Level> levels;
};

// Figures are square roots of the two-dimensional ones: 68 * 68 = 4624.
const std::vector<Chain> kChains = {
    {"01", 6, 2, {{8, {{0, conv(3, 1, 0)}}, 4, 4, 12, 8}}},
    {"02", 56, 8, {{56, {{0, conv(3, 1, 1)}}, 10, 9, 68, 56}}},
    {"03", 28, 4, {{56, {{0, conv(3, 2, 1)}}, 9, 8, 62, 56}}},
    {"04", 112, 8, {{224, {{0, conv(7, 2, 3)}}, 21, 18, 289, 224, 19}}},
    {"05", 56, 8, {{56, {{0, conv(1, 1, 0)}}, 8, 8, 56, 56}}},
    {"06", 28, 4, {{56, {{0, conv(1, 2, 0)}}, 4, 4, 28, 28}}},
    {"07a", 56, 4, {{56, {{0, conv(3, 1, 2, 2)}}, 8, 6, 108, 56}}},
    {"07b", 56, 2, {{56, {{0, conv(3, 1, 4, 4)}}, 6, 4, 160, 56}}},
    {"07c", 28, 4, {{56, {{0, conv(3, 2, 2, 2)}}, 6, 5, 40, 28}}},
    {"08", 28, 7, {{28, {{0, conv(5, 1, 2)}}, 11, 9, 40, 28}}},
    {"09",
     28,
     4,
     {{56, {{0, conv(2, 2, 0)}}, 8, 8, 56, 56}, {56, {{1, conv(3, 1, 1)}}, 10, 9, 68, 56}}},
    {"10",
     28,
     4,
     {{56, {{0, conv(3, 2, 1)}}, 9, 8, 62, 56}, {56, {{1, conv(3, 1, 1)}}, 11, 9, 74, 56}}},
    {"11",
     56,
     7,
     {{112, {{0, conv(3, 2, 1)}}, 15, 14, 119, 112},
      {224, {{1, conv(7, 2, 3)}}, 35, 30, 273, 224}}},
    {"12",
     56,
     8,
     {{56, {{0, conv(3, 1, 1)}}, 10, 9, 68, 56}, {56, {{1, conv(3, 1, 1)}}, 12, 10, 80, 56}}},
    {"12b",
     56,
     14,
     {{56, {{0, conv(3, 1, 1)}}, 16, 15, 62, 56}, {56, {{1, conv(3, 1, 1)}}, 18, 16, 68, 56}}},
    {"13",
     28,
     7,
     {{56, {{0, conv(3, 2, 1)}}, 15, 14, 59, 56}, {56, {{1, conv(3, 1, 1)}}, 17, 15, 65, 56}}},
    {"14",
     56,
     8,
     {{56, {{0, conv(1, 1, 0)}}, 8, 8, 56, 56}, {56, {{1, conv(3, 1, 1)}}, 10, 9, 68, 56}}},
    {"15", 56, 8, {{56, {{0, conv(3, 1, 1)}}, 10, 9, 68, 56}}},
    {"16",
     28,
     7,
     {{28, {{0, conv(1, 1, 0)}}, 7, 7, 28, 28}, {56, {{1, conv(3, 2, 1)}}, 15, 14, 59, 56}}},
    {"17",
     56,
     8,
     {{56, {{0, kSame}}, 8, 8, 56, 56},
      {56, {{1, conv(3, 1, 1)}}, 10, 9, 68, 56},
      {56, {{0, kSame}, {2, conv(3, 1, 1)}}, 12, 10, 80, 56}}},
    {"17b",
     28,
     7,
     {{28, {{0, kSame}}, 7, 7, 28, 28},
      {28, {{1, conv(3, 1, 1)}}, 9, 8, 34, 28},
      {56, {{0, conv(1, 2, 0)}, {2, conv(3, 2, 1)}}, 19, 16, 71, 56}}},
    {"18", 56, 8, {{56, {{0, gradient(3, 1, 1)}}, 10, 9, 68, 56}}},
    {"19", 56, 8, {{28, {{0, gradient(3, 2, 1)}}, 5, 5, 34, 28, 4}}},
    {"19b", 56, 7, {{28, {{0, gradient(3, 2, 1)}}, 4, 4, 35, 28}}},
    {"20", 56, 8, {{28, {{0, gradient(4, 2, 1)}}, 6, 5, 40, 28}}},
    {"21",
     56,
     8,
     {{56, {{0, conv(3, 1, 1)}}, 10, 9, 68, 56}, {28, {{1, upsample(2)}}, 6, 5, 40, 28}}},
    {"22", 13, 4, {{13, {{0, conv(3, 1, 1)}}, 6, 5, 19, 13, 2}}},
    {"24 rows of x", 56, 8, {{56, {{0, conv(3, 1, 1)}}, 10, 9, 68, 56}}},
    {"24 rows of dy", 56, 8, {{56, {{0, kSame}}, 8, 8, 56, 56}}},
    {"25", 14, 7, {{14, {{0, conv(3, 1, 1)}}, 8, 8, 16, 14}}},
    {"26", 56, 8, {{56, {{0, kSame}, {0, conv(3, 1, 1)}}, 10, 9, 68, 56}}},
    {"27", 1024, 64, {{1024, {{0, conv(3, 1, 16, 8)}}, 80, 64, 1264, 1024}}},
    {"28", 16, 4, {{16, {{0, conv(3, 1, 1)}}, 6, 5, 22, 16}}},
};

// Per tile what each level runs, the live-out first.
std::vector<std::vector<Progression>> tiles_of(const Chain &chain) {
  std::vector<std::vector<Progression>> tiles;
  for (std::int64_t t = 0; t * chain.tile < chain.out; ++t) {
    std::vector<Progression> levels = {tile_of(chain.out, chain.tile, t)};
    for (const Level &level : chain.levels) {
      Progression all{0, -1, 1, false};
      for (const Reader &reader : level.readers)
        all = hull(all, needed(reader.window, levels[reader.level], level.size));
      levels.push_back(all);
    }
    tiles.push_back(std::move(levels));
  }
  return tiles;
}

// By isl where the closed form has gaps.
std::int64_t points_of(const Chain &chain, std::size_t level,
                       const std::vector<Progression> &tile) {
  const Progression &all = tile[level];
  if (!all.has_gaps)
    return all.count();
  const Level &of = chain.levels[level - 1];
  const Window &window = of.readers[0].window;
  const Progression variables[] = {tile[of.readers[0].level], whole(window.taps)};
  return exact_count(form_of(window), window.divisor, variables, of.size).value_or(-1);
}

TEST(Progression, ChainsHaveTheirKnownTiles) {
  for (const Chain &chain : kChains) {
    SCOPED_TRACE(chain.id);
    const auto tiles = tiles_of(chain);
    for (std::size_t l = 1; l <= chain.levels.size(); ++l) {
      const Level &level = chain.levels[l - 1];
      std::int64_t executed = 0;
      Progression all{0, -1, 1, false};
      for (const std::vector<Progression> &tile : tiles) {
        executed += points_of(chain, l, tile);
        all = hull(all, tile[l]);
      }
      EXPECT_EQ(points_of(chain, l, tiles[tiles.size() / 2]), level.interior) << "level " << l;
      EXPECT_EQ(points_of(chain, l, tiles.front()), level.corner) << "level " << l;
      EXPECT_EQ(executed, level.executed) << "level " << l;
      EXPECT_EQ(all.count(), level.distinct) << "level " << l;
      if (level.last > 0) {
        EXPECT_EQ(points_of(chain, l, tiles.back()), level.last) << "level " << l;
      }
    }
  }
}

TEST(Progression, DilationGapsAreABoxWithHoles) {
  const Progression tile = needed(conv(3, 1, 4, 4), tile_of(56, 2, 10), 56);
  EXPECT_EQ(tile, (Progression{16, 25, 1, true}));
  EXPECT_EQ(needed(conv(1, 2, 0), tile_of(28, 4, 3), 56), (Progression{24, 30, 2, false}));
}

std::string set_text(const Progression &p) {
  return fmt::format("{{ [x] : exists e : x = {} + {}e and {} <= x <= {} }}", p.first, p.step,
                     p.first, p.last);
}

std::string relation_text(const Window &window, std::int64_t size) {
  return fmt::format(
      "{{ [o] -> [x] : exists k : {}x = {}o + {}k - {} and 0 <= k < {} and 0 <= x < {} }}",
      window.divisor, window.scale, window.tap_step, window.pad, window.taps, size);
}

Window random_window(std::mt19937 &random) {
  const auto pick = [&](int lowest, int highest) {
    return std::uniform_int_distribution<std::int64_t>(lowest, highest)(random);
  };
  const std::int64_t taps = pick(1, 7);
  switch (pick(0, 5)) {
  case 0:
    return gradient(taps, pick(1, 4), pick(0, static_cast<int>(taps) - 1));
  case 1:
    return upsample(pick(1, 4));
  default:
    const std::int64_t dilation = pick(1, 4);
    return conv(taps, pick(1, 4), pick(0, static_cast<int>((taps - 1) * dilation)), dilation);
  }
}

// One chain of up to three windows; returns how many of its tiles had no gaps.
int compare_chain(std::mt19937 &random) {
  std::uniform_int_distribution<std::int64_t> size(1, 40);
  const std::int64_t tile = std::uniform_int_distribution<std::int64_t>(1, 9)(random);
  std::vector<Window> windows(1 + random() % 3);
  std::vector<std::int64_t> sizes = {size(random)};
  for (Window &window : windows) {
    window = random_window(random);
    sizes.push_back(size(random));
  }
  int exact = 0;
  for (std::int64_t t = 0; t * tile < sizes[0]; ++t) {
    Progression ours = tile_of(sizes[0], tile, t);
    Relation reached(fmt::format("{{ [] -> [x] : {} <= x <= {} }}", ours.first, ours.last));
    for (std::size_t w = 0; w < windows.size(); ++w) {
      ours = needed(windows[w], ours, sizes[w + 1]);
      reached = reached.then(Relation(relation_text(windows[w], sizes[w + 1])));
      const Points theirs = reached.range();
      const Points box(set_text(ours));
      EXPECT_EQ(theirs.is_within(box), true) << theirs.text() << " in " << box.text();
      const std::optional<bool> is_all = box.is_within(theirs);
      EXPECT_TRUE(ours.has_gaps || is_all == true) << theirs.text() << " in " << box.text();
      exact += ours.has_gaps ? 0 : 1;
    }
  }
  return exact;
}

TEST(Progression, RandomChainsEqualIsl) {
  const int seeds = testing::by_night(1500, 250);
  int exact = 0;
  for (int seed = 0; seed < seeds; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    std::mt19937 random(static_cast<unsigned>(seed));
    exact += compare_chain(random);
    if (::testing::Test::HasFailure())
      return;
  }
  EXPECT_GT(3 * exact, 20 * seeds);
}

TEST(Progression, ExactCountKnowsItsQuota) {
  const Quota quota(1);
  const Progression variables[] = {whole(100), whole(3)};
  EXPECT_EQ(exact_count(form_of(conv(3, 1, 4, 4)), 1, variables, 100), std::nullopt);
}

} // namespace
} // namespace tilefuse::poly
