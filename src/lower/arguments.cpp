// SPDX-License-Identifier: Apache-2.0
#include "lower/arguments.h"

#include <fmt/format.h>

#include "schedule/staging.h"

namespace tilefuse::lower {

using kernel::Space;

void declare_arguments(Context &cx) {
  const std::vector<schedule::KernelArg> args = kernel_args(cx.nest, cx.schedule);
  cx.slot_buffers.assign(cx.nest.slots.size(), kernel::BufferId{-1});
  cx.source_buffers.assign(cx.nest.inputs.size(), kernel::BufferId{-1});
  for (std::size_t a = 0; a < args.size(); ++a) {
    kernel::Buffer buffer{.name = fmt::format("b{}", a), .space = Space::Global};
    if (args[a].slot >= 0) {
      const nest::Slot &slot = cx.nest.slots[static_cast<std::size_t>(args[a].slot)];
      buffer.type = {slot.type, 1};
      buffer.elems = slot.elems;
      buffer.written = args[a].slot == cx.nest.out.slot;
      cx.slot_buffers[static_cast<std::size_t>(args[a].slot)] = cx.build.buffer(buffer);
    } else {
      buffer.type = {schedule::packed_type(cx.nest, cx.schedule, args[a].packed_input), 1};
      buffer.elems = pack_layout(cx.nest, cx.schedule, args[a].packed_input).elems;
      cx.source_buffers[static_cast<std::size_t>(args[a].packed_input)] = cx.build.buffer(buffer);
    }
  }
  for (std::size_t k = 0; k < cx.nest.inputs.size(); ++k)
    if (!is_packed(cx.schedule.fills[k]))
      cx.source_buffers[k] = cx.slot_buffers[static_cast<std::size_t>(cx.nest.inputs[k].slot)];
}

double bytes_moved(const kernel::Kernel &kernel) {
  double bytes = 0;
  for (const kernel::Buffer &buffer : kernel.buffers)
    if (buffer.space == Space::Global)
      bytes += static_cast<double>(buffer.elems * size_bytes(buffer.type.elem));
  return bytes;
}

} // namespace tilefuse::lower
