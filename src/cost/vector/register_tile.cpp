// SPDX-License-Identifier: Apache-2.0
#include "cost/vector/register_tile.h"

#include <algorithm>
#include <cmath>

#include "base/index.h"
#include "cost/expression.h"
#include "cost/vector/conversions.h"
#include "nest/index.h"
#include "schedule/guards.h"
#include "schedule/staging.h"
#include "schedule/streams.h"
#include "target/dtype_traits.h"

namespace tilefuse::cost {
namespace {

using schedule::Fill;
using schedule::Guard;

// Share of its own time that work beside the bottleneck costs.
constexpr double kUnhidden = 1.0 / 6;
// Instructions of a test that a subscript is in range, and of choosing what to read.
constexpr double kGuard = 3;
constexpr double kMaskedLoad = 4;
// Cycles that forwarding a spilled accumulator through memory adds to its chain.
constexpr double kForwarding = 5;
// Cycles lost where a loop ends: the branch of a long one is mispredicted and the pipeline starts
// again; a short one's is foreseen.
constexpr double kLoopEnd = 8;
constexpr double kShortLoopEnd = 1.5;
constexpr std::int64_t kShortLoop = 16;
constexpr double kLoopInstructions = 2;
// Registers of what overlapping taps are multiplied with.
constexpr double kTapOperands = 2;
// Of the vectors that are read again, what is kept at once: by the innermost taps, and by all.
constexpr double kKeptInnermost = 0.6;
constexpr double kKeptOfAll = 0.25;
constexpr double kIntegerProduct = 3; // and its addition
constexpr double kMaskedStore = 10;
constexpr double kMaskRegisterStore = 2; // the same where masks are registers
// Instructions that take an element out of a vector and store it, half of them beside the loops of
// the next tile; a map has nothing beside.
constexpr double kScattered = 2;
constexpr double kScatteredMap = 4;
constexpr double kJoined = 64;       // vectors of 16 by twos, or of 4 by fours; elements of a tile
constexpr double kLooselyJoined = 4; // times as dear in larger ones
constexpr double kFoldedHalf = 3;    // cycles
constexpr double kTileOverhead = 24; // of loops over reduced indices and their accumulators
constexpr double kStraightTile = 3;  // of a tile without, and without bodies for edges

// Operands that a term reads, which are loads of their own, each by its share.
double reads_of(const program::Expr &term, const OperandShare &share) {
  double count = term.kind == program::Expr::Kind::Operand ? share(term.operand) : 0;
  for (const program::Expr &arg : term.args)
    count += reads_of(arg, share);
  return count;
}

} // namespace

RegisterTileCost::RegisterTileCost(const nest::Nest &nest, const schedule::Schedule &schedule,
                                   const Target &target, const std::vector<Stream> &streams,
                                   double share)
    : nest_(nest), schedule_(schedule), target_(target), streams_(streams),
      rates_(core_rates(target)), lane_(lane_index(schedule)), share_(share),
      post_slots_(expression_slots(nest.post)), rows_(dot_rows(nest, schedule)),
      has_loops_(nest.agg != program::Agg::Assign) {
  if (lane_)
    width_ = static_cast<double>(schedule.splits[*lane_].lane);
  arithmetic_per_cycle_ =
      schedule.dot == nullptr ? rates_.fma_per_cycle : dots_per_cycle(target, *schedule.dot);
  adds_apart_ = !rows_ && arithmetic_per_cycle_ < rates_.fma_per_cycle;
  const double bytes = width_ * static_cast<double>(size_bytes(schedule::held_type(nest)));
  parts_ = std::ceil(bytes / (4.0 * std::max(1, target.vector_f32)));
  if (lane_ && is_output(nest, *lane_)) {
    result_width_ = width_;
    result_parts_ = parts_;
  }
  access_.reserve(streams.size());
  for (std::size_t s = 0; s < streams.size(); ++s)
    access_.push_back(access(s));
  shares_taps_.reserve(nest.inputs.size());
  for (std::size_t k = 0; k < nest.inputs.size(); ++k)
    shares_taps_.push_back(shares_overlapping_taps(k));
  body_taps_ = body_taps();
}

// Neighbouring lanes are one load per register; every second element two and a shuffle; others are
// fetched one by one.
RegisterTileCost::Access RegisterTileCost::access(std::size_t stream) const {
  Access access{.loads = 1};
  const std::int64_t stride = lane_ ? std::abs(streams_[stream].stride(*lane_)) : 0;
  if (stride == 1)
    access.loads = parts_;
  else if (stride == 2)
    access = {2 * parts_, parts_};
  else if (stride != 0)
    access = {width_, width_};
  const nest::Operand *operand = read_in_place(stream);
  if (operand == nullptr)
    return access;
  if (schedule_.dot == nullptr) {
    const Conversion widened = conversion(type_of(nest_, *operand));
    access.other += stride == 0 ? widened.spread : widened.neighbours * parts_;
  }
  if (stream >= nest_.inputs.size())
    return access;
  const std::vector<nest::Dim> &dims = operand->dims;
  const auto guards = std::count_if(dims.begin(), dims.end(), [&](const nest::Dim &dim) {
    return guard_of(nest_, schedule_, stream, dim) == Guard::Checked;
  });
  access.other += guards > 0 ? kMaskedLoad + kGuard * static_cast<double>(guards) : 0;
  return access;
}

// What a stream reads from memory as it lies there; nothing for the result and for what is staged or
// packed.
const nest::Operand *RegisterTileCost::read_in_place(std::size_t stream) const {
  const std::size_t inputs = nest_.inputs.size();
  if (stream < inputs)
    return schedule_.fills[stream] == Fill::Direct ? &nest_.inputs[stream] : nullptr;
  return stream - inputs < nest_.extras.size() ? &nest_.extras[stream - inputs] : nullptr;
}

double RegisterTileCost::fragments(std::size_t input, const Copies &copies) const {
  double count = 1;
  for (const IndexId i : copies.ids())
    if (streams_[input].uses(i))
      count *= copies[i];
  return count;
}

// Elements that the copies read at taps of one straight piece of code, each once: at all of them,
// or only at those of the innermost index.
double RegisterTileCost::distinct(std::size_t input, const Copies &copies,
                                  bool innermost_only) const {
  const IndexId innermost = schedule_.order.back();
  double count = 1;
  for (const Stream::Dim &dim : streams_[input].dims()) {
    double points = 1;
    double range = 1;
    for (const auto &[i, coeff] : streams_[input].terms(dim)) {
      const bool is_counted = i == innermost || !innermost_only;
      const double times = is_output(nest_, i) ? copies[i] : (is_counted ? unrolled(i) : 1);
      points *= times;
      range += static_cast<double>(std::llabs(coeff)) * (times - 1) * (i == lane_ ? width_ : 1);
    }
    count *= std::min(points, range);
  }
  return count;
}

// Values of an input that a tap loads. The compiler loads once the vectors that overlapping taps
// share; elements that are read as broadcasts it reads again as operands.
double RegisterTileCost::fragment_loads(std::size_t input, const Copies &copies) const {
  if (rows_)
    return row_loads(input, copies);
  return shares_taps_[input] && is_spread(input) ? distinct(input, copies, false) / body_taps_
                                                 : fragments(input, copies);
}

// Of a reduced index, that are taken at once: by a dot product, or in the lanes of a vector.
double RegisterTileCost::points_of_vector(IndexId reduced) const {
  const schedule::Split &split = schedule_.splits[reduced];
  if (rows_ && reduced == rows_->depth)
    return static_cast<double>(split.step());
  return static_cast<double>(split.vec * split.lane);
}

// Times that a reduced index appears in the straight-line code of a step.
double RegisterTileCost::unrolled(IndexId reduced) const {
  const schedule::Split &split = schedule_.splits[reduced];
  return std::ceil(static_cast<double>(std::min(split.step(), split.tile)) /
                   points_of_vector(reduced));
}

// Points of a reduced index, or groups of them.
double RegisterTileCost::steps_over(IndexId reduced) const {
  return std::ceil(static_cast<double>(extent(nest_, reduced)) / points_of_vector(reduced));
}

// Of one accumulator whose lanes are combined: each half a shuffle and an operation that wait for
// one another, while other accumulators are at it.
double RegisterTileCost::fold_cycles() const {
  if (!lane_ || is_output(nest_, *lane_))
    return 0;
  return kFoldedHalf * std::log2(width_);
}

// Whether some subscript moves with reduced `index` and with copies of an output.
bool RegisterTileCost::overlaps(const Stream &stream, IndexId index) const {
  const auto is_copied = [&](const Stream::Term &term) {
    return is_output(nest_, term.index) && schedule_.splits[term.index].keep > 1;
  };
  return std::any_of(stream.dims().begin(), stream.dims().end(), [&](const Stream::Dim &dim) {
    const std::span<const Stream::Term> terms = stream.terms(dim);
    return std::any_of(terms.begin(), terms.end(),
                       [&](const Stream::Term &term) { return term.index == index; }) &&
           std::any_of(terms.begin(), terms.end(), is_copied);
  });
}

// Whether neighbouring copies read the same element at different taps of one straight piece of
// code: the compiler then keeps all of them in registers, which there are not enough of.
bool RegisterTileCost::shares_overlapping_taps(std::size_t input) const {
  for (auto i = schedule_.order.rbegin(); i != schedule_.order.rend(); ++i) {
    if (is_output(nest_, *i))
      return false;
    if (unrolled(*i) > 1 && overlaps(streams_[input], *i))
      return true;
    if (schedule_.splits[*i].step() < schedule_.splits[*i].tile)
      return false;
  }
  return false;
}

// Registers of vectors that taps of one straight piece of code read again.
double RegisterTileCost::kept_taps(std::size_t input, const Copies &copies) const {
  const double copied = fragments(input, copies);
  const auto read_again = [&](double taps, bool innermost_only) {
    const double once = distinct(input, copies, innermost_only);
    return std::min(once, copied * taps - once);
  };
  const double inner = unrolled(schedule_.order.back());
  return std::max(kKeptInnermost * read_again(inner, true),
                  kKeptOfAll * read_again(body_taps_, false));
}

double RegisterTileCost::live_registers(const Copies &copies) const {
  double accumulators = 1;
  for (double count : copies)
    accumulators *= count;
  double fewest = nest_.inputs.size() < 2 ? 0 : accumulators;
  double shared = 0;
  double ahead = 0;
  for (std::size_t k = 0; k < nest_.inputs.size(); ++k) {
    if (nest_.inputs.size() > 1)
      fewest = std::min(fewest, fragments(k, copies));
    if (shares_taps_[k])
      shared = (is_spread(k) ? kept_taps(k, copies) : distinct(k, copies, true)) + kTapOperands;
    if (const int stream = schedule_.pipes[k].stream; stream > 0)
      ahead += static_cast<double>(stream * body_values(nest_, schedule_, static_cast<int>(k)));
  }
  const double products = adds_apart_ ? 1 : 0; // before they are added
  return (accumulators + std::max(fewest, shared) + ahead + 1 + products) * parts_;
}

// Operations of a term besides its reads: what is the same at all points of a reduced index is done
// before the loop over it.
double RegisterTileCost::term_slots() const {
  const OperandShare share = [&](int operand) {
    double points = 1;
    for (const IndexId i : reduced_indices(nest_))
      if (!nest::moves(nest_.inputs[at(operand)], i))
        points *= static_cast<double>(extent(nest_, i));
    return 1 / points;
  };
  return expression_slots(nest_.term, false, share) - reads_of(nest_.term, share);
}

// Multiply-adds of floats and dot products are one; a product of integers is two and its addition.
double RegisterTileCost::operations_of_point() const {
  const bool adds_products = nest_.inputs.size() == 2 && nest_.comb == program::Comb::Mul &&
                             nest_.agg == program::Agg::Sum;
  if (nest_.comb == program::Comb::Term)
    return 1 + term_slots();
  if (nest_.inputs.size() < 2 || schedule_.dot != nullptr ||
      (adds_products && is_float(schedule::held_type(nest_))))
    return 1;
  return adds_products ? kIntegerProduct : 2;
}

// Steps over reduced indices that stand in one straight piece of code.
double RegisterTileCost::body_taps() const {
  double taps = 1;
  for (auto i = schedule_.order.rbegin(); i != schedule_.order.rend(); ++i) {
    if (is_output(nest_, *i))
      break;
    taps *= unrolled(*i);
    if (schedule_.splits[*i].step() < schedule_.splits[*i].tile)
      break;
  }
  return taps;
}

StepCost RegisterTileCost::step(const Copies &copies) const {
  if (rows_)
    return row_step(copies);
  StepCost cost;
  double points = 1;
  for (double count : copies)
    points *= count;
  cost.accumulators = points * parts_;
  cost.arithmetic = cost.accumulators * operations_of_point();
  double other = 0;
  for (std::size_t k = 0; k < nest_.inputs.size(); ++k) {
    cost.loads += fragment_loads(k, copies) * access_[k].loads;
    other += fragments(k, copies) * access_[k].other;
  }
  if (!nest_.constraints.empty())
    other += points * kGuard * static_cast<double>(nest_.constraints.size());
  const double excess = live_registers(copies) - target_.vector_registers;
  cost.spills = std::clamp(excess * 2, 0.0, cost.accumulators + 2);
  const double issued = cost.arithmetic * (adds_apart_ ? 2 : 1) + cost.loads + other +
                        2 * cost.spills + kLoopInstructions / body_taps_;
  cost.arithmetic_cycles =
      cost.arithmetic / arithmetic_per_cycle_ + other / 2 / rates_.fma_per_cycle;
  cost.load_cycles = (cost.loads + cost.spills) / rates_.loads_per_cycle;
  cost.store_cycles = cost.spills;
  cost.issue_cycles = issued / rates_.issue_per_cycle;
  if (has_loops_)
    cost.chain_cycles =
        (rates_.fma_latency + (cost.spills > 0 ? kForwarding : 0)) / vectors_of_chain();
  const double bound = std::max({cost.arithmetic_cycles, cost.load_cycles, cost.store_cycles,
                                 cost.issue_cycles, cost.chain_cycles});
  const double ports = cost.arithmetic_cycles + cost.load_cycles + cost.store_cycles;
  const double busiest = std::max({cost.arithmetic_cycles, cost.load_cycles, cost.store_cycles});
  cost.cycles = std::max(bound, busiest + kUnhidden * (ports - busiest));
  return cost;
}

double RegisterTileCost::accumulate_cycles(const Copies &copies) const {
  if (nest_.inputs.empty())
    return 0;
  double steps = 1;
  double loop_ends = 0;
  for (const IndexId i : schedule_.order) {
    if (is_output(nest_, i))
      continue;
    const schedule::Split &split = schedule_.splits[i];
    if (split.step() < split.tile)
      loop_ends += steps * (split.tile / split.step() > kShortLoop ? kLoopEnd : kShortLoopEnd);
    steps *= steps_over(i);
  }
  return share_ * steps * step(copies).cycles + loop_ends;
}

// Instructions that store a vector of results: of neighbours one a register. Lanes that are apart
// are stored one by one, unless copies fill the gaps and all are one register: the compiler joins
// these.
double RegisterTileCost::stored(const Copies &copies) const {
  const std::int64_t stride = result_width_ > 1 ? std::abs(streams_.back().stride(*lane_)) : 1;
  if (stride == 1 || (schedule_.store == schedule::Store::Local && !has_loops_))
    return result_parts_;
  double beside = 1; // copies that are neighbours
  for (const IndexId i : output_indices(nest_))
    if (i != *lane_ && std::abs(streams_.back().stride(i)) == 1)
      beside = copies[i];
  const bool is_joined =
      beside == static_cast<double>(stride) && beside * beside * result_width_ <= kJoined;
  double all = 1;
  for (const double count : copies)
    all *= count;
  if (!is_joined)
    return (has_loops_ ? kScattered : kScatteredMap) * result_width_;
  if (all * result_width_ > kJoined)
    return kLooselyJoined * (1 + std::log2(beside));
  return all == beside ? 1 + 1 / beside : 1 + std::log2(beside);
}

// Vectors that are added up before they are added to an accumulator: those of a step along a row that
// lies in the lanes, but of products, which are added as they are multiplied.
double RegisterTileCost::vectors_of_chain() const {
  const bool is_row = lane_ && !is_output(nest_, *lane_) && nest_.comb != program::Comb::Mul;
  return is_row ? unrolled(*lane_) : 1;
}

// Cycles of a step some of whose lanes are not there, of each vector: in loops all wait, a map masks
// the last vector of a row.
double RegisterTileCost::masked(const Copies &copies) const {
  if (has_loops_)
    return kMaskedStore;
  return (has(target_, Feature::MaskedStores) ? kMaskRegisterStore : kMaskedStore) /
         (result_width_ > 1 ? copies[*lane_] : 1);
}

double RegisterTileCost::store_cycles(const Copies &copies, bool is_partial) const {
  double vectors = 1;
  for (double count : copies)
    vectors *= count;
  double issued = post_slots_ * result_parts_;
  for (std::size_t e = 0; e < nest_.extras.size(); ++e) {
    const Access &access = access_[nest_.inputs.size() + e];
    issued += access.loads + access.other;
  }
  issued += stored(copies);
  issued += conversion(type_of(nest_, nest_.out)).stored * result_parts_;
  const double each =
      issued / rates_.fma_per_cycle + (is_partial ? masked(copies) : 0) + fold_cycles();
  return vectors * each + (rows_ ? row_copies(copies) : 0);
}

double RegisterTileCost::loads(std::size_t input, const Copies &copies) const {
  double steps = 1;
  for (const IndexId i : reduced_indices(nest_))
    steps *= steps_over(i);
  return share_ * steps * fragment_loads(input, copies);
}

double RegisterTileCost::overhead_cycles() const {
  const bool has_edges = std::any_of(schedule_.splits.begin(), schedule_.splits.end(),
                                     [](const schedule::Split &split) { return split.edge; });
  return has_loops_ || has_edges ? kTileOverhead : kStraightTile;
}

} // namespace tilefuse::cost
