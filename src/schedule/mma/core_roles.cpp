// SPDX-License-Identifier: Apache-2.0
#include "schedule/mma/core_roles.h"

#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "base/index.h"
#include "nest/index.h"
#include "nest/points.h"
#include "schedule/roles.h"

namespace tilefuse::schedule {
namespace {

using nest::Nest;

constexpr std::int64_t kLongestRow = 128; // bytes of a step's depth

// How both inputs lie, for one way to call them data and filter.
struct Sides {
  std::optional<IndexId> depth = {}; // contiguous in what is not turned; none: all reduced indices
  std::optional<IndexId> block = {}; // of `depth`, where it lies in blocks
  std::optional<IndexId> pixel = {}; // contiguous in data that is turned
  std::optional<IndexId> channel = {}; // contiguous in a filter that is turned
  bool filter_turned() const { return channel.has_value(); }
  bool data_apart = false;
};

// The way to call them that is taken.
struct NamedSides {
  Roles roles;
  Sides sides;
};

bool can_turn(const Nest &nest, bool is_of_wgmma) {
  return std::all_of(nest.inputs.begin(), nest.inputs.end(), [&](const nest::Operand &input) {
    return turned_operands(type_of(nest, input), is_of_wgmma) != Turned::Never;
  });
}

std::optional<IndexId> first_contiguous(const nest::Operand &operand, const auto &indices) {
  for (const IndexId index : indices)
    if (is_contiguous(operand, index))
      return index;
  return {};
}

bool is_checked(const nest::Operand &operand, IndexId index) {
  return std::any_of(operand.dims.begin(), operand.dims.end(),
                     [&](const nest::Dim &dim) { return dim.guarded && dim.at.coeff[index] != 0; });
}

// The index of the blocks that `depth` lies in, both inputs straight and in place: it moves both
// and no subscript that is checked.
std::optional<IndexId> block_of(const Nest &nest, const Roles &roles, IndexId depth) {
  const nest::Operand &data = nest.inputs[at(roles.data)];
  const nest::Operand &filter = nest.inputs[at(roles.filter)];
  const std::int64_t elems = extent(nest, depth);
  if ((elems & (elems - 1)) != 0 || elems * size_bytes(type_of(nest, data)) >= kLongestRow)
    return {};
  for (const IndexId i : roles.depth) {
    const auto moves = [&](const nest::Operand &operand) {
      return nest::flat(operand, nest.indices.size()).coeff[i] != 0;
    };
    if (i != depth && extent(nest, i) > 1 && moves(data) && moves(filter) &&
        is_contiguous(filter, depth) && !is_checked(data, i) && !is_checked(filter, i))
      return i;
  }
  return {};
}

// Along the longest reduced index that moves the data through what is not checked, for a filter that
// can be packed to lie along it.
std::optional<Sides> gathered_sides(const Nest &nest, const Roles &roles) {
  if (!nest.inputs[at(roles.filter)].constant)
    return {};
  const nest::Operand &data = nest.inputs[at(roles.data)];
  const nest::Linear flat = nest::flat(data, nest.indices.size());
  std::optional<IndexId> longest;
  for (const IndexId i : roles.depth)
    if (flat.coeff[i] > 0 && !is_checked(data, i) &&
        (!longest || extent(nest, i) > extent(nest, *longest)))
      longest = i;
  if (!longest)
    return {};
  return Sides{.depth = longest, .data_apart = true};
}

std::optional<Sides> sides_of(const Nest &nest, const Roles &roles, bool is_of_wgmma) {
  const nest::Operand &data = nest.inputs[at(roles.data)];
  const nest::Operand &filter = nest.inputs[at(roles.filter)];
  const Ids<IndexId> reduced = reduced_indices(nest);
  // A filter that is constant can be packed to lie straight along any index.
  for (const IndexId i : reduced)
    if (is_contiguous(data, i) && (filter.constant || is_contiguous(filter, i)))
      return Sides{.depth = i, .block = block_of(nest, roles, i)};
  if (reduced.empty())
    return {};
  if (!can_turn(nest, is_of_wgmma))
    return gathered_sides(nest, roles);
  Sides sides{.pixel = first_contiguous(data, roles.pixels)};
  sides.channel = first_contiguous(filter, roles.channels);
  const std::optional<IndexId> of_data = first_contiguous(data, reduced);
  const std::optional<IndexId> of_filter = first_contiguous(filter, reduced);
  if (sides.filter_turned() && of_data) {
    sides.depth = of_data;
    sides.pixel = {};
  } else if (sides.pixel && of_filter) {
    sides.depth = of_filter;
    sides.channel = {};
  } else if (!sides.pixel || !sides.filter_turned()) {
    return gathered_sides(nest, roles);
  }
  return sides;
}

Roles exchanged(Roles roles) {
  std::swap(roles.data, roles.filter);
  std::swap(roles.pixels, roles.channels);
  return roles;
}

// Whether the pixel that data is turned by lies nearer in the result than the channel.
bool has_near_pixels(const Sides &sides, const nest::Linear &out) {
  return sides.pixel && sides.channel &&
         std::llabs(out.coeff[*sides.pixel]) < std::llabs(out.coeff[*sides.channel]);
}

// Whether some subscript moves with an output index and a reduced one, or skips points: the operand
// is no matrix of the points it is read at.
bool has_window(const Nest &nest, const nest::Operand &operand) {
  return std::any_of(operand.dims.begin(), operand.dims.end(), [&](const nest::Dim &dim) {
    const auto moves = [&](const Ids<IndexId> &indices) {
      return std::any_of(indices.begin(), indices.end(),
                         [&](IndexId i) { return dim.at.coeff[i] != 0 && extent(nest, i) > 1; });
    };
    const auto skips = [&](IndexId i) {
      return std::llabs(dim.at.coeff[i]) > 1 &&
             std::count(dim.at.coeff.begin(), dim.at.coeff.end(), 0) + 1 ==
                 static_cast<std::ptrdiff_t>(dim.at.coeff.size());
    };
    const Ids<IndexId> outputs = output_indices(nest);
    return (moves(outputs) && moves(reduced_indices(nest))) ||
           std::any_of(outputs.begin(), outputs.end(), skips);
  });
}

// The input under a window is wgmma's data, whose taps it walks; or its filter where both are
// turned, whose columns are dealt out over taps. Its stores do not ask how results lie.
std::optional<NamedSides> sides_under_window(const Nest &nest, const Roles &roles,
                                             const Roles &exchanged) {
  const bool is_data = has_window(nest, nest.inputs[at(roles.data)]);
  if (is_data == has_window(nest, nest.inputs[at(roles.filter)]))
    return {};
  const Roles &as_data = is_data ? roles : exchanged;
  const std::optional<Sides> walked = sides_of(nest, as_data, true);
  if (walked && walked->depth && !walked->pixel && !walked->data_apart)
    return NamedSides{as_data, *walked};
  const Roles &as_filter = is_data ? exchanged : roles;
  const std::optional<Sides> dealt = sides_of(nest, as_filter, true);
  if (dealt && dealt->pixel && dealt->channel)
    return NamedSides{as_filter, *dealt};
  return {};
}

// The channel is contiguous in the result if either way allows, or else nearer than the pixel. Turned
// data beside a straight filter is nothing for wgmma.
std::optional<NamedSides> sides_of(const Nest &nest, bool is_of_wgmma) {
  const std::optional<Roles> roles = roles_of(nest);
  if (!roles || roles->channels.empty() || roles->pixels.empty())
    return {};
  const Roles other_roles = exchanged(*roles);
  if (is_of_wgmma)
    if (std::optional<NamedSides> sides = sides_under_window(nest, *roles, other_roles))
      return sides;
  const std::optional<Sides> plain = sides_of(nest, *roles, is_of_wgmma);
  const nest::Linear out = nest::flat(nest.out, nest.indices.size());
  const bool exchanges =
      out.coeff[at(roles->channels.front())] != 1 &&
      (out.coeff[at(roles->pixels.front())] == 1 || (plain && has_near_pixels(*plain, out)));
  const std::optional<Sides> other = sides_of(nest, other_roles, is_of_wgmma);
  const auto is_refused = [](const std::optional<Sides> &sides) {
    return !sides || (sides->pixel && !sides->channel);
  };
  const bool takes_other = is_of_wgmma && is_refused(plain) != is_refused(other)
                               ? is_refused(plain)
                               : exchanges && other;
  if (takes_other)
    return other ? std::optional<NamedSides>({other_roles, *other}) : std::nullopt;
  return plain ? std::optional<NamedSides>({*roles, *plain}) : std::nullopt;
}

CoreRoles roles_in(const Nest &nest, const NamedSides &named, const std::vector<IndexId> &order) {
  const auto &[roles, sides] = named;
  CoreRoles result{.data = roles.data,
                   .filter = roles.filter,
                   .data_turned = sides.pixel.has_value(),
                   .filter_turned = sides.filter_turned(),
                   .data_apart = sides.data_apart,
                   .channel = sides.channel.value_or(roles.channels.front())};
  const auto is_pixel = [&](IndexId i) {
    const bool moves = std::find(roles.pixels.begin(), roles.pixels.end(), i) != roles.pixels.end();
    return result.data_turned ? i == sides.pixel : moves;
  };
  result.channels.assign(roles.channels.rbegin(), roles.channels.rend());
  if (result.filter_turned)
    result.channels = {result.channel};
  result.channel_points = points_of(nest, result.channels);
  const auto is_channel = [&](IndexId i) {
    return std::find(result.channels.begin(), result.channels.end(), i) != result.channels.end();
  };
  for (const IndexId i : order) {
    const std::int64_t points = extent(nest, i);
    if (!is_output(nest, i)) {
      const bool is_depth = !sides.depth || i == sides.depth || i == sides.block;
      (is_depth ? result.depths : result.walked).push_back(i);
      result.depth_points *= is_depth ? points : 1;
    } else if (is_pixel(i)) {
      result.pixels.push_back(i);
      result.points *= points;
    } else if (!is_channel(i)) {
      result.grid.push_back(i);
    }
  }
  // Blocks stand before what they are made of, whatever the order of the loops.
  if (sides.block)
    result.depths = {*sides.block, *sides.depth};
  return result;
}

} // namespace

bool is_contiguous(const nest::Operand &operand, IndexId index) {
  for (const nest::Dim &dim : operand.dims) {
    if (dim.at.coeff[index] == 0)
      continue;
    const std::ptrdiff_t users =
        std::count_if(operand.dims.begin(), operand.dims.end(),
                      [&](const nest::Dim &other) { return other.at.coeff[index] != 0; });
    return users == 1 && !dim.guarded && dim.at.coeff[index] * dim.stride == 1;
  }
  return false;
}

std::optional<std::string> no_core_roles(const Nest &nest, bool is_of_wgmma) {
  const std::optional<Roles> roles = roles_of(nest);
  if (!roles || !nest.constraints.empty() || roles->channels.empty() || roles->pixels.empty())
    return "it is not an unconstrained sum of products of inputs that have indices of their own";
  if (sides_of(nest, is_of_wgmma))
    return {};
  return can_turn(nest, is_of_wgmma)
             ? "neither a reduced index nor its own lies contiguously in each input"
             : "no reduced index lies contiguously in each input, whose elements are read no other "
               "way";
}

CoreRoles core_roles(const Nest &nest, const Schedule &schedule) {
  const bool is_of_wgmma = has_core(schedule) && is_wgmma(*schedule.core.op);
  const std::optional<NamedSides> sides = sides_of(nest, is_of_wgmma);
  TILEFUSE_CHECK(sides, "a matrix instruction for what is not a sum of products");
  return roles_in(nest, *sides, schedule.order);
}

SideTypes side_types(const Nest &nest, bool is_of_wgmma) {
  const std::optional<NamedSides> sides = sides_of(nest, is_of_wgmma);
  if (!sides)
    return {};
  return {type_of(nest, nest.inputs[at(sides->roles.data)]),
          type_of(nest, nest.inputs[at(sides->roles.filter)])};
}

Pipe &data_pipe(const Nest &nest, Schedule &schedule) {
  return schedule.pipes[at(core_roles(nest, schedule).data)];
}

} // namespace tilefuse::schedule
