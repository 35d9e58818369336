// SPDX-License-Identifier: Apache-2.0
// How the tensors of a layer lie does not decide how fast it is. Data, filter and result are walked
// through all orders of dimensions that networks have, and what search picks is held to the
// predicted time of the best order: of the result, with operands as they lie, and of all three.
//
//   TILEFUSE_PRINT_WALK=1 build/bin/test_layout_walk    prints every order's time, nest and schedule
//   TILEFUSE_WALK_LAYER=res2_3x3 …                      walks one layer
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "../bench/layout_walk.h"
#include "cost/group_model.h"
#include "model/passes.h"
#include "poly/post_ops.h"
#include "search/groups.h"
#include "search/network/split_groups.h"
#include "search/split.h"
#include "target/rows.h"

namespace tilefuse::testing {
namespace {

using bench::Walked;
using bench::WalkedLayer;
using bench::WalkedOrders;

constexpr double kAny = std::numeric_limits<double>::infinity();

// How many times the best order's predicted time another may take: `result` where operands lie
// alike, `all` of any. Nine multiply-adds of a depthwise layer do not hide that each result is
// turned, and what a strided gradient leaves out of its result tears its lines.
struct Limits {
  double result = 1.25;
  double all = 1.25;
  double strided_gradient = 1.4;
  double depthwise = 2.4;
  double errors_last = 2.4; // a filter gradient of errors with channels last
};

struct Timed {
  WalkedOrders orders;
  double seconds = 0;
  std::string text; // of nests, schedules and estimates
};

Timed timed(const WalkedLayer &layer, Walked what, const WalkedOrders &orders, const Target &target,
            std::string_view type) {
  Timed result{orders};
  const program::Program program =
      model::simplify(bench::walked_program(layer, what, orders, type));
  for (const poly::PlacedGroup &placed : poly::make_groups(program::assign_storage(program)))
    for (const poly::Group &group : search::split_group(placed.group, target, {})) {
      const schedule::Schedule schedule = search::pick(group, target);
      const cost::Estimate estimate = cost::predict(group, schedule, target);
      result.seconds += search::following_seconds(estimate, target);
      result.text += to_text(group) + schedule::to_text(group, schedule) + cost::explain(estimate);
    }
  return result;
}

// The orders of what is read.
std::string operands(const WalkedOrders &orders, Walked what) {
  switch (what) {
  case Walked::Forward:
    return orders.data + orders.filter;
  case Walked::InputGradient:
    return orders.filter + orders.result;
  case Walked::FilterGradient:
    return orders.data + orders.result;
  }
  return {};
}

double limit_of(const Limits &limits, const WalkedLayer &layer, Walked what) {
  if (layer.is_depthwise)
    return limits.depthwise;
  return layer.stride > 1 && what == Walked::InputGradient ? limits.strided_gradient : 1;
}

class Walk {
public:
  Walk(const WalkedLayer &layer, Walked what, const Target &target, std::string_view type)
      : layer_(layer), what_(what),
        name_(fmt::format("{} {} {} {}", target.name, type, layer.name, bench::to_string(what))) {
    for (const WalkedOrders &orders : bench::all_walked_orders())
      all_.push_back(timed(layer, what, orders, target, type));
    for (const Timed &each : all_) {
      best_ = std::min(best_, each.seconds);
      double &of_operands = best_of_.try_emplace(operands(each.orders, what), kAny).first->second;
      of_operands = std::min(of_operands, each.seconds);
    }
  }

  void check(const Limits &limits) const {
    const double least = limit_of(limits, layer_, what_);
    for (const Timed &each : all_) {
      const double best = best_of_.at(operands(each.orders, what_));
      if (std::getenv("TILEFUSE_PRINT_WALK") != nullptr)
        std::printf("%-44s %-14s %9.1f us %5.2f %5.2f\n%s", name_.c_str(),
                    each.orders.text().c_str(), each.seconds * 1e6, each.seconds / best,
                    each.seconds / best_, each.text.c_str());
      const bool has_errors_last = what_ == Walked::FilterGradient && each.orders.result == "nyxm";
      const double all = has_errors_last ? std::max(limits.errors_last, limits.all) : limits.all;
      EXPECT_LE(each.seconds, std::max(limits.result, least) * best)
          << name_ << ": " << each.orders.text() << "\n"
          << each.text;
      EXPECT_LE(each.seconds, std::max(all, least) * best_)
          << name_ << ": " << each.orders.text() << "\n"
          << each.text;
    }
  }

private:
  const WalkedLayer &layer_;
  Walked what_;
  std::string name_;
  std::vector<Timed> all_;
  double best_ = kAny;
  std::map<std::string, double> best_of_; // by orders of the operands
};

void walk_all(const char *row, std::string_view type, const Limits &limits) {
  const Target target = target_row(row);
  const char *only = std::getenv("TILEFUSE_WALK_LAYER");
  for (const WalkedLayer &layer : bench::walked_layers())
    for (const Walked what : {Walked::Forward, Walked::InputGradient, Walked::FilterGradient})
      if (only == nullptr || layer.name == only)
        Walk(layer, what, target, type).check(limits);
}

TEST(LayoutWalk, Avx2) { walk_all("cpu_avx2", "f32", {}); }
TEST(LayoutWalk, Avx512) {
  walk_all("cpu_avx512", "f32",
           {.result = 1.3, .all = 1.3, .strided_gradient = 1.45, .depthwise = 3.4});
}
TEST(LayoutWalk, OpenClCpu) { walk_all("opencl_cpu", "f32", {.result = 1.3, .all = 1.3}); }
// In 32 KiB of local memory results are turned beside small tiles of inputs alone.
TEST(LayoutWalk, OpenClGpu) { walk_all("opencl_gpu", "f32", {.result = 2, .all = kAny}); }
TEST(LayoutWalk, HopperFloat) { walk_all("cuda_sm90", "f32", {.all = kAny}); }
// Operands of a window with channels first, and filters whose taps lie innermost, are read by no
// tensor copy. Filter gradients with taps innermost are stored a sector each.
TEST(LayoutWalk, HopperHalf) {
  walk_all("cuda_sm90", "f16", {.result = 1.8, .all = kAny, .depthwise = 1.8});
}

} // namespace
} // namespace tilefuse::testing
