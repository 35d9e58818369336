// SPDX-License-Identifier: Apache-2.0
#include "search/forms/row_forms.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "base/index.h"
#include "nest/index.h"
#include "schedule/roles.h"
#include "schedule/staging.h"

namespace tilefuse::search {
namespace {

using nest::IndexId;
using nest::Nest;
using schedule::Schedule;
using schedule::Split;

constexpr std::int64_t kWidestLoad = 16; // bytes
constexpr std::int64_t kMostItems = 256; // of a block
constexpr std::int64_t kMostRows = 4;    // of a work-item
constexpr std::int64_t kMostSums = 4;    // of the same data
constexpr std::int64_t kVectorsUnderWay = 4;
constexpr std::int64_t kReadsUnderWay = 8;
// Results of a multiprocessor that leave it idle; of products whose factors other forms share.
constexpr std::int64_t kFewResults = 2048;
constexpr std::int64_t kFewProducts = 64;

class Rows {
public:
  Rows(const Nest &nest, const Target &target)
      : nest_(nest), target_(target), out_(nest::flat(nest.out, nest.indices.size())) {}

  std::vector<Schedule> run() {
    if (nest_.inputs.empty() || nest_.agg == program::Agg::Assign || shares_factors())
      return {};
    data_ = nest::flat(data(), nest_.indices.size());
    const std::optional<IndexId> row = nearest([&](IndexId i) { return !is_output(nest_, i); });
    const std::optional<IndexId> lane = nearest([&](IndexId i) { return is_output(nest_, i); });
    if (!row)
      return {};
    const bool is_row = stride(*row) == 1 && (!lane || stride(*lane) != 1);
    if (target_.lanes == LaneKind::Vector) {
      if (is_row)
        in_vectors(*row, lane);
    } else if (is_row && (!multiplies() || has_few()))
      along_row(*row, lane);
    else if (!is_row && lane && has_few())
      across_rows(*lane);
    return std::move(found_);
  }

private:
  std::int64_t extent(IndexId i) const { return nest::extent(nest_, i); }
  bool multiplies() const { return nest_.comb == program::Comb::Mul; }
  // A product of matrices: tiles of registers share what they read.
  bool shares_factors() const {
    const std::optional<schedule::Roles> roles = schedule::roles_of(nest_);
    return roles && !roles->channels.empty() && !roles->pixels.empty();
  }
  // Whether an index moves one factor and not the other.
  bool has_lone_factors() const {
    const std::optional<schedule::Roles> roles = schedule::roles_of(nest_);
    return roles && (!roles->channels.empty() || !roles->pixels.empty());
  }
  bool has_few() const {
    return nest::output_points(nest_) <=
           (has_lone_factors() ? kFewProducts : kFewResults) * std::max(1, target_.compute_units);
  }

  double points_of(const nest::Operand &input) const {
    double points = 1;
    for (const IndexId i : nest_.indices.ids())
      points *= moves(input, i) ? static_cast<double>(extent(i)) : 1;
    return points;
  }

  // What is read most of: how it lies decides which work-items are neighbours.
  const nest::Operand &data() const {
    return *std::max_element(
        nest_.inputs.begin(), nest_.inputs.end(),
        [&](const auto &a, const auto &b) { return points_of(a) < points_of(b); });
  }

  // Its elements between neighbours of the index; 0: the index does not move it.
  std::int64_t stride(IndexId i) const { return std::llabs(data_.coeff[i]); }

  // Of the indices of several points that are asked for, the one whose neighbours are nearest.
  template <typename Wanted> std::optional<IndexId> nearest(const Wanted &wanted) const {
    std::optional<IndexId> best;
    for (const IndexId i : nest_.indices.ids())
      if (wanted(i) && extent(i) > 1 && stride(i) > 0 && (!best || stride(i) < stride(*best)))
        best = i;
    return best;
  }

  // Elements that a work-item reads at once along the index.
  std::int64_t widest(IndexId i) const {
    std::int64_t bytes = 1;
    for (const nest::Operand &input : nest_.inputs)
      bytes = std::max(bytes, size_bytes(type_of(nest_, input)));
    std::int64_t vec = kWidestLoad / bytes;
    while (vec > 1 && extent(i) % vec != 0)
      vec /= 2;
    return vec;
  }

  // Outputs by falling stride of the result, reduced indices of the inputs, `row` last. Several sums
  // of the same data are copies of one work-item.
  Schedule base(IndexId row) const {
    Schedule schedule = schedule::scalar_schedule(nest_);
    schedule.name = "rows";
    schedule.lanes = target_.lanes;
    const auto middle = schedule.order.begin() + nest_.output_indices;
    std::stable_sort(schedule.order.begin(), middle, [&](IndexId a, IndexId b) {
      return std::llabs(out_.coeff[a]) > std::llabs(out_.coeff[b]);
    });
    std::stable_sort(middle, schedule.order.end(), [&](IndexId a, IndexId b) {
      return a != row && (b == row || stride(a) > stride(b));
    });
    for (const IndexId i : output_indices(nest_))
      if (stride(i) == 0 && extent(i) <= kMostSums)
        schedule.splits[i] = {.tile = extent(i), .keep = extent(i)};
    return schedule;
  }

  // Points of a reduced index over `lanes` work-items, several reads of each under way.
  void deal(Schedule &schedule, IndexId i, std::int64_t lanes, std::int64_t vec) const {
    const std::int64_t most = vec > 1 ? kVectorsUnderWay : kReadsUnderWay;
    const std::int64_t copies = std::clamp<std::int64_t>(extent(i) / (lanes * vec), 1, most);
    schedule.splits[i] = {.tile = extent(i), .keep = copies, .lane = lanes, .vec = vec};
  }

  void add(Schedule schedule, std::optional<IndexId> slow, IndexId fast) {
    if (slow && schedule.splits[*slow].lane > 1 && schedule.splits[fast].lane > 1)
      schedule.lane_parts = {{*slow, schedule.splits[*slow].lane},
                             {fast, schedule.splits[fast].lane}};
    found_.push_back(std::move(schedule));
  }

  // Neighbours of a row by neighbouring work-items, several rows a block.
  void along_row(IndexId row, std::optional<IndexId> lane) {
    const std::int64_t most = widest(row);
    for (std::int64_t vec = most; vec >= std::max<std::int64_t>(1, most / 2); vec /= 2)
      for (std::int64_t lanes = 1; lanes <= largest() && lanes * vec <= extent(row); lanes *= 2)
        for (std::int64_t items = std::max<std::int64_t>(lanes, kMostItems / 4);
             items <= std::max(lanes, kMostItems); items *= 2)
          for (std::int64_t copies = 1; copies <= kMostRows; copies *= 2) {
            Schedule schedule = base(row);
            deal(schedule, row, lanes, vec);
            if (lane)
              deal_rows(schedule.splits[*lane], items / lanes, copies, extent(*lane));
            add(std::move(schedule), lane, row);
          }
  }

  // Neighbours of a row in the lanes of a vector, several of them and of the rows in one step.
  void in_vectors(IndexId row, std::optional<IndexId> lane) {
    const std::int64_t width =
        std::max<std::int64_t>(2, 4 * target_.vector_f32 / size_bytes(schedule::held_type(nest_)));
    for (std::int64_t lanes = width; lanes >= std::max<std::int64_t>(2, width / 2); lanes /= 2)
      for (std::int64_t keep = 1; keep <= kVectorsUnderWay; keep *= 2)
        for (std::int64_t copies = 1; copies <= 2 * kMostRows; copies *= 2) {
          Schedule schedule = base(row);
          schedule.splits[row] = {.tile = extent(row), .keep = keep, .lane = lanes};
          if (lane)
            schedule.splits[*lane] = {.tile = copies, .keep = copies};
          const bool is_large =
              keep * lanes >= 2 * extent(row) || copies > (lane ? extent(*lane) : 1);
          if (!is_large || (keep == 1 && copies == 1))
            found_.push_back(std::move(schedule));
        }
  }

  std::int64_t largest() const { return std::min<std::int64_t>(target_.max_group, 4 * kMostItems); }

  static void deal_rows(Split &split, std::int64_t lanes, std::int64_t copies,
                        std::int64_t extent) {
    split.lane = std::min(lanes, extent);
    split.keep = std::min(copies, (extent + split.lane - 1) / split.lane);
    split.tile = split.step();
  }

  // Neighbours of the result by neighbouring work-items, and the longest reduced index by others.
  void across_rows(IndexId lane) {
    std::optional<IndexId> row;
    for (const IndexId i : reduced_indices(nest_))
      if (!row || extent(i) > extent(*row))
        row = i;
    for (std::int64_t vec = widest(lane); vec >= 1; vec /= 2)
      for (std::int64_t lanes = 8; lanes <= 64; lanes *= 2)
        for (std::int64_t rows = 2; rows <= extent(*row) && rows * lanes <= largest(); rows *= 2) {
          Schedule schedule = base(*row);
          deal(schedule, *row, rows, 1);
          schedule.splits[lane] = {.tile = lanes * vec, .lane = lanes, .vec = vec};
          add(std::move(schedule), row, lane);
        }
  }

  const Nest &nest_;
  const Target &target_;
  const nest::Linear out_;
  nest::Linear data_;
  std::vector<Schedule> found_;
};

} // namespace

std::vector<Schedule> row_forms(const Nest &nest, const Target &target) {
  return Rows(nest, target).run();
}

} // namespace tilefuse::search
