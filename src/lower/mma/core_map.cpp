// SPDX-License-Identifier: Apache-2.0
#include "lower/mma/core_map.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/index.h"
#include "lower/members.h"
#include "lower/post.h"
#include "schedule/mma/core.h"
#include "schedule/mma/core_roles.h"

namespace tilefuse::lower {

using kernel::ExprRef;
using kernel::StmtRef;

CoreMap::CoreMap(Context &context, const schedule::CoreRoles &roles, const schedule::CoreTile &tile,
                 const schedule::CoreFeed &feed)
    : cx_(context), b_(context.build), feed_(feed),
      producer_(context.members.contexts[feed.producer]) {
  for (std::size_t e = 0; e < map().extras.size(); ++e)
    nests_.push_back(schedule::reading(cx_.members.group, feed.producer, static_cast<int>(e)));
  for (const int extra : feed.copied) {
    const CoreSource source{
        .nest = nests_[at(extra)],
        .from = producer_.slot_buffers[map().extras[at(extra)].slot],
        .number = static_cast<int>(sides_.size()),
    };
    sides_.emplace_back(cx_, roles, tile, feed.input, source);
  }
  side().follow();
}

const nest::Nest &CoreMap::map() const { return producer_.whole; }

StmtRef CoreMap::declare(ExprRef first) {
  std::vector<StmtRef> list;
  for (CoreSide &side : sides_)
    list.push_back(side.declare(first));
  return b_.block(std::move(list));
}

StmtRef CoreMap::start(const CoreWalk &walk, ExprRef slot) const {
  std::vector<StmtRef> list;
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
  const ExprRef some = b_.integer(lanes);
  const ExprRef none = b_.integer(0);
  std::vector<StmtRef> list;
  const ExprRef exists = own.shared_exists(behind);
  const ExprRef valid = exists == nullptr ? nullptr : b_.select(exists, some, none);
  std::vector<ExprRef> shared(map().extras.size(), nullptr);
  for (const int extra : feed_.read) {
    const nest::Nest &nest = nests_[at(extra)];
    const nest::Linear flat = nest::flat(nest.inputs[at(feed_.input)], nest.indices.size());
    const kernel::BufferId from = producer_.slot_buffers[map().extras[at(extra)].slot];
    shared[at(extra)] = named(b_, list, "shared",
                              shared_run(b_, from, own.shared_element(behind, flat), lanes,
                                         own.shared_stride(flat), valid));
  }
  for (const CoreSide::Run &run : own.runs(behind, slot, list)) {
    const ExprRef made =
        map_value(b_, map(), lanes, [&](int extra) { return load(extra, run, shared); });
    const ExprRef stored = run.exists == nullptr ? nullptr : b_.select(run.exists, some, none);
    list.push_back(b_.store(own.ring(), run.place, made, 1, stored));
  }
  list.push_back(own.next_runs());
  return b_.block(std::move(list));
}

} // namespace tilefuse::lower
