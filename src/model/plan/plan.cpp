// SPDX-License-Identifier: Apache-2.0
#include "model/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "base/index.h"
#include "launch/arguments.h"
#include "schedule/staging.h"

namespace tilefuse::model {
namespace {

using program::Buffer;
using program::BufferId;
using program::Role;

std::int64_t align_up(std::int64_t bytes, std::int64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

class Planner {
public:
  Planner(const Compiled &compiled, std::int64_t alignment)
      : compiled_(compiled), alignment_(alignment) {
    plan_.buffers.resize(compiled.stored.buffers.size());
  }

  Plan run() {
    for (std::size_t l = 0; l < compiled_.launches.size(); ++l)
      add_launch(static_cast<int>(l));
    for (program::TensorId id : compiled_.stored.program.inputs)
      touch_tensor(id);
    for (program::TensorId id : compiled_.stored.program.outputs)
      touch_tensor(id);
    place_own_memory();
    place_shared_memory();
    return std::move(plan_);
  }

private:
  void add_launch(int number) {
    const launch::Launch &launch = compiled_.launches[at(number)].launch;
    const int last = last_beside(number);
    std::vector<PlannedArgument> arguments;
    for (const launch::Argument &argument : launch::arguments(launch).all) {
      const BufferId buffer = buffer_of(launch, argument);
      if (!argument.arg.slot) {
        arguments.push_back({.constant = packed_constant(number, argument, buffer)});
      } else if (compiled_.stored.buffers[at(buffer)].role == Role::Constant) {
        arguments.push_back({.constant = plain_constant(buffer)});
      } else {
        touch(buffer, number);
        touch(buffer, last);
        arguments.push_back({.buffer = buffer});
      }
    }
    plan_.launches.push_back(std::move(arguments));
  }

  // The last launch that may run before a launch has ended.
  int last_beside(int number) const {
    const std::optional<std::size_t> before = compiled_.launches[at(number)].before;
    return before ? static_cast<int>(*before) - 1 : number;
  }

  int add_constant(PlannedConstant constant) {
    constant.offset = plan_.weight_bytes;
    plan_.weight_bytes += align_up(constant.elems * size_bytes(constant.type), alignment_);
    plan_.constants.push_back(constant);
    return static_cast<int>(plan_.constants.size()) - 1;
  }

  int plain_constant(BufferId buffer) {
    const auto [found, is_new] = plain_.emplace(buffer, 0);
    const Buffer &info = compiled_.stored.buffers[at(buffer)];
    if (is_new)
      found->second = add_constant({.buffer = buffer, .type = info.type, .elems = info.elems});
    return found->second;
  }

  // Parts at one place of one package with one constant share its packed form.
  int packed_constant(int number, const launch::Argument &argument, BufferId buffer) {
    const CompiledLaunch &launch = compiled_.launches[at(number)];
    const launch::Part &part = launch.launch.parts[argument.part];
    const auto &[slot, input, member] = argument.arg;
    const auto [found, is_new] =
        packed_.emplace(std::tuple(launch.package, argument.part, member, input, buffer), 0);
    const nest::Nest &nest = member_nest(part.placed.group, member);
    const schedule::Schedule &own = member_schedule(part.schedule, member);
    if (is_new)
      found->second = add_constant({.buffer = buffer,
                                    .launch = number,
                                    .packed = argument,
                                    .type = schedule::packed_type(nest, own, input),
                                    .elems = pack_layout(nest, own, input).elems});
    return found->second;
  }

  void touch(BufferId id, int launch) {
    PlacedBuffer &placed = plan_.buffers[at(id)];
    if (!placed.is_used)
      placed.first_launch = launch;
    placed.is_used = true;
    placed.last_launch = std::max(placed.last_launch, launch);
    const Buffer &info = compiled_.stored.buffers[at(id)];
    placed.bytes = info.elems * size_bytes(info.type);
    placed.is_shared = model::is_shared(info);
  }

  void touch_tensor(program::TensorId id) {
    const BufferId buffer = compiled_.stored.windows[at(id)].buffer;
    touch(buffer, 0);
    plan_.buffers[at(buffer)].last_launch = static_cast<int>(compiled_.launches.size());
  }

  void place_own_memory() {
    for (PlacedBuffer &buffer : plan_.buffers) {
      if (!buffer.is_used || buffer.is_shared)
        continue;
      buffer.offset = plan_.activation_bytes;
      plan_.activation_bytes += align_up(buffer.bytes, alignment_);
    }
    plan_.arena_begin = plan_.activation_bytes;
  }

  // Largest first, each at the lowest offset where nothing alive at the same time lies.
  void place_shared_memory() {
    std::vector<PlacedBuffer *> order;
    for (PlacedBuffer &buffer : plan_.buffers)
      if (buffer.is_used && buffer.is_shared)
        order.push_back(&buffer);
    std::stable_sort(order.begin(), order.end(), [](const PlacedBuffer *a, const PlacedBuffer *b) {
      return a->bytes > b->bytes;
    });
    std::vector<const PlacedBuffer *> placed; // by offset
    for (PlacedBuffer *buffer : order) {
      buffer->offset = lowest_free(*buffer, placed);
      placed.insert(std::upper_bound(placed.begin(), placed.end(), buffer,
                                     [](const PlacedBuffer *a, const PlacedBuffer *b) {
                                       return a->offset < b->offset;
                                     }),
                    buffer);
      plan_.activation_bytes =
          std::max(plan_.activation_bytes, buffer->offset + align_up(buffer->bytes, alignment_));
    }
  }

  std::int64_t lowest_free(const PlacedBuffer &buffer,
                           const std::vector<const PlacedBuffer *> &placed) const {
    std::int64_t offset = plan_.arena_begin;
    for (const PlacedBuffer *other : placed) {
      const bool together =
          other->first_launch <= buffer.last_launch && buffer.first_launch <= other->last_launch;
      if (!together)
        continue;
      if (offset + buffer.bytes <= other->offset)
        return offset;
      offset = std::max(offset, other->offset + align_up(other->bytes, alignment_));
    }
    return offset;
  }

  const Compiled &compiled_;
  std::int64_t alignment_;
  Plan plan_;
  std::map<BufferId, int> plain_;
  std::map<std::tuple<std::size_t, std::size_t, poly::MemberId, int, BufferId>, int> packed_;
};

} // namespace

bool is_shared(const Buffer &buffer) {
  return buffer.role == Role::Temporary && !buffer.is_output && !buffer.needs_zero;
}

Plan make_plan(const Compiled &compiled, std::int64_t alignment) {
  return Planner(compiled, alignment).run();
}

std::string to_text(const Plan &plan, const Compiled &compiled) {
  std::string text =
      fmt::format("plan\nweights {} bytes\nactivations {} bytes, {} shared\n", plan.weight_bytes,
                  plan.activation_bytes, plan.activation_bytes - plan.arena_begin);
  for (std::size_t c = 0; c < plan.constants.size(); ++c) {
    const PlannedConstant &constant = plan.constants[c];
    text += fmt::format("constant {} at {} {}[{}]", c, constant.offset,
                        tilefuse::to_string(constant.type), constant.elems);
    if (constant.launch >= 0)
      text += fmt::format(" packed launch {}{} input {}", constant.launch,
                          constant.packed.arg.member != poly::kAnchor
                              ? fmt::format(" member {}", constant.packed.arg.member)
                              : std::string(),
                          constant.packed.arg.packed_input);
    text += "\n";
  }
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    const PlacedBuffer &buffer = plan.buffers[b];
    if (!buffer.is_used)
      continue;
    text += fmt::format("buffer {} at {} bytes {} ", b, buffer.offset, buffer.bytes);
    text += buffer.is_shared ? fmt::format("live {}..{}\n", buffer.first_launch, buffer.last_launch)
                             : std::string("own\n");
  }
  for (std::size_t k = 0; k < plan.launches.size(); ++k) {
    text += fmt::format("launch {} {}", k, compiled.package(compiled.launches[k]).name);
    for (const PlannedArgument &argument : plan.launches[k])
      text += argument.constant >= 0 ? fmt::format(" constant:{}", argument.constant)
                                     : fmt::format(" buffer:{}", to_int(argument.buffer));
    if (const std::optional<std::size_t> before = compiled.launches[k].before)
      text += fmt::format(" aside before {}", *before);
    text += "\n";
    for (const launch::Part &part : compiled.launches[k].launch.parts)
      for (const std::string &note : part.placed.notes)
        text += note;
  }
  return text;
}

} // namespace tilefuse::model
