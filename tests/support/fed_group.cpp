// SPDX-License-Identifier: Apache-2.0
#include "support/fed_group.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/index.h"

namespace tilefuse::model {
namespace {

// Of neighbouring elements: the last that steps by one, where the tensor has a single channel too.
std::size_t channel_dim(const nest::Operand &of) {
  std::size_t found = 0;
  for (std::size_t d = 0; d < of.dims.size(); ++d)
    if (of.dims[d].stride == 1)
      found = d;
  return found;
}

std::string dims_text(const nest::Operand &of, Reads reads) {
  std::string text;
  for (std::size_t d = 0; d < of.dims.size(); ++d)
    if (reads == Reads::Tensor || d == channel_dim(of))
      text += fmt::format("{}d{}:{}*{}", text.empty() ? "" : ", ", d, of.dims[d].size,
                          of.dims[d].stride);
  return text;
}

} // namespace

poly::Group fed(const poly::Group &group, int input, const std::string &post,
                const std::vector<Reads> &reads) {
  const nest::Operand &of = group.anchor.inputs[at(input)];
  const nest::Slot slot = group.anchor.slots[of.slot];
  std::string indices, slots, extras;
  const std::int64_t channels = of.dims[channel_dim(of)].size;
  for (std::size_t d = 0; d < of.dims.size(); ++d)
    indices += fmt::format("{} d{} {}", d == 0 ? "" : ",", d, of.dims[d].size);
  const int first = 100;
  poly::PlacedGroup placed{group, {}, "", {}};
  for (std::size_t s = 0; s < group_slots(group).size(); ++s)
    placed.buffers.push_back(program::BufferId{static_cast<int>(s)});
  std::vector<program::BufferId> buffers;
  for (std::size_t e = 0; e < reads.size(); ++e) {
    const bool whole = reads[e] == Reads::Tensor;
    slots += fmt::format("{} {} {}, ", e, whole ? to_string(slot.type) : "f32",
                         whole ? slot.elems : channels);
    extras += fmt::format(" extra {} + 0 [{}]\n", e, dims_text(of, reads[e]));
    buffers.push_back(program::BufferId{first + 10 * input + static_cast<int>(e)});
  }
  buffers.push_back(placed.buffers[of.slot]);
  const std::string text = fmt::format(
      "nest map {{\n index{}\n slot {}{} {} {}\n acc {} = assign\n out {} + {} [{}]\n{} post "
      "{}({})\n}}\n",
      indices, slots, reads.size(), to_string(slot.type), slot.elems, to_string(slot.type),
      reads.size(), of.offset, dims_text(of, Reads::Tensor), extras, to_string(slot.type), post);
  const poly::PlacedGroup map{{nest::parse_nest(text), {}}, buffers, "", {}};
  std::string why;
  const std::optional<poly::PlacedGroup> made = attach(placed, poly::kAnchor, input, map, &why);
  if (!made)
    throw Error(ErrorCode::Shape, why);
  return made->group;
}

poly::Group normalised(const poly::Group &group, int input) {
  return fed(group, input, "max(f32($0) * $1 + $2, 0)",
             {Reads::Tensor, Reads::Channels, Reads::Channels});
}

poly::Group masked(const poly::Group &group, int input) {
  return fed(group, input, "select($1 > 0, $0, 0)", {Reads::Tensor, Reads::Tensor});
}

} // namespace tilefuse::model
