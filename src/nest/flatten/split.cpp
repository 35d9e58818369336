// SPDX-License-Identifier: Apache-2.0
#include "nest/flatten/split.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "base/error.h"
#include "base/index.h"
#include "base/scanner.h"
#include "nest/flatten/merge.h"
#include "nest/index.h"
#include "nest/integer/checked.h"

namespace tilefuse::nest {
namespace {

constexpr std::int64_t kMostScratch = std::int64_t{1} << 31; // elements

std::string part_name(const Nest &nest, IndexId index) {
  std::string name = nest.indices[index].name + "p";
  while (std::any_of(nest.indices.begin(), nest.indices.end(),
                     [&](const Index &other) { return other.name == name; }))
    name += "p";
  return name;
}

// Whether an input's elements are neighbours along an index of several points.
bool has_neighbours(const Nest &nest, IndexId index) {
  return extent(nest, index) > 1 &&
         std::any_of(nest.inputs.begin(), nest.inputs.end(), [&](const Operand &input) {
           return std::llabs(flat(input, nest.indices.size()).coeff[index]) == 1;
         });
}

// Output indices of the nest as the scratch lies, the slowest first.
std::vector<IndexId> outputs_in_order(const Nest &nest) {
  const Linear out = flat(nest.out, nest.indices.size());
  const Ids<IndexId> outputs = output_indices(nest);
  std::vector<IndexId> order(outputs.begin(), outputs.end());
  std::stable_sort(order.begin(), order.end(), [&](IndexId a, IndexId b) {
    return std::llabs(out.coeff[a]) > std::llabs(out.coeff[b]);
  });
  const auto fastest =
      std::find_if(order.rbegin(), order.rend(), [&](IndexId i) { return extent(nest, i) > 1; });
  const auto last = std::find_if(order.rbegin(), order.rend(),
                                 [&](IndexId i) { return has_neighbours(nest, i); });
  if (last != order.rend() && extent(nest, *last) > extent(nest, *fastest))
    std::rotate(last.base() - 1, last.base(), order.end());
  return order;
}

// The slots that operands of a new nest use, renumbered.
class Slots {
public:
  explicit Slots(const Nest &whole) : whole_(whole) {}

  SlotId scratch(Slot slot) { return add(std::nullopt, slot); }
  Operand carry(Operand operand) {
    const auto found = std::find(from_.begin(), from_.end(), operand.slot);
    operand.slot = found != from_.end() ? static_cast<SlotId>(found - from_.begin())
                                        : add(operand.slot, whole_.slots[operand.slot]);
    return operand;
  }
  Indexed<SlotId, Slot> slots() { return std::move(slots_); }
  std::vector<std::optional<SlotId>> from() { return std::move(from_); }

private:
  SlotId add(std::optional<SlotId> from, Slot slot) {
    from_.push_back(from);
    const SlotId added = slots_.next_id();
    slots_.push_back(slot);
    return added;
  }

  const Nest &whole_;
  Indexed<SlotId, Slot> slots_;
  std::vector<std::optional<SlotId>> from_;
};

class Splitter {
public:
  Splitter(const Nest &nest, const ReductionSplit &split) : nest_(nest), split_(split) {}

  SplitNests run(bool by_tiles) {
    SplitNests result;
    result.partial = partial(result.partial_slots);
    result.join = join(result.join_slots);
    if (!by_tiles)
      result.join = merge_indices(result.join);
    verify(result.partial);
    verify(result.join);
    return result;
  }

private:
  std::int64_t parts_of(IndexId index) const {
    for (const SplitPart &part : split_)
      if (part.index == index)
        return part.parts;
    return 1;
  }

  // A form of the whole nest in the indices of the partial one: parts, outputs, what is left of the
  // reduced ones.
  Linear in_parts(const Linear &form) const {
    Linear result{form.constant, {}};
    for (const SplitPart &part : split_)
      result.coeff.push_back(form.coeff[part.index] *
                             (nest_.indices[part.index].extent / part.parts));
    for (const IndexId i : form.coeff.ids())
      if (is_kept(i))
        result.coeff.push_back(form.coeff[i]);
    return result;
  }

  // The dimensions of an operand in those indices. One that a split index alone runs through
  // becomes two, so that the rest of it is as plain as the whole was.
  std::vector<Dim> in_parts(const std::vector<Dim> &dims) const {
    std::vector<Dim> result;
    for (const Dim &dim : dims) {
      Dim inner = dim;
      inner.at = in_parts(dim.at);
      const std::optional<IndexId> index = only_index(dim);
      if (index && is_kept(*index) && dim.size == extent(nest_, *index)) {
        inner.size /= parts_of(*index);
        Dim outer = {.at = {0, std::vector<std::int64_t>(inner.at.coeff.size(), 0)},
                     .size = parts_of(*index),
                     .stride = dim.stride * inner.size};
        const auto is_of = [&](const SplitPart &part) { return part.index == index; };
        const auto part = static_cast<std::size_t>(
            std::find_if(split_.begin(), split_.end(), is_of) - split_.begin());
        outer.at.coeff[part] = 1;
        inner.at.coeff[part] = 0;
        result.push_back(std::move(outer));
      }
      result.push_back(std::move(inner));
    }
    return result;
  }

  // The split index that a dimension's subscript is.
  std::optional<IndexId> only_index(const Dim &dim) const {
    for (const SplitPart &part : split_) {
      Linear plain{0, std::vector<std::int64_t>(nest_.indices.size(), 0)};
      plain.coeff[part.index] = 1;
      if (dim.at == plain && !dim.guarded)
        return part.index;
    }
    return std::nullopt;
  }

  // An index of which nothing is left inside a part disappears.
  bool is_kept(IndexId index) const {
    const std::int64_t parts = parts_of(index);
    return parts == 1 || nest_.indices[index].extent > parts;
  }

  Slot scratch_slot() const { return {nest_.acc_type, part_count(split_) * output_points(nest_)}; }

  // One dimension per part, then per output; `part` and `output` say where their indices stand.
  Operand scratch(SlotId slot, std::size_t indices, int part, int output) const {
    Operand operand{.slot = slot};
    std::int64_t stride = part_count(split_) * output_points(nest_);
    const auto add = [&](int index, std::int64_t extent) {
      stride /= extent;
      Dim dim{.at = {0, std::vector<std::int64_t>(indices, 0)}, .size = extent, .stride = stride};
      dim.at.coeff[at(index)] = 1;
      operand.dims.push_back(std::move(dim));
    };
    for (std::size_t p = 0; p < split_.size(); ++p)
      add(part + static_cast<int>(p), split_[p].parts);
    for (const IndexId i : outputs_in_order(nest_))
      add(output + to_int(i), extent(nest_, i));
    return operand;
  }

  Nest partial(std::vector<std::optional<SlotId>> &slots_of) const {
    Nest result{.name = nest_.name + "_part",
                .output_indices = nest_.output_indices + static_cast<int>(split_.size()),
                .agg = nest_.agg,
                .comb = nest_.comb,
                .acc_type = nest_.acc_type,
                .tf32 = nest_.tf32,
                .inputs = nest_.inputs,
                .term = nest_.term,
                .constraints = nest_.constraints,
                .post = program::acc(nest_.acc_type)};
    for (const SplitPart &part : split_)
      result.indices.push_back({part_name(nest_, part.index), part.parts});
    for (const IndexId i : nest_.indices.ids())
      if (is_kept(i))
        result.indices.push_back({nest_.indices[i].name, extent(nest_, i) / parts_of(i)});
    Slots slots(nest_);
    for (Operand &input : result.inputs) {
      input = slots.carry(input);
      input.dims = in_parts(input.dims);
    }
    for (Constraint &constraint : result.constraints)
      constraint.expr = in_parts(constraint.expr);
    result.out = scratch(slots.scratch(scratch_slot()), result.indices.size(), 0,
                         static_cast<int>(split_.size()));
    result.slots = slots.slots();
    slots_of = slots.from();
    return result;
  }

  Nest join(std::vector<std::optional<SlotId>> &slots_of) const {
    Nest result{.name = nest_.name + "_join",
                .output_indices = nest_.output_indices,
                .agg = nest_.agg,
                .acc_type = nest_.acc_type,
                .extras = nest_.extras,
                .post = nest_.post};
    result.indices.assign(nest_.indices.begin(), nest_.indices.begin() + nest_.output_indices);
    for (const SplitPart &part : split_)
      result.indices.push_back({part_name(nest_, part.index), part.parts});
    Slots slots(nest_);
    result.inputs.push_back(
        scratch(slots.scratch(scratch_slot()), result.indices.size(), nest_.output_indices, 0));
    const auto carry = [&](const Operand &operand) {
      Operand carried = slots.carry(operand);
      for (Dim &dim : carried.dims) {
        dim.at.coeff.resize(at(nest_.output_indices)); // none of the others is used
        dim.at.coeff.resize(result.indices.size(), 0);
      }
      return carried;
    };
    for (Operand &extra : result.extras)
      extra = carry(extra);
    result.out = carry(nest_.out);
    result.slots = slots.slots();
    slots_of = slots.from();
    return result;
  }

  const Nest &nest_;
  const ReductionSplit &split_;
};

} // namespace

std::int64_t part_count(const ReductionSplit &split) {
  std::int64_t count = 1;
  for (const SplitPart &part : split)
    count = checked_mul(count, part.parts);
  return count;
}

std::optional<std::string> illegal_split(const Nest &nest, const ReductionSplit &split) {
  if (split.empty())
    return std::nullopt;
  if (nest.inputs.empty() || nest.agg == program::Agg::Assign)
    return "the nest has no reduction";
  for (std::size_t p = 0; p < split.size(); ++p) {
    const auto &[index, parts] = split[p];
    if (is_output(nest, index) || index >= nest.indices.next_id())
      return "only a reduced index can be split";
    const Index &of = nest.indices[index];
    for (std::size_t other = 0; other < p; ++other)
      if (split[other].index == index)
        return fmt::format("index {} is split twice", of.name);
    if (parts < 2 || parts > of.extent || of.extent % parts != 0)
      return fmt::format("index {}: {} parts, its {} points need a divisor above 1", of.name, parts,
                         of.extent);
  }
  const std::int64_t elems = checked_mul(part_count(split), output_points(nest));
  if (elems > kMostScratch)
    return fmt::format("{} elements between the two nests, at most {} are possible", elems,
                       kMostScratch);
  return std::nullopt;
}

SplitNests split_reduction(const Nest &nest, const ReductionSplit &split, bool by_tiles) {
  const std::optional<std::string> reason = illegal_split(nest, split);
  TILEFUSE_CHECK(!split.empty() && !reason, reason.value_or("nothing is split"));
  return Splitter(nest, split).run(by_tiles);
}

std::string to_text(const Nest &nest, const ReductionSplit &split) {
  std::string text;
  for (const SplitPart &part : split)
    text +=
        fmt::format("{}{}:{}", text.empty() ? "" : " ", nest.indices[part.index].name, part.parts);
  return text.empty() ? "none" : text;
}

ReductionSplit parse_split(const Nest &nest, std::string_view text, const std::string &file) {
  Scanner scanner(text, file);
  ReductionSplit split;
  if (scanner.accept("none")) {
    if (!scanner.at_end())
      scanner.fail("nothing behind 'none'");
    return split;
  }
  while (!scanner.at_end()) {
    const std::string name = scanner.expect_name("an index");
    const auto found = std::find_if(nest.indices.begin(), nest.indices.end(),
                                    [&](const Index &index) { return index.name == name; });
    if (found == nest.indices.end())
      throw Error(ErrorCode::Syntax, fmt::format("nest '{}' has no index '{}'", nest.name, name),
                  file);
    scanner.expect(":");
    split.push_back({static_cast<IndexId>(found - nest.indices.begin()),
                     scanner.expect_integer("a number of parts")});
  }
  return split;
}

} // namespace tilefuse::nest
