// SPDX-License-Identifier: Apache-2.0
#include "model/oracle/expected_group.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/index.h"
#include "base/thread_pool.h"
#include "nest/index.h"
#include "poly/row_group.h"

namespace tilefuse::poly {
namespace {

using Point = std::vector<std::int64_t>;

// The next point of the reduced indices; false after the last.
bool advance(const nest::Nest &nest, Point &point) {
  for (std::size_t i = point.size(); i-- > at(nest.output_indices);) {
    if (++point[i] < nest.indices[i].extent)
      return true;
    point[i] = 0;
  }
  return false;
}

// The producer's point that computes what its consumer reads at `point`; nothing outside.
std::optional<Point> read_point(const nest::Operand &input,
                                const std::vector<std::optional<nest::IndexId>> &index_of,
                                const nest::Nest &producer, const Point &point) {
  Point read(at(producer.output_indices), 0);
  for (std::size_t d = 0; d < input.dims.size(); ++d) {
    std::int64_t place = input.dims[d].at.constant;
    for (std::size_t i = 0; i < point.size(); ++i)
      place += input.dims[d].at.coeff[i] * point[i];
    if (place < 0 || place >= input.dims[d].size)
      return std::nullopt;
    if (index_of[d])
      read[at(*index_of[d])] = place;
  }
  return read;
}

// The same of a copy whose dimensions the consumer reads several of as one.
Point read_run(const nest::Operand &input, const std::vector<int> &dim_of, const nest::Nest &copy,
               const Point &point) {
  Point read(at(copy.output_indices), 0);
  for (std::size_t d = 0; d < dim_of.size(); ++d) {
    if (dim_of[d] < 0)
      continue;
    const nest::Dim &from = input.dims[at(dim_of[d])];
    const nest::Dim &to = copy.out.dims[d];
    std::int64_t place = from.at.constant;
    for (std::size_t i = 0; i < point.size(); ++i)
      place += from.at.coeff[i] * point[i];
    for (std::size_t i = 0; i < read.size(); ++i)
      if (to.at.coeff[i] != 0)
        read[i] = place * from.stride / to.stride % to.size;
  }
  return read;
}

// The point of a nest that writes an element. Results lie apart: no index passes over another.
Point point_of(const nest::Nest &nest, std::int64_t element) {
  const nest::Linear out = nest::flat(nest.out, nest.indices.size());
  std::vector<IndexId> order;
  for (const IndexId i : output_indices(nest))
    order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](IndexId a, IndexId b) { return out.coeff[a] > out.coeff[b]; });
  Point point(at(nest.output_indices), 0);
  std::int64_t rest = element - out.constant;
  for (const IndexId i : order) {
    if (extent(nest, i) == 1)
      continue;
    point[at(i)] = rest / out.coeff[i];
    rest %= out.coeff[i];
  }
  return point;
}

// Few where starting them takes longer than evaluating the points.
int threads_for(const nest::Nest &nest, std::size_t points) {
  constexpr double kPointsOfThread = 1 << 16;
  double work = static_cast<double>(points);
  for (const nest::IndexId i : nest::reduced_indices(nest))
    work *= static_cast<double>(nest::extent(nest, i));
  return static_cast<int>(
      std::clamp(work / kPointsOfThread, 1.0, static_cast<double>(available_threads())));
}

class Expecting {
public:
  Expecting(const Group &group, std::span<const std::span<std::byte>> slots, double input_roundoff)
      : group_(group), input_roundoff_(input_roundoff), slots_(slots.begin(), slots.end()),
        made_(slots.size()), errors_(slots.size()) {}

  std::vector<nest::Expectation> run(const std::vector<Point> &points) {
    std::vector<std::vector<Point>> needed = {points};
    for (const Producer &producer : group_.producers)
      needed.push_back(producer.feed == Feed::Rows ? needed_of_rows(producer, needed)
                                                   : needed_of(producer, needed));
    for (const MemberId m : producing_members(group_).reversed())
      compute(m, needed[at(m)]);
    return expected(kAnchor, points);
  }

private:
  std::vector<Point> needed_of(const Producer &producer,
                               const std::vector<std::vector<Point>> &needed) const {
    const nest::Nest &reader = member_nest(group_, producer.consumer);
    const nest::Operand &input = reader.inputs[at(producer.input)];
    const bool spreads = producer.feed == Feed::Spread;
    const auto dims = spreads ? match_runs(input, producer.nest) : std::nullopt;
    const auto indices = spreads ? std::nullopt : match_dims(input, producer.nest);
    std::set<Point> found;
    for (const Point &output : needed[at(producer.consumer)]) {
      Point point = output;
      point.resize(reader.indices.size(), 0);
      do {
        if (spreads)
          found.insert(read_run(input, dims.value(), producer.nest, point));
        else if (std::optional<Point> read =
                     read_point(input, indices.value(), producer.nest, point))
          found.insert(std::move(*read));
      } while (advance(reader, point));
    }
    return {found.begin(), found.end()};
  }

  // Of rows, what all members before them read.
  std::vector<Point> needed_of_rows(const Producer &producer,
                                    const std::vector<std::vector<Point>> &needed) const {
    const SlotId slot = producer.slots[producer.nest.out.slot];
    std::set<Point> found;
    for (std::size_t m = 0; m < needed.size(); ++m) {
      const nest::Nest &reader = member_nest(group_, static_cast<MemberId>(m));
      for (int k = 0; k < operands(reader); ++k) {
        const nest::Operand &operand = operand_of(reader, k);
        if (group_slot(group_, static_cast<MemberId>(m), operand.slot) != slot)
          continue;
        const nest::Linear flat = nest::flat(operand, reader.indices.size());
        for (const Point &output : needed[m]) {
          Point point = output;
          point.resize(reader.indices.size(), 0);
          do {
            std::int64_t element = flat.constant;
            for (std::size_t i = 0; i < point.size(); ++i)
              element += flat.coeff[i] * point[i];
            found.insert(point_of(producer.nest, element));
          } while (advance(reader, point));
        }
      }
    }
    return {found.begin(), found.end()};
  }

  std::vector<nest::Expectation> expected(MemberId member, const std::vector<Point> &points) {
    const nest::Nest &nest = member_nest(group_, member);
    std::vector<std::span<std::byte>> slots;
    nest::SlotErrors errors;
    for (const SlotId s : nest.slots.ids()) {
      const std::size_t slot = at(group_slot(group_, member, s));
      slots.push_back(slots_[slot]);
      errors.push_back(errors_[slot]);
    }
    const nest::Expected expected(nest, slots, points, input_roundoff_, std::move(errors));
    std::vector<nest::Expectation> all(points.size());
    ThreadPool pool(threads_for(nest, points.size()));
    pool.parallel_for(static_cast<std::int64_t>(points.size()),
                      [&](int, std::int64_t i) { all[at(i)] = expected.at(points[at(i)]); });
    return all;
  }

  // What the member stores, into its slot, which is no longer the caller's.
  void compute(MemberId member, const std::vector<Point> &points) {
    const nest::Nest &nest = member_nest(group_, member);
    const std::size_t slot = at(group_slot(group_, member, nest.out.slot));
    const nest::Slot &info = nest.slots[nest.out.slot];
    errors_[slot].assign(static_cast<std::size_t>(info.elems), 0);
    if (made_[slot].empty()) {
      made_[slot].assign(slots_[slot].begin(), slots_[slot].end());
      slots_[slot] = made_[slot];
    }
    for (const nest::Expectation &want : expected(member, points)) {
      store_element(slots_[slot].data(), info.type, want.element, want.value);
      errors_[slot][at(want.element)] = want.bound;
    }
  }

  const Group &group_;
  double input_roundoff_;
  std::vector<std::span<std::byte>> slots_;
  std::vector<std::vector<std::byte>> made_; // of members' results
  nest::SlotErrors errors_;
};

} // namespace

std::vector<nest::Expectation> expect(const Group &group,
                                      std::span<const std::span<std::byte>> slots,
                                      const std::vector<std::vector<std::int64_t>> &points,
                                      double input_roundoff) {
  return Expecting(group, slots, input_roundoff).run(points);
}

} // namespace tilefuse::poly
