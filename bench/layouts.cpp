// SPDX-License-Identifier: Apache-2.0
// Layers with their tensors in every order of dimensions, timed on a device: bench_layouts
// [--device cpu|opencl] [--layer NAME]… [--rounds N] [--share S]. CSV: microseconds of what search picks, the
// same of the best schedule whose lanes are neighbours in the result and that turns nothing, and the
// first over the best order's; each is the tenth part's upper bound (--share 0.5: the median) of
// rounds in which all orders of a layer take turns.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <limits>
#include <memory>

#include "base/error.h"
#include "layout_walk.h"
#include "model/passes.h"
#include "paths.h"
#include "poly/post_ops.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/opencl/opencl_device.h"
#include "schedule/result_tile.h"
#include "search/network/split_groups.h"
#include "search/pick.h"
#include "target/device_rows.h"
#include "timed_kernels.h"

namespace tilefuse::bench {
namespace {

using schedule::Schedule;

// Lanes are neighbours in the result, and nothing is turned for them.
bool is_as_results_lie(const nest::Nest &nest, const Schedule &schedule) {
  const bool turns =
      std::any_of(schedule.pipes.begin(), schedule.pipes.end(), [](const schedule::Pipe &stage) {
        return stage.layout == schedule::Layout::Transposed;
      });
  return !turns && schedule.store == schedule::Store::Direct &&
         lane_index(schedule) == schedule::fastest_in_result(nest);
}

// The kernels of one order: of each group the pick and, where it is another, the best as results
// lie.
class Order {
public:
  Order(const WalkedLayer &layer, Walked what, const WalkedOrders &orders,
        runtime::Device &device) {
    const program::Program program = model::simplify(walked_program(layer, what, orders, "f32"));
    for (const poly::PlacedGroup &placed : poly::make_groups(program::assign_storage(program)))
      for (const poly::Group &group : search::split_group(placed.group, device.target(), {}))
        add(group, device);
  }

  // Seconds of all groups: as picked, and as results lie.
  void run() {
    double picked = 0, old = 0;
    for (TimedKernels &group : groups_) {
      const double first = group.run(0);
      picked += first;
      old += group.size() > 1 ? group.run(1) : first;
    }
    picked_.seconds.push_back(picked);
    old_.seconds.push_back(old);
  }
  double picked(double share) const { return picked_.at(share); }
  double old(double share) const { return old_.at(share); }

private:
  void add(const poly::Group &group, runtime::Device &device) {
    constexpr std::size_t kMost = 100000;
    const auto all = search::candidates(group.anchor, device.target(), kMost);
    std::vector<Schedule> schedules = {all.front().schedule};
    const auto found = std::find_if(all.begin(), all.end(), [&](const search::Candidate &each) {
      return is_as_results_lie(group.anchor, each.schedule);
    });
    if (found != all.begin() && found != all.end())
      schedules.push_back(found->schedule);
    groups_.emplace_back(group, schedules, device);
  }

  std::vector<TimedKernels> groups_;
  Samples picked_, old_;
};

void time_layer(const WalkedLayer &layer, Walked what, runtime::Device &device, int rounds,
                double share) {
  const std::vector<WalkedOrders> orders = all_walked_orders();
  std::vector<std::unique_ptr<Order>> all;
  for (const WalkedOrders &each : orders)
    all.push_back(std::make_unique<Order>(layer, what, each, device));
  for (int round = 0; round < rounds; ++round)
    for (const std::unique_ptr<Order> &each : all)
      each->run();
  double best = std::numeric_limits<double>::infinity();
  for (const std::unique_ptr<Order> &each : all)
    best = std::min(best, each->picked(share));
  for (std::size_t i = 0; i < all.size(); ++i)
    fmt::print("{},{},{},{:.1f},{:.1f},{:.2f}\n", layer.name, to_string(what), orders[i].text(),
               all[i]->picked(share) * 1e6, all[i]->old(share) * 1e6, all[i]->picked(share) / best);
  std::fflush(stdout);
}

int run(int argc, char **argv) {
  CLI::App app("Times layers with their tensors in every order of dimensions");
  std::string name = "cpu";
  std::vector<std::string> layers;
  int rounds = 25;
  double share = 0.1;
  app.add_option("--device", name, "cpu or opencl")->check(CLI::IsMember({"cpu", "opencl"}));
  app.add_option("--layer", layers, "Only this layer");
  app.add_option("--rounds", rounds, "Runs of each")->check(CLI::PositiveNumber);
  app.add_option("--share", share, "Of the rounds, which take no longer than what is printed")
      ->check(CLI::Range(0.0, 1.0));
  CLI11_PARSE(app, argc, argv);
  const std::unique_ptr<runtime::Device> device =
      name == "cpu"
          ? runtime::make_cpu_device(0)
          : runtime::make_opencl_device("opencl", read_targets(TILEFUSE_SOURCE_DIR "/devices"));
  fmt::print("layer,direction,orders,us,us_as_results_lie,over_best\n");
  for (const WalkedLayer &layer : walked_layers())
    for (const Walked what : kWalked)
      if (layers.empty() || std::find(layers.begin(), layers.end(), layer.name) != layers.end())
        time_layer(layer, what, *device, rounds, share);
  return 0;
}

} // namespace
} // namespace tilefuse::bench

int main(int argc, char **argv) {
  try {
    return tilefuse::bench::run(argc, argv);
  } catch (const tilefuse::Error &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
