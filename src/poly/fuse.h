// SPDX-License-Identifier: Apache-2.0
// Which nests become one kernel. Pointwise followers join what they follow as post-ops; then, in
// program order, every nest is offered the producers of what it reads:
//
//   1. form: the producer writes the tensor that is read, whole, point by point (attach);
//   2. legality: the rules of legality.h, in closed form where the form of the nests shows them to
//      hold, else on the access relations, by isl under a quota of operations; a quota that does
//      not suffice means not fused;
//   3. bounds: a tile must not need all of the producer, its box must fit the block's memory;
//   4. profit: what a judge says of the fused group and of its parts.
//
// A map into a copy needs no tile: both become one map (inline_map.h).
//
// A producer whose result nothing else reads disappears into its consumer. A pointwise map with
// several readers, as in a backward pass, is offered in two ways: every reader evaluates a copy of
// it, or the first stages it and stores it on the way, once (L7), for those that follow. Any other
// producer with several readers joins none of them (L6).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "poly/group.h"
#include "poly/post_ops.h"

namespace tilefuse::poly {

// None: a kernel per nest. Pointwise: post-ops. All: post-ops and staged producers.
enum class FuseLevel { None, Pointwise, All };
std::string_view to_string(FuseLevel level);
std::optional<FuseLevel> parse_fuse_level(std::string_view text);

// Answer of a judge: whether fused groups are worth it, and why, one line per term.
struct Verdict {
  bool is_worth = true;
  std::vector<std::string> terms;
  double gain_seconds = 0; // over what they stand for, where that is known
};

// A choice between two lists of groups that compute the same. `together`: consumers with the
// producer fused into them, and those that read what the first of them stores. `apart`: the same
// consumers in the same order, then the producer.
struct Exchange {
  std::vector<const PlacedGroup *> together;
  std::vector<const PlacedGroup *> apart;
};

using Judge = std::function<Verdict(const Exchange &exchange)>;
// Called once, before the first exchange is judged, with all exchanges that will be offered if none
// of them is worth it: a judge can then weigh them in parallel.
using Foresee = std::function<void(const std::vector<Exchange> &exchanges)>;

struct FuseOptions {
  FuseLevel level = FuseLevel::Pointwise;
  std::int64_t quota = 1'000'000; // isl's operations that one decision may spend
  Judge judge;                    // nothing: whatever is legal is worth it
  Foresee foresee;                // or nothing
  bool spreads = false;           // whether copies are offered that spread, as few targets can
  bool rows = false;              // whether rows between two products are (join_rows.h), likewise
  // Elements of the longest row with whose map statistics are offered (join_statistics.h); 0: none.
  std::int64_t row_keys = 0;
};

// One offer of a producer to a consumer.
struct FuseDecision {
  std::string consumer; // origins
  std::string producer;
  bool is_fused = false;
  std::string reason; // why not
  std::vector<std::string> terms;
};

struct FuseReport {
  std::vector<FuseDecision> decisions;
  std::int64_t isl_calls = 0;
  double seconds = 0; // of planning
};

// The groups of a program in an order in which they can run. Copies that spread, and
// that one group alone reads, are offered to it with Pointwise too.
std::vector<PlacedGroup> make_groups(const program::StoredProgram &stored,
                                     const FuseOptions &options, FuseReport *report = nullptr);

// Offers maps that one group alone reads to those that `takes` names, of groups in an order in
// which they can run.
std::vector<PlacedGroup> feed_maps(std::vector<PlacedGroup> groups,
                                   const program::StoredProgram &stored, const FuseOptions &options,
                                   const std::function<bool(const PlacedGroup &)> &takes);

// "fused A into B" or "kept A apart from B: reason", with the terms below.
std::string to_text(const FuseDecision &decision);

} // namespace tilefuse::poly
