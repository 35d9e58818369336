// SPDX-License-Identifier: Apache-2.0
#include "lower/members.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/index.h"
#include "lower/kernel_name.h"
#include "poly/row_group.h"
#include "schedule/blocks.h"
#include "schedule/dots.h"
#include "schedule/lane_reduction.h"
#include "schedule/members.h"

namespace tilefuse::lower {
namespace {

using kernel::BufferId;
using kernel::Space;
using schedule::KernelArg;

// Whether every member that reads the slot knows it at load time.
bool is_constant(const poly::Group &group, poly::SlotId slot) {
  bool is_read = false;
  bool is_known = true;
  const auto see = [&](const nest::Operand &operand, poly::SlotId of) {
    is_read |= of == slot;
    is_known &= of != slot || operand.constant;
  };
  for (const poly::MemberId m : members(group))
    for (const auto *operands : {&member_nest(group, m).inputs, &member_nest(group, m).extras})
      for (const nest::Operand &operand : *operands)
        see(operand, group_slot(group, m, operand.slot));
  for (const poly::TileSum &sum : group.sums)
    for (const nest::Operand &input : sum.nest.inputs)
      see(input, sum.slots[input.slot]);
  return is_read && is_known;
}

// At the first point of everything, without buffers.
Context make_context(const Members &members, poly::MemberId member, const Target &target,
                     kernel::Builder &build) {
  const nest::Nest &whole = member_nest(members.group, member);
  Context cx{.nest = members.resolved.nests[member],
             .schedule = member_schedule(members.schedule, member),
             .target = target,
             .build = build,
             .whole = whole,
             .members = members,
             .member = member};
  const std::vector<kernel::ExprRef> zeros(whole.indices.size(), build.integer(0));
  cx.start = cx.origin = cx.inside = cx.kept = cx.lane_at = cx.chunk = cx.value = zeros;
  cx.first.assign(whole.indices.size(), nullptr);
  cx.result_base = cx.turn = build.integer(0);
  return cx;
}

// The buffers of the kernel's arguments, by argument.
std::vector<BufferId> declare_arguments(const Members &members, kernel::Builder &build,
                                        const std::vector<KernelArg> &args) {
  const Indexed<poly::SlotId, nest::Slot> slots = group_slots(members.group);
  const std::vector<poly::SlotId> written = written_slots(members.group);
  std::vector<BufferId> buffers;
  for (std::size_t a = 0; a < args.size(); ++a) {
    kernel::Buffer buffer{.name = fmt::format("b{}", a), .space = Space::Global};
    if (args[a].slot) {
      buffer.type = {slots[*args[a].slot].type, 1};
      buffer.elems = slots[*args[a].slot].elems;
      buffer.written = std::count(written.begin(), written.end(), args[a].slot) > 0;
      buffer.fixed = !buffer.written && is_constant(members.group, *args[a].slot);
    } else {
      const nest::Nest &nest = member_nest(members.group, args[a].member);
      const schedule::Schedule &own = member_schedule(members.schedule, args[a].member);
      buffer.type = {schedule::packed_type(nest, own, args[a].packed_input), 1};
      buffer.elems = pack_layout(nest, own, args[a].packed_input).elems;
      buffer.fixed = true;
    }
    buffers.push_back(build.buffer(buffer));
  }
  return buffers;
}

// Where the member finds its slots and inputs in memory.
void bind(Context &cx, const std::vector<KernelArg> &args, const std::vector<BufferId> &buffers) {
  cx.source_buffers.assign(cx.nest.inputs.size(), BufferId{-1});
  for (std::size_t a = 0; a < args.size(); ++a)
    if (!args[a].slot && args[a].member == cx.member)
      cx.source_buffers[at(args[a].packed_input)] = buffers[a];
  for (const poly::SlotId s : cx.nest.slots.ids())
    cx.slot_buffers.push_back(cx.members.slots[group_slot(cx.members.group, cx.member, s)]);
  for (std::size_t k = 0; k < cx.nest.inputs.size(); ++k)
    if (cx.schedule.fills.empty() || !is_packed(cx.schedule.fills[k]))
      cx.source_buffers[k] = cx.slot_buffers[cx.nest.inputs[k].slot];
}

void declare_rows(Context &cx) {
  const schedule::DotRows rows = *dot_rows(cx.nest, cx.schedule);
  const DotOp &op = *cx.schedule.dot;
  const auto declare = [&](const char *name, kernel::Type type, std::int64_t count,
                           std::int64_t of_each) {
    return cx.build.buffer({.name = name,
                            .space = Space::Register,
                            .type = type,
                            .elems = count,
                            .rows = static_cast<int>(of_each)});
  };
  const int depth = static_cast<int>(rows.groups) * op.products;
  cx.rows.memory = declare_local(cx, schedule::LocalUse::Rows);
  cx.rows.sums[0] = declare("sums", {op.sum, cx.width()}, rows.sums, rows.rows);
  cx.rows.data[0] = declare("data", {op.a, depth}, 1, rows.rows);
  cx.rows.filter = declare("filter", {op.b, cx.width() * op.products}, rows.filters, rows.groups);
  if (rows.last == 0)
    return;
  cx.rows.sums[1] = declare("last_sums", {op.sum, cx.width()}, rows.last_sums, rows.last);
  cx.rows.data[1] = declare("last_data", {op.a, depth}, 1, rows.last);
}

void declare_locals(Context &cx) {
  cx.input_buffers = cx.source_buffers;
  for (std::size_t k = 0; k < cx.schedule.fills.size(); ++k) {
    if (!is_staged(cx.schedule.fills[k]))
      continue;
    cx.input_buffers[k] = declare_local(cx, schedule::LocalUse::Stage, static_cast<int>(k));
  }
  if (schedule::lane_buffer_elems(cx.nest, cx.schedule) > 0)
    cx.lane_buffer = declare_local(cx, schedule::LocalUse::Lanes);
  if (schedule::has_dot_rows(cx.schedule))
    declare_rows(cx);
}

} // namespace

Members::Members(const poly::Group &from, const schedule::Schedule &how, const Target &target,
                 kernel::Builder &build)
    : resolved(from, how) {
  const std::vector<KernelArg> &args = resolved.args;
  const std::vector<BufferId> buffers = declare_arguments(*this, build, args);
  slots.assign(group_slots(group).size(), BufferId{-1});
  for (std::size_t a = 0; a < args.size(); ++a)
    if (args[a].slot)
      slots[*args[a].slot] = buffers[a];
  contexts.reserve(resolved.nests.size());
  for (const poly::MemberId m : resolved.nests.ids()) {
    Context &cx = contexts.emplace_back(make_context(*this, m, target, build));
    if (resolved.gemms[m])
      cx.product = &*resolved.gemms[m];
    bind(cx, args, buffers);
    if (m == poly::kAnchor) {
      cx.result = cx.slot_buffers[cx.nest.out.slot];
      cx.result_form = nest::flat(cx.nest.out, cx.nest.indices.size());
    }
    if (has_schedule(group, m) && !has_core(cx.schedule))
      declare_locals(cx);
  }
}

BufferId declare_local(const Context &member, schedule::LocalUse use, int number) {
  const std::vector<schedule::LocalBuffer> &all = member.members.resolved.locals[member.member];
  const auto found = std::find_if(all.begin(), all.end(), [&](const schedule::LocalBuffer &each) {
    return each.use == use && each.number == number;
  });
  TILEFUSE_CHECK(found != all.end(), "a buffer of local memory that the schedule has not");
  return member.build.buffer({.name = found->name,
                              .space = Space::Local,
                              .type = {found->type, 1},
                              .elems = found->elems});
}

double flops(const poly::Group &group) {
  double sum = nest::flops(group.anchor);
  for (const poly::Producer &producer : group.producers)
    sum += nest::flops(producer.nest);
  for (const poly::TileSum &of_tiles : group.sums)
    sum += nest::flops(of_tiles.nest);
  return sum;
}

double bytes_moved(const kernel::Kernel &kernel) {
  double bytes = 0;
  for (const kernel::Buffer &buffer : kernel.buffers)
    if (buffer.space == Space::Global)
      bytes += static_cast<double>(buffer.elems * size_bytes(buffer.type.elem));
  return bytes;
}

kernel::Kernel group_kernel(const poly::Group &group, const schedule::Schedule &schedule,
                            const Target &target,
                            const std::function<kernel::StmtRef(Members &)> &body) {
  kernel::Kernel kernel;
  kernel::Builder build(kernel);
  Members members(group, schedule, target, build);
  kernel.name = kernel_name(group, schedule, target);
  kernel.blocks = schedule::blocks(group.anchor, schedule);
  kernel.cluster = schedule.tiles.cluster();
  kernel.block_size = members.contexts[0].block_size();
  kernel.flops = flops(group);
  kernel.bytes = bytes_moved(kernel);
  kernel.body = body(members);
  return kernel;
}

} // namespace tilefuse::lower
