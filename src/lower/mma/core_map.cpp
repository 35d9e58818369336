// SPDX-License-Identifier: Apache-2.0
#include "lower/mma/core_map.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/index.h"
#include "lower/expressions.h"
#include "lower/members.h"
#include "lower/post.h"

namespace tilefuse::lower {

std::vector<CopiedInput> copied_inputs(const Context &anchor, int input) {
  std::vector<CopiedInput> inputs;
  for (const schedule::CoreFeed &feed : anchor.members.resolved.feeds) {
    const Context &map = anchor.members.contexts[feed.producer];
    for (const int extra : feed.input == input ? feed.copied : std::vector<int>{})
      inputs.push_back({schedule::reading(anchor.members.group, feed.producer, extra),
                        map.slot_buffers[map.whole.extras[at(extra)].slot],
                        fmt::format("_{}", extra)});
  }
  if (inputs.empty())
    inputs.push_back({anchor.nest, anchor.source_buffers[at(input)], ""});
  return inputs;
}

nest::Linear read_form(const Context &anchor, const schedule::CoreFeed &feed, int extra) {
  const nest::Nest nest = schedule::reading(anchor.members.group, feed.producer, extra);
  return nest::flat(nest.inputs[at(feed.input)], nest.indices.size());
}

CoreMap::CoreMap(Context &context, const schedule::CoreFeed &feed)
    : cx_(context), b_(context.build), feed_(feed),
      producer_(context.members.contexts[feed.producer]) {
  for (const CopiedInput &copied : copied_inputs(cx_, feed.input))
    sides_.emplace_back(cx_, feed.input,
                        CoreSource{.nest = copied.nest,
                                   .from = copied.from,
                                   .number = static_cast<int>(sides_.size())});
  side().follow();
}

const nest::Nest &CoreMap::map() const { return producer_.whole; }

StmtRef CoreMap::declare(ExprRef first) {
  Stmts list;
  for (CoreSide &side : sides_)
    list.push_back(side.declare(first));
  return b_.block(std::move(list));
}

StmtRef CoreMap::start(const CoreWalk &walk, ExprRef slot) const {
  Stmts list;
  for (const CoreSide &side : sides_)
    list.push_back(side.start(walk, slot));
  return b_.block(std::move(list));
}

// Of a run, in the type that arithmetic on it is done in; `shared` by extra.
ExprRef CoreMap::load(int extra, const CoreSide::Run &run,
                      const std::vector<ExprRef> &shared) const {
  if (shared[at(extra)] != nullptr)
    return shared[at(extra)];
  const auto place = std::find(feed_.copied.begin(), feed_.copied.end(), extra);
  const CoreSide &side = sides_[at(place - feed_.copied.begin())];
  const int lanes = static_cast<int>(side.run_elems());
  const DType type = b_.kernel()[side.ring()].type.elem;
  return b_.cast(b_.load(side.ring(), run.place, lanes), compute_type(type));
}

StmtRef CoreMap::evaluate(const CoreWalk &behind, ExprRef slot) const {
  const CoreSide &own = sides_.front();
  const int lanes = static_cast<int>(own.run_elems());
  Stmts list;
  const ExprRef valid = count_if(b_, own.shared_exists(behind), lanes);
  std::vector<ExprRef> shared(map().extras.size(), nullptr);
  for (const int extra : feed_.read) {
    const nest::Linear flat = read_form(cx_, feed_, extra);
    const BufferId from = producer_.slot_buffers[map().extras[at(extra)].slot];
    shared[at(extra)] = named(b_, list, "shared",
                              shared_run(b_, from, own.shared_element(behind, flat), lanes,
                                         own.shared_stride(flat), valid));
  }
  for (const CoreSide::Run &run : own.runs(behind, slot, list)) {
    const ExprRef made =
        map_value(b_, map(), lanes, [&](int extra) { return load(extra, run, shared); });
    list.push_back(b_.store(own.ring(), run.place, made, 1, count_if(b_, run.exists, lanes)));
  }
  list.push_back(own.next_runs());
  return b_.block(std::move(list));
}

} // namespace tilefuse::lower
