// SPDX-License-Identifier: Apache-2.0
#include "lower/mma/core_map.h"

#include <fmt/format.h>

#include "base/index.h"
#include "lower/expressions.h"
#include "lower/members.h"
#include "lower/post.h"

namespace tilefuse::lower {

const schedule::CoreFeed *feed_of(const Context &member, int input) {
  if (member.member == poly::kAnchor)
    for (const schedule::CoreFeed &feed : member.members.resolved.feeds)
      if (feed.input == input)
        return &feed;
  return nullptr;
}

std::vector<CopiedInput> copied_inputs(const Context &member, int input) {
  const schedule::CoreFeed *feed = feed_of(member, input);
  if (feed == nullptr)
    return {{member.nest, member.source_buffers[at(input)], ""}};
  std::vector<CopiedInput> inputs;
  const Context &map = member.members.contexts[feed->producer];
  for (const int extra : feed->copied)
    inputs.push_back({schedule::reading(member.members.group, feed->producer, extra),
                      map.slot_buffers[map.whole.extras[at(extra)].slot],
                      fmt::format("_{}", extra)});
  return inputs;
}

nest::Linear read_form(const Context &anchor, const schedule::CoreFeed &feed, int extra) {
  const nest::Nest nest = schedule::reading(anchor.members.group, feed.producer, extra);
  return nest::flat(nest.inputs[at(feed.input)], nest.indices.size());
}

CoreInput::CoreInput(Context &context, int input, const std::vector<BufferId> &rings,
                     std::int64_t items)
    : GemmPart(context), feed_(feed_of(context, input)) {
  for (const CopiedInput &copied : copied_inputs(cx_, input))
    sides_.emplace_back(cx_, input,
                        CoreSource{.nest = copied.nest,
                                   .from = copied.from,
                                   .number = static_cast<int>(sides_.size()),
                                   .ring = rings.empty() ? BufferId{-1} : rings[sides_.size()],
                                   .items = items});
  if (feed_ != nullptr)
    side().follow();
}

StmtRef CoreInput::declare(ExprRef first) {
  Stmts list;
  for (CoreSide &side : sides_)
    list.push_back(side.declare(first));
  return b_.block(std::move(list));
}

StmtRef CoreInput::start(const Positions &points, ExprRef slot) const {
  Stmts list;
  for (const CoreSide &side : sides_)
    if (!side.gathers())
      list.push_back(side.start(points, slot));
  return b_.block(std::move(list));
}

// Of a run, in the type that arithmetic on it is done in; `shared` by extra.
ExprRef CoreInput::load(int extra, const CoreSide::Run &run,
                        const std::vector<ExprRef> &shared) const {
  if (shared[at(extra)] != nullptr)
    return shared[at(extra)];
  const CoreSide &side = sides_[feed_->place(extra)];
  const int lanes = static_cast<int>(side.run_elems());
  const DType type = b_.kernel()[side.ring()].type.elem;
  return b_.cast(b_.load(side.ring(), run.place, lanes), compute_type(type));
}

StmtRef CoreInput::evaluate(const Positions &points, ExprRef slot) const {
  if (feed_ == nullptr)
    return nullptr;
  const Context &producer = cx_.members.contexts[feed_->producer];
  const nest::Nest &map = producer.whole;
  const CoreSide &own = sides_.front();
  const int lanes = static_cast<int>(own.run_elems());
  Stmts list;
  const ExprRef valid = count_if(b_, own.shared_exists(points), lanes);
  std::vector<ExprRef> shared(map.extras.size(), nullptr);
  for (const int extra : feed_->read) {
    const nest::Linear flat = read_form(cx_, *feed_, extra);
    const BufferId from = producer.slot_buffers[map.extras[at(extra)].slot];
    shared[at(extra)] = named(b_, list, "shared",
                              shared_run(b_, from, own.shared_element(points, flat), lanes,
                                         own.shared_stride(flat), valid));
  }
  for (const CoreSide::Run &run : own.runs(points, slot, list)) {
    const ExprRef made =
        map_value(b_, map, lanes, [&](int extra) { return load(extra, run, shared); });
    list.push_back(b_.store(own.ring(), run.place, made, 1, count_if(b_, run.exists, lanes)));
  }
  list.push_back(own.next_runs());
  return b_.block(std::move(list));
}

} // namespace tilefuse::lower
