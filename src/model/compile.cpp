// SPDX-License-Identifier: Apache-2.0
#include "model/compile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <set>

#include "base/error.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/stopwatch.h"
#include "base/thread_pool.h"
#include "emit/emitter.h"
#include "emit/make_emitter.h"
#include "kernel/rules.h"
#include "launch/arguments.h"
#include "launch/text.h"
#include "lower/launch/lower_launch.h"
#include "lower/pipeline.h"
#include "model/dump.h"
#include "model/passes.h"
#include "model/plan/kept_plan.h"
#include "model/plan/recompute.h"
#include "model/tune/records.h"
#include "program/rewrite/rewrite.h"
#include "schedule/text.h"
#include "search/forms/algorithms.h"
#include "search/forms/named_schedule.h"
#include "search/groups.h"
#include "search/network/asides.h"
#include "search/network/kept_choices.h"
#include "search/network/launches.h"
#include "search/network/layout_choice.h"
#include "search/network/split_groups.h"
#include "search/pick.h"
#include "target/features.h"

namespace tilefuse::model {
namespace {

constexpr int kLaunchesOfThread = 32; // whose keys are worth one

// All that code depends on besides what is compiled.
std::string surroundings(const runtime::Device &device) {
  return fmt::format("\n{}\n{}\n{}", to_text(device.target()), device.driver(),
                     lower::code_version());
}

std::string group_key(const poly::Group &group, const schedule::Schedule &schedule,
                      const std::string &around) {
  return content_hash(poly::to_text(group) + "\n" + schedule::to_text(group, schedule) + around);
}

// The kernel of a launch, to be had once: from the cache, or lowered and emitted.
struct Job {
  const launch::Launch *launch = nullptr;
  std::string key;
  Package package;
  bool missing = true;
};

// Records of this device that are not used, to be said once.
struct Ignored {
  int count = 0;
  std::string first_reason;
};

// The algorithm asked for where it fits, else as records or the cost model say.
Choice choose(const poly::Group &group, const runtime::Device &device,
              const SessionOptions &options, search::KeptChoices &kept, Ignored &ignored) {
  const std::string algorithm = schedule_algorithm(options.algorithm);
  if (algorithm.empty()) {
    std::string reason;
    Choice choice = choose_schedule(options.records, group, device, &reason, &kept);
    if (!reason.empty() && ignored.count++ == 0)
      ignored.first_reason = reason;
    return choice;
  }
  search::NamedSchedule named =
      is_alone(group)
          ? search::named_schedule(algorithm, group.anchor, device.target())
          : search::NamedSchedule{{}, fmt::format("{} does not compute producers", algorithm)};
  if (named.schedule)
    return {std::move(*named.schedule), "asked for"};
  if (options.warn)
    options.warn(fmt::format("kernel '{}': {}; scheduled by the cost model", group.anchor.name,
                             named.refusal));
  return {kept.schedule(search::kPick, group, [&] { return search::pick(group, device.target()); }),
          "model"};
}

// What the cost model is going to be asked for: all but kernels of an algorithm that is asked for,
// and those whose records are used.
void foresee(const std::vector<poly::PlacedGroup> &groups, const runtime::Device &device,
             const SessionOptions &options, search::KeptChoices &kept) {
  std::vector<const poly::Group *> open;
  if (!schedule_algorithm(options.algorithm).empty())
    return;
  std::set<std::string> seen;
  for (const poly::PlacedGroup &placed : groups)
    if (seen.insert(poly::to_text(placed.group)).second &&
        (options.records == nullptr ||
         !find_recorded(*options.records, placed.group, device).tuned))
      open.push_back(&placed.group);
  kept.foresee(search::kPick, open,
               [&](const poly::Group &group) { return search::pick(group, device.target()); });
}

// Schedules are picked once per distinct group.
std::vector<launch::Part> scheduled(std::vector<poly::PlacedGroup> groups,
                                    const runtime::Device &device, const SessionOptions &options,
                                    search::KeptChoices &kept) {
  foresee(groups, device, options, kept);
  std::map<std::string, Choice> picked;
  std::vector<launch::Part> kernels;
  Ignored ignored;
  for (poly::PlacedGroup &placed : groups) {
    const std::string text = poly::to_text(placed.group);
    auto found = picked.find(text);
    if (found == picked.end())
      found = picked.emplace(text, choose(placed.group, device, options, kept, ignored)).first;
    kernels.push_back({std::move(placed), found->second.schedule, found->second.by});
  }
  if (ignored.count > 0 && options.warn)
    options.warn(fmt::format("{} tuning records of this device are not used ({}); `tilefuse tune` "
                             "takes them up",
                             ignored.count, ignored.first_reason));
  return kernels;
}

// Schedules of parts that would not fit beside the first are searched for once.
std::vector<CompiledLaunch> launches_of(std::vector<launch::Part> kernels, const Target &target,
                                        const SessionOptions &options, search::KeptChoices &kept) {
  const search::PickOfSize search = search::pick_of_size(target);
  const search::PickOfSize pick = [&](const poly::Group &group, std::int64_t size) {
    return kept.schedule_if_any(fmt::format("pick of {}", size), group,
                                [&] { return search(group, size); });
  };
  std::vector<CompiledLaunch> launches;
  for (launch::Launch &launch :
       search::choose_launches(std::move(kernels), target, pick, options.sharing))
    launches.push_back({std::move(launch)});
  return launches;
}

void run_aside(std::vector<CompiledLaunch> &launches) {
  std::vector<const launch::Launch *> all;
  for (const CompiledLaunch &each : launches)
    all.push_back(&each.launch);
  const std::vector<std::optional<std::size_t>> asides = search::choose_asides(all);
  for (std::size_t k = 0; k < launches.size(); ++k)
    launches[k].before = asides[k];
}

// In less memory than asides leave, launches run one behind the other.
void fit(Compiled &compiled, const runtime::Device &device, std::int64_t most_bytes,
         const std::function<void(Compiled &)> &finish) {
  Compiled made = compiled;
  try {
    fit_arena(made, device, most_bytes, finish);
  } catch (const Error &error) {
    if (error.code() != ErrorCode::Limit)
      throw;
    made = compiled;
    fit_arena(made, device, most_bytes, [](Compiled &) {});
  }
  compiled = std::move(made);
}

// Of everything that the code of a launch is made from: which arguments its parts share, not which
// buffers they are.
std::string launch_key(const launch::Launch &launch, const std::string &around) {
  if (launch.parts.size() == 1)
    return group_key(launch.parts[0].placed.group, launch.parts[0].schedule, around);
  const launch::Arguments arguments = launch::arguments(launch);
  std::string text = content_hash(launch::to_text(unplaced(launch)) + around);
  for (const std::vector<int> &numbers : arguments.of_parts)
    text += fmt::format(" {}", fmt::join(numbers, ","));
  return content_hash(text);
}

std::vector<Job> collect_jobs(Compiled &compiled, const runtime::Device &device) {
  std::vector<CompiledLaunch> &launches = compiled.launches;
  const std::string around = surroundings(device);
  std::vector<std::string> keys(launches.size());
  const int threads = static_cast<int>(launches.size()) / kLaunchesOfThread + 1;
  ThreadPool pool(std::min(available_threads(), threads));
  pool.parallel_for(std::ssize(launches), [&](int, std::int64_t i) {
    keys[at(i)] = launch_key(launches[at(i)].launch, around);
  });
  std::map<std::string, std::size_t> known;
  std::vector<Job> jobs;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    CompiledLaunch &each = launches[i];
    const std::string &key = keys[i];
    const auto [found, is_new] = known.emplace(key, jobs.size());
    if (is_new)
      jobs.push_back({&each.launch, key, {}, true});
    each.package = found->second;
  }
  return jobs;
}

void emit_jobs(const std::vector<Job *> &missing, const Target &target,
               const SessionOptions &options) {
  const std::unique_ptr<emit::Emitter> emitter = make_emitter(target);
  ThreadPool pool(available_threads());
  std::mutex mutex;
  int done = 0;
  pool.parallel_for(static_cast<std::int64_t>(missing.size()), [&](int, std::int64_t i) {
    Job &job = *missing[at(i)];
    job.package = emitter->emit(lower::lower_launch(*job.launch, target), target);
    const std::lock_guard lock(mutex);
    if (options.progress)
      options.progress(++done, static_cast<int>(missing.size()));
  });
}

void build_jobs(const std::vector<Job *> &missing, runtime::Device &device) {
  std::vector<Package> sources;
  for (Job *job : missing)
    sources.push_back(std::move(job->package));
  std::vector<Package> built = device.build(std::move(sources));
  for (std::size_t i = 0; i < missing.size(); ++i)
    missing[i]->package = std::move(built[i]);
}

// Fills every job's package and returns how many were not in the cache.
int obtain(std::vector<Job> &jobs, runtime::Device &device, runtime::KernelCache &cache,
           const SessionOptions &options, StartSeconds &seconds) {
  std::vector<Job *> missing;
  for (Job &job : jobs) {
    std::optional<Package> cached = cache.get(job.key);
    job.missing = !cached;
    if (cached)
      job.package = std::move(*cached);
    else
      missing.push_back(&job);
  }
  if (missing.empty())
    return 0;
  const Stopwatch emit;
  emit_jobs(missing, device.target(), options);
  seconds.emit = emit.seconds();
  const Stopwatch build;
  build_jobs(missing, device);
  seconds.build = build.seconds();
  std::vector<std::pair<std::string, const Package *>> rows;
  for (const Job *job : missing)
    rows.emplace_back(job->key, &job->package);
  cache.put(rows);
  return static_cast<int>(missing.size());
}

// Layouts of activations, groups and splits.
search::LaidOut place(const program::Program &program, const Target &target,
                      const SessionOptions &options, search::KeptChoices &kept) {
  search::LaidOut laid;
  const auto lay_out = [&](const program::Program &in) {
    laid = search::lay_out(in, target,
                           {options.layout,
                            options.fusion,
                            {.split = options.split,
                             .algorithm = schedule_algorithm(options.algorithm),
                             .warn = options.warn}},
                           &kept);
    return laid.stored.program;
  };
  run_pass(kChooseLayout, program, lay_out, options.passes);
  return laid;
}

// No kernel addresses more.
void check_sizes(const program::StoredProgram &stored) {
  for (std::size_t t = 0; t < stored.windows.size(); ++t) {
    if (stored.windows[t].buffer == program::kNoBuffer)
      continue;
    const std::int64_t elems = stored.buffers[at(stored.windows[t].buffer)].elems;
    if (elems > kernel::kMostElems)
      throw Error(ErrorCode::Limit,
                  fmt::format("a tensor needs {} elements in memory, at most {} are possible",
                              elems, kernel::kMostElems),
                  stored.program.tensors[t].name);
  }
}

} // namespace

std::unique_ptr<emit::Emitter> make_emitter(const Target &target) {
  std::string why;
  std::unique_ptr<emit::Emitter> emitter = emit::make_emitter(target, &why);
  if (!emitter)
    throw Error(ErrorCode::Device,
                "kernels must be compiled for the cpu, but code generation is not available: " +
                    why,
                {}, {"use --device opencl, or a build or bundle that includes LLVM"});
  return emitter;
}

std::string schedule_algorithm(const std::string &algorithm) {
  return program::is_rewrite(algorithm) ? "" : algorithm;
}

std::string cache_key(const poly::Group &group, const schedule::Schedule &schedule,
                      const runtime::Device &device) {
  return group_key(group, schedule, surroundings(device));
}

Compiled choose_kernels(const program::Program &program, const runtime::Device &device,
                        search::KeptChoices &kept, const SessionOptions &given) {
  const Stopwatch watch;
  Compiled compiled;
  SessionOptions options = given;
  options.warn = [&](const std::string &warning) {
    compiled.warnings.push_back(warning);
    if (given.warn)
      given.warn(warning);
  };
  std::vector<std::string> refused;
  const program::Program prepared =
      prepare(program, device.target(),
              {.algorithm = options.algorithm,
               .is_simplified = options.is_simplified,
               .composes = options.fusion.level != poly::FuseLevel::None,
               .refused = &refused,
               .passes = options.passes,
               .kept = &kept});
  for (const std::string &reason : refused)
    if (options.warn)
      options.warn(reason);
  search::LaidOut laid = place(prepared, device.target(), options, kept);
  compiled.stored = std::move(laid.stored);
  compiled.layout = search::layout_name(laid);
  compiled.conversions = laid.conversions;
  check_sizes(compiled.stored);
  compiled.launches = launches_of(scheduled(std::move(laid.groups), device, options, kept),
                                  device.target(), options, kept);
  const auto finish = [&](Compiled &of) {
    if (options.has_asides && has(device.target(), Feature::LaunchQueue))
      run_aside(of.launches);
  };
  if (options.arena_bytes > 0)
    fit(compiled, device, options.arena_bytes, finish);
  else
    finish(compiled);
  compiled.searched = kept.searched();
  compiled.seconds.choose = watch.seconds();
  return compiled;
}

Compiled planned(const program::Program &program, const runtime::Device &device,
                 runtime::KernelCache &cache, const SessionOptions &options) {
  const Stopwatch watch;
  const bool is_watched = options.passes != nullptr && options.passes->is_watched();
  const std::string key = plan_key(program, device, options);
  if (!is_watched)
    if (std::optional<Compiled> found = find_plan(cache, key, program)) {
      for (const std::string &warning : found->warnings)
        if (options.warn)
          options.warn(warning);
      found->seconds.choose = watch.seconds();
      return std::move(*found);
    }
  search::KeptChoices kept(&cache, device.target());
  Compiled compiled = choose_kernels(program, device, kept, options);
  kept.write();
  keep_plan(cache, key, program, compiled);
  return compiled;
}

Compiled compile(const program::Program &program, runtime::Device &device,
                 runtime::KernelCache &cache, const SessionOptions &options) {
  Compiled compiled = planned(program, device, cache, options);
  std::vector<Job> jobs = collect_jobs(compiled, device);
  if (!options.dump_directory.empty())
    dump_levels(options.dump_directory, program, compiled, device.target());
  compiled.built = obtain(jobs, device, cache, options, compiled.seconds);
  for (Job &job : jobs)
    compiled.packages.push_back(std::move(job.package));
  return compiled;
}

} // namespace tilefuse::model
