// SPDX-License-Identifier: Apache-2.0
// Convolutions of bytes on processors: bench_dots [rounds] [threads]. Each 3x3 and 1x1 layer of
// ResNet-50, a single image, channels last, is computed in f32, in bytes without dot products, and
// in bytes with each dot product, as code for every row of devices/ that this processor runs;
// rounds are interleaved. Prints CSV: medians in microseconds, how many times faster than f32 of
// the same row, and the share of the row's rate.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "layers.h"
#include "lower/pipeline.h"
#include "model/compile.h"
#include "model/tune/timed_group.h"
#include "runtime/cpu/cpu_device.h"
#include "search/pick.h"
#include "timed_kernels.h"

namespace tilefuse::bench {
namespace {

// A layer with ReLU on what is stored in the type of its data; bytes are scaled before.
poly::Group group_of(const Layer &layer, const std::string &data, const std::string &filter) {
  const bool is_real = data == "f32";
  const std::int64_t p = layer.out_height(), c = layer.channels, m = layer.outputs;
  const std::int64_t taps = layer.kernel * layer.kernel, row = layer.width * c;
  const char *guard = layer.pad > 0 ? "?" : "";
  return {nest::parse_nest(fmt::format(
      "nest conv {{\n  index y {0}, x {0}, m {1} | r {2}, s {2}, c {3}\n"
      "  slot 0 {4} {5}, 1 {6} {7}, 2 {4} {8}, 3 f32 {1}\n  acc {9} = sum mul\n"
      "  in 0 + 0 [{10}*y + r - {11}:{12}{13}*{14}, {10}*x + s - {11}:{12}{13}*{3}, c:{3}*1]\n"
      "  in 1 + 0 const [m:{1}*{15}, c:{3}*{16}, r:{2}*{2}, s:{2}*1]\n"
      "  out 2 + 0 [y:{0}*{17}, x:{0}*{1}, m:{1}*1]\n  extra 3 + 0 const [m:{1}*1]\n"
      "  post {18}\n}}\n",
      p, m, layer.kernel, c, data, layer.height * row, filter, m * c * taps, p * p * m,
      is_real ? "f32" : "i32", layer.stride, layer.pad, layer.height, guard, row, c * taps, taps,
      p * m,
      is_real ? "max(acc + $0, 0)"
              : fmt::format("{}(max(min(round(f32(acc) * $0), 127), 0))", data)))};
}

// A kernel and its times. The group stays where it is.
struct Job {
  std::string row, type;
  const DotOp *dot = nullptr;
  double rate = 0; // operations a second
  std::unique_ptr<poly::Group> group;
  std::unique_ptr<model::TimedGroup> timed;
  Samples samples;
};

Job make_job(const Layer &layer, const Target &target, const std::string &data,
             const std::string &filter, runtime::Device &device) {
  Job job{.row = target.name, .type = data + "*" + filter};
  job.group = std::make_unique<poly::Group>(group_of(layer, data, filter));
  const schedule::Schedule schedule = search::pick(job.group->anchor, target);
  job.dot = schedule.dot;
  job.rate =
      1e9 * target.compute_units *
      (job.dot == nullptr ? target.gflops_per_unit : find_dot(target, *job.dot)->gops_per_unit);
  const auto emitter = model::make_emitter(target);
  const Package package = emitter->emit(lower::lower(*job.group, schedule, target), target);
  job.timed = std::make_unique<model::TimedGroup>(*job.group, device);
  job.timed->add(schedule, device.build({package}).front());
  return job;
}

// A row as this processor is, apart from its instructions.
Target on_host(Target row, const Target &host) {
  row.compute_units = host.compute_units;
  row.l1_bytes = host.l1_bytes;
  row.l2_bytes = host.l2_bytes;
  return row;
}

bool runs_on(const Target &row, const Target &host) {
  return row.backend == host.backend && row.vector_f32 <= host.vector_f32 &&
         std::all_of(row.dots.begin(), row.dots.end(),
                     [&](const DotRate &dot) { return find_dot(host, *dot.op) != nullptr; });
}

std::vector<Job> make_jobs(const Layer &layer, runtime::Device &device) {
  std::vector<Job> jobs;
  for (const Target &row : bench_targets()) {
    if (!runs_on(row, device.target()))
      continue;
    const Target target = on_host(row, device.target());
    Target plain = target;
    plain.dots.clear();
    jobs.push_back(make_job(layer, target, "f32", "f32", device));
    jobs.push_back(make_job(layer, plain, "u8", "i8", device));
    jobs.push_back(make_job(layer, target, "u8", "i8", device));
    jobs.push_back(make_job(layer, target, "i8", "i8", device));
  }
  return jobs;
}

void time_layer(const Layer &layer, runtime::Device &device, int rounds) {
  constexpr int kWarmUps = 3;
  constexpr std::size_t kFirst[] = {0};
  std::vector<Job> jobs = make_jobs(layer, device);
  for (int round = -kWarmUps; round < rounds; ++round)
    for (Job &job : jobs) {
      const double seconds = job.timed->run(kFirst).front();
      if (round >= 0)
        job.samples.seconds.push_back(seconds);
    }
  double f32 = 0;
  for (const Job &job : jobs) {
    const double median = job.samples.at(0.5);
    f32 = job.type == "f32*f32" ? median : f32;
    fmt::print("{},{},{},{},{:.1f},{:.1f},{:.2f},{:.0f}\n", layer.name, job.row, job.type,
               job.dot == nullptr ? "-" : job.dot->name, median * 1e6, job.samples.at(0.1) * 1e6,
               f32 / median, 100 * layer.flops() / median / job.rate);
  }
  std::fflush(stdout);
}

void run(int rounds, int threads) {
  const std::unique_ptr<runtime::Device> device = runtime::make_cpu_device(threads);
  fmt::print("layer,row,type,dot,us,us_p10,over_f32,percent_of_rate\n");
  for (const Layer &layer : layers_of("resnet50"))
    if (layer.kernel < 7)
      time_layer(layer, *device, rounds);
}

} // namespace
} // namespace tilefuse::bench

int main(int argc, char **argv) {
  tilefuse::bench::run(argc > 1 ? std::atoi(argv[1]) : 30, argc > 2 ? std::atoi(argv[2]) : 0);
}
