// SPDX-License-Identifier: Apache-2.0
#include "gpu_check.h"
#include "emit/make_emitter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <memory>
#include <vector>

#include "base/error.h"
#include "base/index.h"
#include "base/random.h"
#include "base/thread_pool.h"
#include "emit/emitter.h"
#include "lower/pipeline.h"
#include "model/oracle/check.h"
#include "schedule/members.h"
#include "schedule/mma/core_roles.h"
#include "schedule/wgmma/wgmma_tiles.h"
#include "search/forms/core_forms.h"
#include "search/forms/fed_forms.h"
#include "search/forms/part_forms.h"
#include "search/forms/roles.h"
#include "support/fed_group.h"

namespace tilefuse::bench {
namespace {

constexpr double kMostFlops = 2e7; // the evaluator takes its time
constexpr int kMostDraws = 20'000; // in a row that no matrix instruction computes
constexpr std::int64_t kSampledReals = 400;

// Sizes that tiles do and do not divide, any stride, dilation and padding, also in groups.
ConvProblem random_problem(Random &random, DType type, bool blocks) {
  ConvProblem p{.type = type, .in_blocks = blocks};
  // Copies bring 4 bytes, what lies off them is gathered.
  const std::int64_t unit = random.chance(25) ? 1 : 4 / size_bytes(type);
  const auto channels = [&] {
    if (blocks)
      return 32 * random.between(1, 5);
    return random.chance(50) ? random.of<std::int64_t>({32, 64, 16, 96, 128})
                             : unit * random.between(1, 120 / unit);
  };
  p.batch = random.between(1, 5);
  p.groups = !blocks && random.chance(15) ? random.between(2, 3) : 1;
  p.channels = p.groups * channels();
  p.outputs = p.groups * channels();
  p.height = random.between(1, 15);
  p.width = random.between(1, 15);
  p.taps_y = random.of<std::int64_t>({1, 3, 2, 5, 7});
  p.taps_x = random.of<std::int64_t>({1, 3, 2, 5, 7});
  p.stride = random.of<std::int64_t>({1, 1, 2, 3});
  p.dilation = random.of<std::int64_t>({1, 1, 1, 2});
  p.pad = random.between(0, 3);
  p.epilogue = random.of({Epilogue::Plain, Epilogue::Relu, Epilogue::Full});
  return p;
}

// What the request asks of pipes and the order of tiles that no form of search has: every change of
// each schedule that is legal.
std::vector<schedule::Schedule> changed(const poly::Group &group, const Target &target,
                                        const CheckRequest &request,
                                        const std::vector<schedule::Schedule> &all) {
  std::vector<schedule::TileOrder> orders = {{}};
  if (request.clusters)
    orders = {{.cluster_m = 2}, {.cluster_n = 2}, {.cluster_m = 2, .cluster_n = 2}};
  if (request.parts)
    orders = {{.split_k = 2}, {.split_k = 4}};
  std::vector<schedule::Schedule> found;
  for (const schedule::Schedule &plain : all)
    for (const schedule::TileOrder &order : orders) {
      schedule::Schedule each = plain;
      if (request.clusters || request.parts)
        each.tiles = order;
      if (request.gathers)
        data_pipe(group.anchor, each).engine = schedule::Engine::CpAsync;
      if (request.ahead)
        each.extra = {.engine = schedule::Engine::Tma, .stages = each.roles.math.instances};
      search::assign_roles(group.anchor, each, target);
      if (!illegal(group, each, target))
        found.push_back(std::move(each));
    }
  return found;
}

std::vector<schedule::Schedule> schedules_of(const poly::Group &group, const Target &target,
                                             const CheckRequest &request) {
  const nest::Nest &nest = group.anchor;
  if (!group.producers.empty()) {
    auto all = search::fed_core_schedules(group, target, request.tf32);
    std::erase_if(all, [&](const schedule::Schedule &each) {
      return is_wgmma(*each.core.op) != request.wgmma ||
             (request.windows && halo_stages(each) == 0);
    });
    const bool changes = request.clusters || request.parts || request.gathers;
    return changes ? changed(group, target, request, all) : all;
  }
  if (!request.wgmma)
    return search::core_schedules(nest, target, request.tf32);
  std::vector<schedule::Schedule> all = search::every_wgmma_schedule(nest, target, request.tf32);
  if (request.windows)
    std::erase_if(all, [](const schedule::Schedule &each) { return halo_stages(each) == 0; });
  if (request.gathers)
    std::erase_if(all, [](const schedule::Schedule &each) { return !has_loading_warps(each); });
  if (request.gathers && request.ahead)
    return changed(group, target, request, all);
  if (request.ahead)
    std::erase_if(all, [](const schedule::Schedule &each) { return each.extra.stages == 0; });
  if (!request.clusters && !request.parts)
    return all;
  std::vector<schedule::Schedule> clustered;
  for (const schedule::Schedule &schedule : all)
    for (const std::int64_t parts : {2, 4, 8})
      if (auto found = search::with_parts(nest, schedule, target, parts); request.parts && found)
        clustered.push_back(*std::move(found));
  if (request.parts)
    return clustered;
  for (const schedule::Schedule &schedule : all)
    for (const auto &[rows, columns] : {std::pair{2, 1}, {1, 2}, {2, 2}, {4, 1}, {1, 4}})
      if (auto found = search::with_cluster(nest, schedule, target, rows, columns))
        clustered.push_back(*std::move(found));
  return clustered;
}

struct Checked {
  std::string problem;
  model::KernelCase kernel_case;
  Package package;
};

// The kernels of a problem, each under a random schedule; none where a matrix instruction fits none
// of them. Full and clipped results belong to forward convolutions.
std::vector<Checked> draw(Random &random, const CheckRequest &request, const Target &target) {
  ConvProblem problem = random_problem(random, request.type, request.blocks);
  if (request.direction != Direction::Forward)
    problem.epilogue = Epilogue::Plain;
  std::vector<Checked> cases;
  // Some taps must lie on the input.
  const auto reaches = [&](std::int64_t size, std::int64_t taps) {
    return size + problem.pad >= 1 + problem.dilation * (taps - 1) && problem.pad <= taps / 2;
  };
  if (!reaches(problem.height, problem.taps_y) || !reaches(problem.width, problem.taps_x))
    return cases;
  if (problem.out_height() < 1 || problem.out_width() < 1 || problem.flops() > kMostFlops)
    return cases;
  for (const poly::PlacedGroup &placed : work_of(problem, request.direction, target).groups) {
    poly::Group group = placed.group;
    if (request.maps && group.producers.empty() && group.anchor.inputs.size() == 2)
      group = random.chance(50) ? model::normalised(group, 0) : model::masked(group, 0);
    const auto all = schedules_of(group, target, request);
    if (all.empty())
      continue;
    cases.push_back({to_text(problem), {.group = group, .target = target}, {}});
    model::KernelCase &kernel_case = cases.back().kernel_case;
    kernel_case.schedule = random.of(all);
    kernel_case.seed = random.next();
    cases.back().package = emit::make_emitter(target, nullptr)
                               ->emit(lower::lower(group, kernel_case.schedule, target), target);
  }
  return cases;
}

// A tensor core reads f32 operands with 10 bits of mantissa: only integers come out exact.
bool has_reals(const CheckRequest &request) { return is_float(request.type) && !request.tf32; }

// A case with the values it is tried on, and the evaluator's answer.
struct Trial {
  const Checked *checked = nullptr;
  model::KernelCase kernel_case;
  std::unique_ptr<model::Reference> reference;
};

std::vector<Trial> trials_of(const std::vector<Checked> &cases, const CheckRequest &request) {
  std::vector<Trial> trials;
  for (const Checked &checked : cases)
    for (const model::Values values : {model::Values::Integers, model::Values::Reals})
      if (values == model::Values::Integers || has_reals(request)) {
        trials.push_back({&checked, checked.kernel_case, {}});
        trials.back().kernel_case.values = values;
      }
  ThreadPool pool(available_threads());
  pool.parallel_for(static_cast<std::int64_t>(trials.size()), [&](int, std::int64_t i) {
    Trial &trial = trials[at(i)];
    const bool is_real = trial.kernel_case.values == model::Values::Reals;
    trial.reference =
        std::make_unique<model::Reference>(trial.kernel_case, is_real ? kSampledReals : 0);
  });
  return trials;
}

} // namespace

int check_random(const CheckRequest &request, runtime::Device &device) {
  if (device.target().backend != "cuda")
    throw Error(ErrorCode::Unsupported, "matrix instructions need a CUDA device");
  Random random(request.seed);
  std::vector<Checked> cases;
  int vain = 0; // draws since the last problem
  for (int problems = 0; problems < request.count;) {
    std::vector<Checked> drawn = draw(random, request, device.target());
    problems += drawn.empty() ? 0 : 1;
    vain = drawn.empty() ? vain + 1 : 0;
    if (vain == kMostDraws)
      throw Error(ErrorCode::Unsupported, "no matrix instruction computes such a problem");
    std::move(drawn.begin(), drawn.end(), std::back_inserter(cases));
  }
  std::vector<Package> packages;
  for (Checked &checked : cases)
    packages.push_back(checked.package);
  packages = device.build(std::move(packages));
  for (std::size_t i = 0; i < cases.size(); ++i)
    cases[i].package = std::move(packages[i]);
  int wrong = 0;
  double largest_share = 0;
  for (const Trial &trial : trials_of(cases, request)) {
    if (request.lists) {
      fmt::print("{}\n{}\n", trial.checked->problem, to_text(trial.kernel_case));
      std::fflush(stdout);
    }
    const auto divergence = model::check_built(*trial.reference, trial.checked->package, device);
    largest_share = std::max(largest_share, trial.reference->largest_share());
    if (!divergence)
      continue;
    ++wrong;
    fmt::print("WRONG {}: {}\n{}\n", trial.checked->problem, divergence->what,
               to_text(trial.kernel_case));
  }
  fmt::print(
      "check {} {}{}{}{} seed {}: {} problems, {} kernels, {} wrong, largest error {:.3f} of "
      "its bound\n",
      to_string(request.direction), tilefuse::to_string(request.type),
      request.tf32 ? " as tf32" : "", request.blocks ? " in blocks" : "",
      request.parts      ? " by wgmma in parts"
      : request.clusters ? " by wgmma on clusters"
      : request.wgmma    ? " by wgmma"
                         : "",
      request.seed, request.count, cases.size(), wrong, largest_share);
  std::fflush(stdout);
  return wrong;
}

} // namespace tilefuse::bench
