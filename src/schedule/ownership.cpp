// SPDX-License-Identifier: Apache-2.0
#include "schedule/ownership.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/index.h"
#include "nest/index.h"
#include "schedule/staging.h"

namespace tilefuse::schedule {
namespace {

// Points of an index from one fill to the next; its extent when one fill has them all.
std::int64_t span_of_fill(const nest::Nest &nest, const Schedule &schedule, int input, IndexId i) {
  const std::int64_t extent = nest::extent(nest, i);
  const Split &split = schedule.splits[i];
  if (!is_output(nest, i))
    return holds_chunk(nest, schedule, input, i) ? std::min(split.tile, extent) : extent;
  return std::min(schedule.pipes[at(input)].at ? split.step() : split.tile, extent);
}

class Owning {
public:
  Owning(const nest::Nest &nest, const Schedule &schedule, int input)
      : nest_(nest), schedule_(schedule), input_(input), tile_(stage_tile(nest, schedule, input)) {}

  std::optional<std::string> run(Ownership &found) {
    found.parts.resize(tile_.dims.size());
    if (tile_.dims.empty())
      return "it has no dimensions";
    for (const IndexId i : nest_.indices.ids())
      if (span_of_fill(nest_, schedule_, input_, i) < extent(nest_, i))
        if (std::optional<std::string> why = follow(i, found))
          return why;
    for (std::size_t d = 0; d < tile_.dims.size(); ++d)
      if (!covers(d, found.parts[d]))
        return "its tiles do not cover the tensor";
    return std::nullopt;
  }

private:
  const nest::Dim &dim(std::size_t d) const {
    return nest_.inputs[at(input_)].dims[at(tile_.dims[d].dim)];
  }

  std::optional<std::string> follow(IndexId i, Ownership &found) const {
    const std::int64_t span = span_of_fill(nest_, schedule_, input_, i);
    bool moves = false;
    for (std::size_t d = 0; d < tile_.dims.size(); ++d) {
      const std::int64_t by = dim(d).at.coeff[i];
      if (by == 0)
        continue;
      if (by < 0 || moves || found.parts[d].index)
        return fmt::format("tiles of {} and of another index own the same elements",
                           nest_.indices[i].name);
      moves = true;
      found.parts[d] = {
          .index = i, .owned = by * span, .last = (extent(nest_, i) - 1) / span * span};
    }
    if (!moves)
      found.repeats.push_back(i);
    return std::nullopt;
  }

  // The first tile begins at the tensor's first element or before, each reaches the next, the last
  // one the end.
  bool covers(std::size_t d, const Ownership::Part &part) const {
    const StageDim &stage = tile_.dims[d];
    const std::int64_t first = dim(d).at.constant + stage.lowest;
    const std::int64_t by = part.index ? dim(d).at.coeff[*part.index] : 0;
    return first <= 0 && part.owned <= stage.range &&
           first + by * part.last + stage.range >= dim(d).size;
  }

  const nest::Nest &nest_;
  const Schedule &schedule_;
  int input_;
  StageTile tile_;
};

} // namespace

std::optional<Ownership> ownership(const nest::Nest &nest, const Schedule &schedule, int input,
                                   std::string *why) {
  Ownership found;
  const std::optional<std::string> reason = Owning(nest, schedule, input).run(found);
  if (!reason)
    return found;
  if (why != nullptr)
    *why = *reason;
  return std::nullopt;
}

} // namespace tilefuse::schedule
