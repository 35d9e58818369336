// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/stage.h"

#include "lower/members.h"
#include "lower/simt/stage_group.h"
#include "lower/simt/stage_rows.h"
#include "lower/simt/stage_turned.h"

namespace tilefuse::lower {

using schedule::Fill;

StmtRef declare_offsets(const Context &cx, bool in_chunks, StageOffsets &offsets) {
  offsets.resize(cx.nest.inputs.size());
  Stmts lets;
  for (std::size_t k = 0; k < offsets.size(); ++k)
    if (is_copied_by_items(cx.schedule, static_cast<int>(k)) &&
        cx.schedule.pipes[k].at.has_value() == in_chunks)
      lets.push_back(GroupFill::declare(cx, static_cast<int>(k), offsets[k]));
  return cx.build.block(std::move(lets));
}

StmtRef fill_stages(const Context &cx, std::optional<IndexId> level, const StageOffsets &offsets) {
  Stmts fills;
  for (std::size_t k = 0; k < cx.nest.inputs.size(); ++k) {
    const schedule::Pipe &stage = cx.schedule.pipes[k];
    if (!is_staged(cx.schedule.fills[k]) || stage.at != level || stage.is_ahead())
      continue;
    const int input = static_cast<int>(k);
    if (cx.schedule.fills[k] == Fill::Produced)
      fills.push_back(cx.members.fill_produced(cx, input));
    else
      fills.push_back(!cx.is_vector() ? GroupFill(cx, input, offsets[k]).copy()
                      : stage.layout == schedule::Layout::Transposed ? fill_turned(cx, input)
                                                                     : fill_by_rows(cx, input));
  }
  return fills.empty() ? nullptr : cx.build.block(std::move(fills));
}

StmtRef start_copies(const Context &cx, const StageOffsets &offsets) {
  Stmts copies;
  for (std::size_t k = 0; k < cx.nest.inputs.size(); ++k)
    if (cx.schedule.pipes[k].is_async())
      copies.push_back(GroupFill(cx, static_cast<int>(k), offsets[k]).copy_asynchronously());
  return cx.build.block(std::move(copies));
}

Prefetch::Prefetch(const Context &cx, int input, const GroupOffsets &offsets)
    : input_(input), offsets_(offsets),
      registers_(GroupFill(cx, input, offsets).declare_registers()) {}

StmtRef Prefetch::fetch(const Context &cx) const {
  return GroupFill(cx, input_, offsets_).fetch(registers_);
}

StmtRef Prefetch::put(const Context &cx) const {
  return GroupFill(cx, input_, offsets_).put(registers_);
}

} // namespace tilefuse::lower
