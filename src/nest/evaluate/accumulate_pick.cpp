// SPDX-License-Identifier: Apache-2.0
#include "nest/evaluate/accumulate_pick.h"

#include <numeric>
#include <optional>

#include "base/index.h"
#include "nest/evaluate/accumulator.h"
#include "nest/evaluate/odometer.h"
#include "nest/index.h"

namespace tilefuse::nest {
namespace {

class Picking {
public:
  Picking(const Nest &nest, std::span<const std::span<std::byte>> slots)
      : nest_(nest), slots_(slots) {
    for (const Operand &input : nest.inputs)
      forms_.push_back(flat(input, nest.indices.size()));
    forms_.push_back(accumulator_address(nest));
    for (const Operand &input : nest.inputs)
      for (const Dim &dim : input.dims)
        if (dim.guarded && !dim.by)
          add_condition(dim.at, dim.size);
    for (const Constraint &constraint : nest.constraints)
      add_condition(constraint.expr, constraint.bound);
  }

  std::vector<double> run() {
    std::vector<double> acc(static_cast<std::size_t>(output_points(nest_)),
                            initial_value(nest_.agg, nest_.acc_type));
    std::vector<std::size_t> loops(nest_.indices.size());
    std::iota(loops.begin(), loops.end(), 0);
    Odometer odometer(nest_.indices, loops, forms_);
    do {
      const std::vector<std::int64_t> &values = odometer.values();
      if (const std::optional<std::int64_t> place = place_of(values))
        acc[at(values[nest_.inputs.size()])] += value_at(values, *place);
    } while (odometer.next());
    return acc;
  }

private:
  void add_condition(const Linear &form, std::int64_t bound) {
    forms_.push_back(form);
    bounds_.push_back(bound);
  }

  double element(std::size_t input, std::int64_t place) const {
    const Operand &operand = nest_.inputs[input];
    return load_element(slots_[at(operand.slot)].data(), type_of(nest_, operand), place);
  }

  // Where the first input is read; nothing where the point does not count.
  std::optional<std::int64_t> place_of(const std::vector<std::int64_t> &values) const {
    const std::size_t first = nest_.inputs.size() + 1;
    for (std::size_t c = 0; c < bounds_.size(); ++c)
      if (values[first + c] < 0 || values[first + c] >= bounds_[c])
        return std::nullopt;
    std::int64_t place = values[0];
    for (const Dim &dim : nest_.inputs[0].dims) {
      if (!dim.by)
        continue;
      const std::size_t k = at(*dim.by);
      const double subscript = element(k, values[k]);
      if (subscript < 0 || subscript >= static_cast<double>(dim.size))
        return std::nullopt;
      place += static_cast<std::int64_t>(subscript) * dim.stride;
    }
    return place;
  }

  double value_at(const std::vector<std::int64_t> &values, std::int64_t place) const {
    const double value = element(0, place);
    const bool has_factor = nest_.inputs.size() == positions(nest_) + 2;
    return has_factor ? value * element(1, values[1]) : value;
  }

  const Nest &nest_;
  std::span<const std::span<std::byte>> slots_;
  std::vector<Linear> forms_; // inputs, the accumulator, then the conditions
  std::vector<std::int64_t> bounds_;
};

} // namespace

std::vector<double> accumulate_picks(const Nest &nest,
                                     std::span<const std::span<std::byte>> slots) {
  return Picking(nest, slots).run();
}

} // namespace tilefuse::nest
