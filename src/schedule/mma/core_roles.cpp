// SPDX-License-Identifier: Apache-2.0
#include "schedule/mma/core_roles.h"

#include <algorithm>

#include "base/error.h"
#include "base/index.h"
#include "nest/index.h"
#include "schedule/roles.h"

namespace tilefuse::schedule {
namespace {

using nest::Nest;

constexpr std::int64_t kTurnedBytes = 2;  // of an element that ldmatrix can turn
constexpr std::int64_t kLongestRow = 128; // bytes of a step's depth

// How both inputs lie, for one way to call them data and filter.
struct Sides {
  Roles roles;
  int depth = -1; // contiguous in what is not turned; -1: all reduced indices
  int block = -1; // of `depth`, where it lies in blocks
  int pixel = -1; // contiguous in data that is turned
  bool filter_turned = false;
  bool data_apart = false;
};

std::vector<int> numbers(const std::vector<IndexId> &indices) {
  std::vector<int> list;
  for (const IndexId i : indices)
    list.push_back(to_int(i));
  return list;
}

bool can_turn(const Nest &nest) {
  return std::all_of(nest.inputs.begin(), nest.inputs.end(), [&](const nest::Operand &input) {
    return size_bytes(type_of(nest, input)) == kTurnedBytes;
  });
}

int first_contiguous(const nest::Operand &operand, const std::vector<int> &indices) {
  const auto found = std::find_if(indices.begin(), indices.end(),
                                  [&](int index) { return is_contiguous(operand, index); });
  return found == indices.end() ? -1 : *found;
}

bool is_checked(const nest::Operand &operand, int index) {
  return std::any_of(operand.dims.begin(), operand.dims.end(), [&](const nest::Dim &dim) {
    return dim.guarded && dim.at.coeff[at(index)] != 0;
  });
}

// The index of the blocks that `depth` lies in, both inputs straight and in place: it moves both
// and no subscript that is checked. -1: none.
int block_of(const Nest &nest, const Roles &roles, int depth) {
  const nest::Operand &data = nest.inputs[at(roles.data)];
  const nest::Operand &filter = nest.inputs[at(roles.filter)];
  const std::int64_t elems = nest.indices[at(depth)].extent;
  if ((elems & (elems - 1)) != 0 || elems * size_bytes(type_of(nest, data)) >= kLongestRow)
    return -1;
  for (int i : numbers(roles.depth)) {
    const auto moves = [&](const nest::Operand &operand) {
      return nest::flat(operand, nest.indices.size()).coeff[at(i)] != 0;
    };
    if (i != depth && nest.indices[at(i)].extent > 1 && moves(data) && moves(filter) &&
        is_contiguous(filter, depth) && !is_checked(data, i) && !is_checked(filter, i))
      return i;
  }
  return -1;
}

// The longest reduced index that moves the data through what is not checked, for a filter that can
// be packed to lie along it. -1: none.
int gathered_depth(const Nest &nest, const Roles &roles) {
  const nest::Operand &data = nest.inputs[at(roles.data)];
  const nest::Linear flat = nest::flat(data, nest.indices.size());
  int longest = -1;
  if (!nest.inputs[at(roles.filter)].constant)
    return longest;
  for (int i : numbers(roles.depth))
    if (flat.coeff[at(i)] > 0 && !is_checked(data, i) &&
        (longest < 0 || nest.indices[at(i)].extent > nest.indices[at(longest)].extent))
      longest = i;
  return longest;
}

std::optional<Sides> gathered_sides(const Nest &nest, Roles roles) {
  const int depth = gathered_depth(nest, roles);
  if (depth < 0)
    return {};
  return Sides{.roles = std::move(roles), .depth = depth, .data_apart = true};
}

std::optional<Sides> sides_of(const Nest &nest, Roles roles) {
  const nest::Operand &data = nest.inputs[at(roles.data)];
  const nest::Operand &filter = nest.inputs[at(roles.filter)];
  std::vector<int> reduced;
  for (int i = nest.output_indices; i < static_cast<int>(nest.indices.size()); ++i)
    reduced.push_back(i);
  // A filter that is constant can be packed to lie straight along any index.
  for (int i : reduced)
    if (is_contiguous(data, i) && (filter.constant || is_contiguous(filter, i))) {
      const int block = block_of(nest, roles, i);
      return Sides{.roles = std::move(roles), .depth = i, .block = block};
    }
  if (reduced.empty())
    return {};
  if (!can_turn(nest))
    return gathered_sides(nest, std::move(roles));
  Sides sides{.pixel = first_contiguous(data, numbers(roles.pixels))};
  sides.filter_turned = is_contiguous(filter, to_int(roles.channels.front()));
  const int of_data = first_contiguous(data, reduced);
  const int of_filter = first_contiguous(filter, reduced);
  if (sides.filter_turned && of_data >= 0) {
    sides.depth = of_data;
    sides.pixel = -1;
  } else if (sides.pixel >= 0 && of_filter >= 0) {
    sides.depth = of_filter;
    sides.filter_turned = false;
  } else if (sides.pixel < 0 || !sides.filter_turned) {
    return gathered_sides(nest, std::move(roles));
  }
  sides.roles = std::move(roles);
  return sides;
}

Roles exchanged(Roles roles) {
  std::swap(roles.data, roles.filter);
  std::swap(roles.pixels, roles.channels);
  return roles;
}

// The channel is contiguous in the result if either way allows.
std::optional<Sides> sides_of(const Nest &nest) {
  const std::optional<Roles> roles = roles_of(nest);
  if (!roles || roles->channels.empty() || roles->pixels.empty())
    return {};
  const nest::Linear out = nest::flat(nest.out, nest.indices.size());
  const bool exchanges =
      out.coeff[at(roles->channels.front())] != 1 && out.coeff[at(roles->pixels.front())] == 1;
  if (exchanges)
    if (std::optional<Sides> sides = sides_of(nest, exchanged(*roles)))
      return sides;
  return sides_of(nest, *roles);
}

// What the thread asked for last: search asks for one nest's a thousand times in a row, mostly with
// one order of loops.
struct Known {
  Nest nest;
  std::optional<Sides> sides;
  std::vector<IndexId> order; // of the roles
  std::optional<CoreRoles> roles;
};

Known &known_of(const Nest &nest) {
  thread_local Known last;
  if (last.nest != nest)
    last = {nest, sides_of(nest), {}, std::nullopt};
  return last;
}

CoreRoles roles_in(const Nest &nest, const Sides &sides, const std::vector<IndexId> &order) {
  const Roles &roles = sides.roles;
  CoreRoles result{.data = roles.data,
                   .filter = roles.filter,
                   .data_turned = sides.pixel >= 0,
                   .filter_turned = sides.filter_turned,
                   .data_apart = sides.data_apart,
                   .channel = to_int(roles.channels.front())};
  const auto is_pixel = [&](int i) {
    const bool moves =
        std::find(roles.pixels.begin(), roles.pixels.end(), IndexId{i}) != roles.pixels.end();
    return result.data_turned ? i == sides.pixel : moves;
  };
  result.channels = numbers({roles.channels.rbegin(), roles.channels.rend()});
  if (result.filter_turned)
    result.channels = {result.channel};
  for (int i : result.channels)
    result.channel_points *= nest.indices[at(i)].extent;
  const auto is_channel = [&](int i) {
    return std::find(result.channels.begin(), result.channels.end(), i) != result.channels.end();
  };
  for (int i : numbers(order)) {
    const std::int64_t extent = nest.indices[at(i)].extent;
    if (i >= nest.output_indices) {
      const bool is_depth = sides.depth < 0 || i == sides.depth || i == sides.block;
      (is_depth ? result.depths : result.walked).push_back(i);
      result.depth_points *= is_depth ? extent : 1;
    } else if (is_pixel(i)) {
      result.pixels.push_back(i);
      result.points *= extent;
    } else if (!is_channel(i)) {
      result.grid.push_back(i);
    }
  }
  // Blocks stand before what they are made of, whatever the order of the loops.
  if (sides.block >= 0)
    result.depths = {sides.block, sides.depth};
  return result;
}

} // namespace

bool is_contiguous(const nest::Operand &operand, int index) {
  for (const nest::Dim &dim : operand.dims) {
    if (dim.at.coeff[at(index)] == 0)
      continue;
    const std::ptrdiff_t users =
        std::count_if(operand.dims.begin(), operand.dims.end(),
                      [&](const nest::Dim &other) { return other.at.coeff[at(index)] != 0; });
    return users == 1 && !dim.guarded && dim.at.coeff[at(index)] * dim.stride == 1;
  }
  return false;
}

std::optional<std::string> no_core_roles(const Nest &nest) {
  const std::optional<Roles> roles = roles_of(nest);
  if (!roles || !nest.constraints.empty())
    return "it is not an unconstrained sum of products";
  if (roles->channels.empty() || roles->pixels.empty())
    return "it has no channel or no pixel index";
  if (known_of(nest).sides)
    return {};
  return can_turn(nest) ? "neither a reduced index nor its own lies contiguously in each input"
                        : "no reduced index lies contiguously in both inputs, and only elements of "
                          "2 bytes can be turned on their way to registers";
}

CoreRoles core_roles(const Nest &nest, const Schedule &schedule) {
  Known &known = known_of(nest);
  TILEFUSE_CHECK(known.sides, "a matrix instruction for what is not a sum of products");
  if (!known.roles || known.order != schedule.order) {
    known.roles = roles_in(nest, *known.sides, schedule.order);
    known.order = schedule.order;
  }
  return *known.roles;
}

} // namespace tilefuse::schedule
