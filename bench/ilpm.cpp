// SPDX-License-Identifier: Apache-2.0
// ILP-M's own table: ResNet's four 3x3 layers, a single image, under the algorithms that its author
// compares, all of them ours: bench_ilpm [device] [rounds] [simulate]. On a processor the kernels
// are those of a GPU, work-items and all. Rounds are interleaved.
// Prints CSV: time of a layer in microseconds (median, 10th and 90th percentile), GFLOP/s, the
// largest error as a share of its bound, and what the simulator counts in a block, times the
// blocks; the copy of im2col's windows is part of it.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "kernel/counts.h"
#include "layers.h"
#include "model/compile.h"
#include "model/oracle/check.h"
#include "model/oracle/simulate_group.h"
#include "model/passes.h"
#include "poly/post_ops.h"
#include "program/rewrite/rewrite.h"
#include "runtime/make_device.h"
#include "schedule/blocks.h"
#include "search/forms/algorithms.h"
#include "search/forms/named_schedule.h"
#include "search/pick.h"
#include "timed_kernels.h"

namespace tilefuse::bench {
namespace {

using schedule::Schedule;

constexpr std::int64_t kSampledOutputs = 300;
const std::vector<std::string> kLayers = {"res2_3x3", "res3_3x3", "res4_3x3", "res5_3x3"};
const std::vector<std::string> kAlgorithms = {"ilpm", "direct", "direct_cached", "im2col"};

// What the simulator counts in all kernels of a layer.
struct Spent {
  double global_bytes = 0, local_loads = 0, barriers = 0, multiply_adds = 0;
};

// A kernel of a layer under an algorithm. The group must stay where it is.
struct Stage {
  poly::Group group;
  Schedule schedule;
  std::unique_ptr<TimedKernels> timed;
};

struct Job {
  std::string algorithm;
  std::vector<std::unique_ptr<Stage>> stages;
  Samples samples;
  double share = 0; // largest error over its bound
  Spent spent;
};

std::vector<poly::Group> groups_of(const Layer &layer, const std::string &algorithm,
                                   const tile::Library &ops, const Target &target) {
  if (!program::is_rewrite(algorithm))
    return {layer_group(layer, ops)};
  const program::Program program =
      model::prepare(layer_program(layer, ops), target, {.algorithm = algorithm});
  std::vector<poly::Group> groups;
  for (poly::PlacedGroup &placed : poly::make_groups(program::assign_storage(program)))
    if (program::rewritten_by(placed.origin) == algorithm)
      groups.push_back(std::move(placed.group));
  return groups;
}

Schedule schedule_of(const nest::Nest &nest, const std::string &algorithm, const Target &target) {
  if (program::is_rewrite(algorithm))
    return search::pick(nest, target);
  search::NamedSchedule named = search::named_schedule(algorithm, nest, target);
  if (!named.schedule)
    throw Error(ErrorCode::Unsupported, named.refusal);
  return *named.schedule;
}

double verified_share(const Stage &stage, runtime::Device &device) {
  const model::KernelCase kernel_case{.group = stage.group,
                                      .schedule = stage.schedule,
                                      .target = device.target(),
                                      .values = model::Values::Reals};
  const model::Reference reference(kernel_case, kSampledOutputs);
  if (const auto divergence = model::check_on_device(reference, device))
    throw Error(ErrorCode::Limit, divergence->what);
  return reference.largest_share();
}

void count(const Stage &stage, const Target &target, Spent &spent) {
  const model::SimulatedGroup one = model::simulate_group(stage.group, stage.schedule, target, {0});
  if (!one.fault.empty())
    throw Error(ErrorCode::Limit, one.fault);
  const auto blocks = static_cast<double>(schedule::blocks(stage.group.anchor, stage.schedule));
  for (const kernel::BufferCounts &buffer : one.counts.buffers) {
    if (buffer.space == kernel::Space::Global)
      spent.global_bytes += blocks * static_cast<double>(buffer.loaded_bytes + buffer.stored_bytes);
    else
      spent.local_loads += blocks * static_cast<double>(buffer.loads);
  }
  spent.barriers += blocks * static_cast<double>(one.counts.barriers);
  spent.multiply_adds +=
      blocks * static_cast<double>(one.counts.of(kernel::InstructionKind::Fma).lanes);
}

Job make_job(const Layer &layer, const std::string &algorithm, const tile::Library &ops,
             runtime::Device &device, bool simulate) {
  Job job{.algorithm = algorithm};
  for (poly::Group &group : groups_of(layer, algorithm, ops, device.target())) {
    auto stage = std::make_unique<Stage>();
    stage->group = std::move(group);
    stage->schedule = schedule_of(stage->group.anchor, algorithm, device.target());
    job.share = std::max(job.share, verified_share(*stage, device));
    if (simulate)
      count(*stage, device.target(), job.spent);
    stage->timed =
        std::make_unique<TimedKernels>(stage->group, std::vector{stage->schedule}, device);
    job.stages.push_back(std::move(stage));
  }
  return job;
}

void time_rounds(std::vector<Job> &jobs, int rounds) {
  constexpr int kWarmUps = 2;
  for (int round = -kWarmUps; round < rounds; ++round)
    for (Job &job : jobs) {
      double seconds = 0;
      for (const std::unique_ptr<Stage> &stage : job.stages)
        seconds += stage->timed->run(0);
      if (round >= 0)
        job.samples.seconds.push_back(seconds);
    }
}

void run_layer(const Layer &layer, const tile::Library &ops, runtime::Device &device, int rounds,
               bool simulate) {
  std::vector<Job> jobs;
  for (const std::string &algorithm : kAlgorithms) {
    try {
      jobs.push_back(make_job(layer, algorithm, ops, device, simulate));
    } catch (const Error &error) {
      std::fprintf(stderr, "%s %s: %s\n", layer.name.c_str(), algorithm.c_str(), error.what());
    }
  }
  time_rounds(jobs, rounds);
  for (const Job &job : jobs) {
    const double median = job.samples.at(0.5);
    fmt::print("{},{},{},{},{:.2f},{:.2f},{:.2f},{:.1f},{:.2g},{:.0f},{:.0f},{:.0f},{:.0f}\n",
               device.target().name, layer.name, job.algorithm, job.stages.size(), median * 1e6,
               job.samples.at(0.1) * 1e6, job.samples.at(0.9) * 1e6, layer.flops() / median * 1e-9,
               job.share, job.spent.global_bytes, job.spent.local_loads, job.spent.barriers,
               job.spent.multiply_adds);
    std::fflush(stdout);
  }
}

// Processors as if their lanes were work-items: the published kernels as they stand.
std::vector<Target> rows_with_work_items() {
  std::vector<Target> rows = bench_targets();
  for (Target &row : rows)
    if (row.backend == "opencl" && row.lanes == LaneKind::Vector) {
      row.lanes = LaneKind::WorkItem;
      row.vector_f32 = 64;
      row.vector_registers = 128;
      row.max_group = 1024;
      row.local_bytes = 48 << 10;
    }
  return rows;
}

int run(const std::string &selector, int rounds, bool simulate) {
  const std::unique_ptr<runtime::Device> device =
      runtime::make_device(selector, 0, rows_with_work_items());
  const tile::Library ops = bench_library();
  fmt::print("# {}\ntarget,layer,algorithm,kernels,median_us,p10_us,p90_us,gflops,error_share,"
             "global_bytes,local_loads,barriers,multiply_adds\n",
             device->name());
  for (const Layer &layer : layers_of("resnet50"))
    if (std::find(kLayers.begin(), kLayers.end(), layer.name) != kLayers.end())
      run_layer(layer, ops, *device, rounds, simulate);
  return 0;
}

} // namespace
} // namespace tilefuse::bench

int main(int argc, char **argv) {
  try {
    return tilefuse::bench::run(argc > 1 ? argv[1] : "opencl", argc > 2 ? std::atoi(argv[2]) : 15,
                                argc > 3);
  } catch (const tilefuse::Error &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
