// SPDX-License-Identifier: Apache-2.0
#include "model/oracle/read_elements.h"

#include <algorithm>

#include "base/index.h"
#include "nest/evaluate/odometer.h"
#include "nest/index.h"

namespace tilefuse::nest {

std::int64_t element_of(const Linear &flat, const std::vector<std::int64_t> &point) {
  std::int64_t element = flat.constant;
  for (std::size_t i = 0; i < point.size(); ++i)
    element += flat.coeff[i] * point[i];
  return element;
}

void ReadElements::add(const Nest &nest, const Operand &input,
                       std::span<const std::vector<std::int64_t>> points) {
  Linear form = flat(input, nest.indices.size());
  std::vector<std::size_t> loops;
  double reads = static_cast<double>(points.size());
  for (const IndexId i : reduced_indices(nest))
    if (form.coeff[i] != 0) {
      loops.push_back(at(i));
      reads *= static_cast<double>(extent(nest, i));
    }
  const bool is_subscripted = std::any_of(input.dims.begin(), input.dims.end(),
                                          [](const Dim &dim) { return dim.by.has_value(); });
  all_ = all_ || is_subscripted || reads >= static_cast<double>(elems_);
  if (all_)
    return;
  words_.resize(at(elems_ / kBits + 1));
  const std::int64_t constant = form.constant;
  for (const std::vector<std::int64_t> &point : points) {
    form.constant = element_of(form, point);
    Odometer odometer(nest.indices, loops, {form});
    do {
      const std::int64_t i = odometer.values().front();
      if (i >= 0 && i < elems_)
        words_[at(i / kBits)] |= std::uint64_t{1} << (i % kBits);
    } while (odometer.next());
    form.constant = constant;
  }
}

std::vector<ReadElements> read_elements(const Nest &nest,
                                        std::span<const std::vector<std::int64_t>> points) {
  std::vector<ReadElements> read;
  for (const Slot &slot : nest.slots)
    read.emplace_back(slot.elems);
  for (const Operand &input : nest.inputs)
    read[at(input.slot)].add(nest, input, points);
  return read;
}

} // namespace tilefuse::nest
