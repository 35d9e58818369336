// SPDX-License-Identifier: Apache-2.0
// Chains of layers as one kernel against the same layers one by one, in one run, rounds
// interleaved: bench_fused [--device cpu|opencl|cuda] [--threads N] [--rounds N] [--only BLOCK]
// [--schedule FILE] [--show]. The file's schedule replaces the picked one of the fused kernel.
// Convolutions and gradients behind maps have two rows: every map evaluated where it is staged, and
// as the cost model decides. On GPUs the device's own clock measures. CSV: block,
// microseconds of the layers and of the fused kernel (medians), ratio, 10th and 90th percentile of
// the fused kernel, largest difference of the results, what the multiply-adds of the layers take at
// a processor's peak: no kernel takes less; and what the layers take without their maps, and over
// that in all: more is not to be gained by evaluating maps elsewhere.
#include "fused.h"
#include "emit/make_emitter.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>

#include "base/error.h"
#include "base/random.h"
#include "cost/group_model.h"
#include "emit/emitter.h"
#include "launch/arguments.h"
#include "layers.h"
#include "lower/launch/lower_launch.h"
#include "model/compile.h"
#include "model/plan/pack.h"
#include "nest/flatten/merge.h"
#include "runtime/make_device.h"
#include "schedule/legal.h"
#include "schedule/members.h"
#include "schedule/text.h"
#include "search/forms/fed_forms.h"
#include "search/groups.h"
#include "search/network/launches.h"
#include "timed_kernels.h"

namespace tilefuse::bench {
namespace {

using program::BufferId;

constexpr std::int64_t kPeriod = 1'000'003; // elements, after which a large tensor's values repeat

struct Options {
  std::string device = "cpu";
  int threads = 0;
  int rounds = 20;
  std::string only;
  std::string schedule;
  bool show = false;
  bool each = false;
  bool schedules = false;
};

schedule::Schedule read_schedule(const poly::Group &group, const std::string &path,
                                 const runtime::Device &device) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  schedule::Schedule schedule = schedule::parse_schedule(group, text.str(), path);
  if (const std::optional<std::string> why = illegal(group, schedule, device.target()))
    throw Error(ErrorCode::Unsupported, *why, path);
  return schedule;
}

// Kernels on buffers of their own, launched one after the other.
class Stream {
public:
  // `schedule`: a file with that of the only group; empty: as picked.
  Stream(std::vector<poly::PlacedGroup> groups, runtime::Device &device, bool show,
         const std::string &schedule = {})
      : device_(device) {
    const nest::Operand &out = groups.back().group.anchor.out;
    result_ = groups.back().buffers[static_cast<std::size_t>(out.slot)];
    result_type_ = groups.back().group.anchor.slots[static_cast<std::size_t>(out.slot)].type;
    const Target &target = device.target();
    std::vector<launch::Part> kernels;
    for (poly::PlacedGroup &placed : groups) {
      schedule::Schedule chosen = schedule.empty() ? search::pick(placed.group, target)
                                                   : read_schedule(placed.group, schedule, device);
      if (show)
        fmt::print(stderr, "{}{}{}", to_text(placed.group), to_text(placed.group, chosen),
                   cost::explain(cost::predict(placed.group, chosen, target)));
      kernels.push_back({std::move(placed), std::move(chosen)});
    }
    const std::vector<launch::Launch> launches =
        search::choose_launches(std::move(kernels), target, search::pick_of_size(target));
    std::vector<Package> sources;
    for (const launch::Launch &launch : launches)
      sources.push_back(
          model::make_emitter(target)->emit(lower::lower_launch(launch, target), target));
    const std::vector<Package> built = device.build(std::move(sources));
    for (std::size_t k = 0; k < launches.size(); ++k)
      load(launches[k], built[k]);
  }

  double run() {
    if (device_.target().lanes == LaneKind::WorkItem)
      return device_.time_all(launches_, true);
    const auto start = std::chrono::steady_clock::now();
    device_.launch_all(launches_);
    device_.finish();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  std::vector<double> result() {
    runtime::Memory *memory = memory_.at(to_int(result_)).get();
    program::Bytes bytes(static_cast<std::size_t>(memory->bytes()));
    device_.read({memory, 0, memory->bytes()}, bytes);
    const DType type = result_type_;
    std::vector<double> values(bytes.size() / static_cast<std::size_t>(size_bytes(type)));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = load_element(bytes.data(), type, static_cast<std::int64_t>(i));
    return values;
  }

private:
  // A buffer's values depend on its number alone, so both ways compute the same.
  const program::Bytes &bytes_of(BufferId id, const nest::Slot &slot) {
    program::Bytes &bytes = data_[to_int(id)];
    if (!bytes.empty())
      return bytes;
    Random random(static_cast<std::uint64_t>(to_int(id)) + 1);
    const auto elem = static_cast<std::size_t>(size_bytes(slot.type));
    bytes.resize(static_cast<std::size_t>(slot.elems) * elem);
    for (std::int64_t i = 0; i < std::min(slot.elems, kPeriod); ++i)
      store_element(bytes.data(), slot.type, i, 2 * random.unit() - 1);
    const std::size_t period = static_cast<std::size_t>(kPeriod) * elem;
    for (std::size_t i = period; i < bytes.size(); i += period)
      std::memcpy(bytes.data() + i, bytes.data(), std::min(period, bytes.size() - i));
    memory_[to_int(id)] = upload(bytes);
    return bytes;
  }

  std::unique_ptr<runtime::Memory> upload(const program::Bytes &bytes) {
    const auto size = static_cast<std::int64_t>(bytes.size());
    std::unique_ptr<runtime::Memory> memory = device_.allocate(size);
    device_.write({memory.get(), 0, size}, bytes);
    return memory;
  }

  void load(const launch::Launch &launch, const Package &built) {
    std::vector<runtime::Binding> bindings;
    for (const launch::Argument &of : launch::arguments(launch).all) {
      const launch::Part &part = launch.parts[of.part];
      const poly::SlotId slot = slot_of(part.placed.group, of.arg);
      const BufferId buffer = buffer_of(launch, of);
      const program::Bytes &bytes = bytes_of(buffer, group_slots(part.placed.group)[slot]);
      runtime::Memory *memory = memory_.at(to_int(buffer)).get();
      if (!of.arg.slot) {
        packed_.push_back(upload(model::pack(part.placed.group, part.schedule, of.arg, bytes)));
        memory = packed_.back().get();
      }
      bindings.push_back({memory, 0, memory->bytes()});
    }
    kernels_.push_back(device_.load(built, bindings));
    launches_.push_back(kernels_.back().get());
  }

  runtime::Device &device_;
  BufferId result_{}; // of the last group
  DType result_type_ = DType::F32;
  std::map<int, program::Bytes> data_;
  std::map<int, std::unique_ptr<runtime::Memory>> memory_;
  std::vector<std::unique_ptr<runtime::Memory>> packed_;
  std::vector<std::unique_ptr<runtime::Launchable>> kernels_;
  std::vector<runtime::Launchable *> launches_;
};

using Groups = std::vector<poly::PlacedGroup>;

// What the multiply-adds of all layers take at a processor's peak, in one kernel or in many;
// nothing for a GPU, whose matrix instructions have peaks of their own.
std::string least_us(const Groups &layers, runtime::Device &device) {
  if (device.target().lanes != LaneKind::Vector)
    return "";
  double operations = 0;
  for (const poly::PlacedGroup &placed : layers) {
    double points = placed.group.anchor.inputs.size() == 2 ? 1 : 0;
    for (const nest::Index &index : placed.group.anchor.indices)
      points *= static_cast<double>(index.extent);
    operations += 2 * points;
  }
  return fmt::format("{:.1f}", operations / device.ceilings().flops_per_s * 1e6);
}

// Times three runs behind one that warms up.
void add_runs(Stream &stream, Samples &samples) {
  stream.run();
  for (int n = 0; n < 3; ++n)
    samples.seconds.push_back(stream.run());
}

void measure(const std::string &name, const Groups &of_layers, const Groups &of_fused,
             runtime::Device &device, const Options &options) {
  for (const poly::PlacedGroup &placed : of_fused)
    if (!placed.group.producers.empty() && !search::pick_fused(placed.group, device.target())) {
      fmt::print("{},,,,,,no tile of the fused kernel fits this device,,,\n", name);
      return;
    }
  Stream layers(of_layers, device, options.show);
  Stream fused(of_fused, device, options.show, options.schedule);
  Groups of_rest = of_layers;
  std::erase_if(of_rest, [](const auto &placed) { return placed.group.anchor.inputs.empty(); });
  const bool has_maps = of_rest.size() < of_layers.size() && !of_rest.empty();
  std::optional<Stream> rest;
  if (has_maps)
    rest.emplace(of_rest, device, false);
  Samples one_by_one, together, without;
  for (int round = 0; round < options.rounds; ++round) {
    add_runs(layers, one_by_one);
    add_runs(fused, together);
    if (rest)
      add_runs(*rest, without);
  }
  double apart = 0;
  const std::vector<double> a = layers.result();
  const std::vector<double> b = fused.result();
  for (std::size_t i = 0; i < a.size(); ++i)
    apart = std::max(apart, std::fabs(a[i] - b[i]));
  const std::string bound = rest ? fmt::format("{:.1f},{:.3f}", without.at(0.5) * 1e6,
                                               one_by_one.at(0.5) / without.at(0.5))
                                 : ",";
  fmt::print("{},{:.1f},{:.1f},{:.3f},{:.1f},{:.1f},{:.3g},{},{}\n", name, one_by_one.at(0.5) * 1e6,
             together.at(0.5) * 1e6, one_by_one.at(0.5) / together.at(0.5), together.at(0.1) * 1e6,
             together.at(0.9) * 1e6, apart, least_us(of_layers, device), bound);
  std::fflush(stdout);
}

// Each kernel alone, its inputs where its last launch left them.
void measure_each(const std::string &name, const Groups &layers, runtime::Device &device,
                  const Options &options) {
  for (const poly::PlacedGroup &placed : layers) {
    Stream one({placed}, device, false);
    Samples samples;
    for (int round = 0; round < options.rounds; ++round)
      samples.seconds.push_back(one.run());
    fmt::print("{}: {} alone,{:.1f},,,{:.1f},{:.1f},,{},,\n", name, placed.group.anchor.name,
               samples.at(0.5) * 1e6, samples.at(0.1) * 1e6, samples.at(0.9) * 1e6,
               least_us({placed}, device));
  }
}

void measure_chain(const ChainBlock &block, runtime::Device &device, const Options &options) {
  Groups merged = chain(block);
  const poly::PlacedGroup fused = fused_chain(merged);
  for (poly::PlacedGroup &placed : merged)
    placed.group.anchor = nest::merge_indices(placed.group.anchor);
  measure(block.name, merged, {fused}, device, options);
  if (options.each)
    measure_each(block.name, merged, device, options);
}

// Every schedule with matrix instructions of the block's last kernel with its map: as predicted and
// as measured.
void measure_schedules(const MapBlock &block, runtime::Device &device, const Options &options) {
  const Target &target = device.target();
  const poly::Group group = map_groups(block, Fusing::Forced, target).back().group;
  const std::vector<schedule::Schedule> all = search::fed_core_schedules(group, target, false);
  TimedKernels timed(group, all, device);
  for (std::size_t k = 0; k < all.size(); ++k) {
    Samples samples;
    for (int round = 0; round < options.rounds; ++round)
      samples.seconds.push_back(timed.run(k));
    const schedule::Core &core = all[k].core;
    fmt::print("{},{} rows {} warps {} {} ring {} turns {} mappers {}{}{}{},{:.1f},{:.1f}\n",
               block.name, core.op->name, core.rows, core.warp_rows, core.warp_columns,
               step_stages(all[k]), all[k].roles.math.instances, all[k].roles.transform.groups,
               all[k].core.swap_ab ? " swapped" : "",
               halo_stages(all[k]) > 0 ? fmt::format(" window {}", halo_stages(all[k])) : "",
               has_resident(all[k]) ? " keep_filter" : "",
               cost::predict(group, all[k], target).seconds * 1e6, samples.at(0.5) * 1e6);
  }
  std::fflush(stdout);
}

void measure_maps(const MapBlock &block, runtime::Device &device, const Options &options) {
  const Target &target = device.target();
  const Groups apart = map_groups(block, Fusing::Apart, target);
  measure(block.name, apart, map_groups(block, Fusing::Forced, target), device, options);
  const Groups judged = map_groups(block, Fusing::Judged, target);
  measure(fmt::format("{} as judged ({} of {} kernels)", block.name, judged.size(), apart.size()),
          apart, judged, device, options);
}

void run(const Options &options) {
  const std::unique_ptr<runtime::Device> device =
      runtime::make_device(options.device, options.threads, bench_targets());
  fmt::print("block,layers_us,fused_us,ratio,fused_p10_us,fused_p90_us,difference,least_us,"
             "without_maps_us,at_most\n");
  const auto is_asked = [&](const std::string &name) {
    return options.only.empty() || options.only == name;
  };
  for (const ChainBlock &block : chain_blocks())
    if (is_asked(block.name))
      measure_chain(block, *device, options);
  for (const MapBlock &block : map_blocks()) {
    const bool is_half = block.type != "f32";
    if (!is_asked(block.name) || (is_half && device->target().backend != "cuda"))
      continue;
    if (!options.schedules)
      measure_maps(block, *device, options);
    else if (is_half)
      measure_schedules(block, *device, options);
  }
}

} // namespace
} // namespace tilefuse::bench

int main(int argc, char **argv) {
  CLI::App app{"Chains of layers as one kernel"};
  tilefuse::bench::Options options;
  app.add_option("--device", options.device);
  app.add_option("--threads", options.threads, "0: one per core");
  app.add_option("--rounds", options.rounds)->check(CLI::PositiveNumber);
  app.add_option("--only", options.only);
  app.add_option("--schedule", options.schedule)->check(CLI::ExistingFile)->needs("--only");
  app.add_flag("--each", options.each, "a row for every layer alone, too");
  app.add_flag("--schedules", options.schedules,
               "instead every schedule of what runs on matrix instructions with its map");
  app.add_flag("--show", options.show, "print each group, schedule and prediction");
  CLI11_PARSE(app, argc, argv);
  try {
    tilefuse::bench::run(options);
  } catch (const tilefuse::Error &error) {
    std::fprintf(stderr, "bench_fused: %s\n", error.what());
    return 2;
  }
}
