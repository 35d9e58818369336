// SPDX-License-Identifier: Apache-2.0
#include "kernel/simulate.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "base/index.h"
#include "kernel/live_registers.h"
#include "kernel/simulation/compiler.h"
#include "kernel/simulation/warp.h"
#include "kernel/walk.h"

namespace tilefuse::kernel {
namespace simulation {
namespace {

constexpr int kMaxWarp = 64;
constexpr std::int64_t kMaxScratchBytes = std::int64_t{1} << 30;

// How a target cuts up work-items and memory.
struct Cuts {
  int warp = 32;
  std::int64_t banks = 32;
  std::int64_t sector_bytes = 32;
  std::int64_t vector_align = 1;
};

Cuts cuts_of(const SimulationOptions &options) {
  if (!options.target)
    return {};
  const Target &target = *options.target;
  if (target.warp < 1 || target.warp > kMaxWarp || target.local_banks < 0 ||
      target.local_banks > 256 || target.sector_bytes < 1 || target.vector_align < 1) {
    throw Error(ErrorCode::Limit,
                fmt::format("simulating needs a warp of 1 to {} and at most 256 banks; {} has {} "
                            "and {}",
                            kMaxWarp, target.name, target.warp, target.local_banks));
  }
  return {target.warp, target.local_banks, target.sector_bytes, target.vector_align};
}

std::int64_t local_bytes(const Kernel &kernel) {
  std::int64_t bytes = 0;
  for (const Buffer &buffer : kernel.buffers)
    if (buffer.space == Space::Local)
      bytes += buffer.elems * size_bytes(buffer.type.elem);
  return bytes;
}

void need(const Kernel &kernel, std::string_view what, std::int64_t needed, std::int64_t limit,
          std::string_view where) {
  if (needed > limit)
    throw Error(ErrorCode::Limit, fmt::format("kernel {} needs {} {}; {} has {}", kernel.name,
                                              needed, what, where, limit));
}

void check_limits(const Kernel &kernel, const Counts &counts, const Target &target) {
  need(kernel, "bytes of local memory", counts.local_bytes, target.local_bytes, target.name);
  if (target.lanes != LaneKind::WorkItem)
    return;
  need(kernel, "work-items in a block", kernel.block_size, target.max_group, target.name);
  need(kernel, "registers of 32 bits per work-item", counts.live_registers, target.vector_registers,
       target.name);
}

// By buffer: whether blocks of a cluster read each other's.
std::vector<bool> remote_buffers(const Kernel &kernel) {
  std::vector<bool> found(kernel.buffers.size(), false);
  for_each_expr(kernel.body, [&](ExprRef e) {
    const Load *load = std::get_if<Load>(&e->node);
    if (load != nullptr && load->rank != nullptr)
      found[at(load->buffer)] = true;
  });
  return found;
}

std::byte *argument(const Kernel &kernel, std::size_t i,
                    std::span<const std::span<std::byte>> args) {
  const Buffer &buffer = kernel.buffers[i];
  const std::int64_t bytes = buffer.elems * size_bytes(buffer.type.elem);
  if (i >= args.size() || static_cast<std::int64_t>(args[i].size()) < bytes) {
    throw Error(ErrorCode::Shape,
                fmt::format("argument {} ({}) needs {} bytes, got {}", i, buffer.name, bytes,
                            i < args.size() ? args[i].size() : 0),
                kernel.name);
  }
  return args[i].data();
}

// One kernel in the course of being run.
class Simulation {
public:
  Simulation(const Kernel &kernel, std::span<const std::span<std::byte>> args,
             const SimulationOptions &options)
      : kernel_(kernel), options_(options), cuts_(cuts_of(options)),
        program_(compile(kernel, width())), position_{kernel},
        clocks_(static_cast<std::size_t>(kernel.cluster) * (warp_count() + 1)), tickets_(clocks_),
        engine_(kernel, position_, clocks_, warp_count()),
        recorder_(kernel, program_, cuts_.banks, cuts_.sector_bytes, options.banks),
        machine_{kernel, program_, position_, clocks_, engine_},
        is_remote_(remote_buffers(kernel)) {
    machine_.recorder = options.count ? &recorder_ : nullptr;
    machine_.vector_align = cuts_.vector_align;
    check_scratch();
    for (std::size_t i = 0; i < kernel.buffers.size(); ++i)
      add_global(i, args);
    for (std::size_t rank = 0; rank < static_cast<std::size_t>(kernel.cluster); ++rank)
      add_block(rank);
  }

  Counts run() {
    Counts counts;
    counts.local_bytes = local_bytes(kernel_);
    counts.live_registers = live_registers(kernel_);
    if (options_.target)
      check_limits(kernel_, counts, *options_.target);
    run_blocks();
    if (!options_.count)
      return counts;
    Counts all = recorder_.take();
    all.warps = all.blocks * static_cast<std::int64_t>(warp_count());
    all.local_bytes = counts.local_bytes;
    all.live_registers = counts.live_registers;
    return all;
  }

private:
  int width() const {
    return static_cast<int>(std::min<std::int64_t>(cuts_.warp, kernel_.block_size));
  }
  std::size_t warp_count() const {
    return static_cast<std::size_t>((kernel_.block_size + width() - 1) / width());
  }

  void check_scratch() const;
  void add_global(std::size_t i, std::span<const std::span<std::byte>> args);
  void add_block(std::size_t rank);
  void run_blocks();
  void run_cluster(std::int64_t first_block);
  bool run_warps();
  void release(Warp &last);
  bool meets(const Warp &one, const Warp &last);
  [[noreturn]] void stuck() const;

  const Kernel &kernel_;
  const SimulationOptions &options_;
  Cuts cuts_;
  Program program_;
  Position position_;
  Clocks clocks_; // by block of the cluster: of its warps, then the engine's
  Tickets tickets_;
  std::vector<std::vector<std::byte>> counts_; // by buffer of counts
  Engine engine_;
  Recorder recorder_;
  Machine machine_;
  std::vector<std::unique_ptr<Warp>> warps_; // of all blocks of the cluster
  const std::vector<bool> is_remote_;        // by buffer: other blocks read it
};

void Simulation::check_scratch() const {
  const auto warps = static_cast<std::int64_t>(warp_count());
  std::int64_t total = static_cast<std::int64_t>(program_.cells) * 8 * warps * kernel_.cluster;
  for (std::size_t i = 0; i < kernel_.buffers.size(); ++i) {
    const Buffer &buffer = kernel_.buffers[i];
    const bool is_huge = buffer.elems > kMaxScratchBytes;
    const std::int64_t readers = (warps + 1) * (is_remote_[i] ? kernel_.cluster : 1);
    if (buffer.space == Space::Local)
      total += is_huge ? kMaxScratchBytes : buffer.elems * (24 + 8 * readers) * kernel_.cluster;
    if (total > kMaxScratchBytes || (is_huge && buffer.space == Space::Local)) {
      throw Error(ErrorCode::Limit,
                  fmt::format("simulating needs more than {} MiB of local and register memory",
                              kMaxScratchBytes >> 20),
                  kernel_.name);
    }
  }
}

// A block of the cluster: local memory and warps.
void Simulation::add_block(std::size_t rank) {
  const AgentRange agents{rank * (warp_count() + 1), warp_count() + 1};
  const AgentRange all{0, clocks_.agents()};
  LocalBuffers &locals = machine_.local.emplace_back();
  for (std::size_t i = 0; i < kernel_.buffers.size(); ++i)
    locals.push_back(kernel_.buffers[i].space == Space::Local
                         ? std::make_unique<LocalBuffer>(position_, clocks_, kernel_.buffers[i],
                                                         is_remote_[i] ? all : agents)
                         : nullptr);
  for (std::size_t i = 0; i < warp_count(); ++i)
    warps_.push_back(std::make_unique<Warp>(machine_, rank, i, agents.first + i));
}

void Simulation::add_global(std::size_t i, std::span<const std::span<std::byte>> args) {
  const Buffer &buffer = kernel_.buffers[i];
  auto &global = machine_.global.emplace_back();
  if (buffer.space != Space::Global)
    return;
  const bool is_updated =
      std::find(options_.updated.begin(), options_.updated.end(), i) != options_.updated.end() ||
      buffer.counts;
  std::byte *data = nullptr;
  if (buffer.counts)
    data =
        counts_.emplace_back(static_cast<std::size_t>(buffer.elems) * sizeof(std::int32_t)).data();
  else
    data = argument(kernel_, i, args);
  global = std::make_unique<GlobalBuffer>(position_, clocks_, tickets_, buffer, data, is_updated);
  for (const ExpectedWrites &expected : options_.writes) {
    if (expected.argument != i)
      continue;
    TILEFUSE_CHECK(buffer.written &&
                       static_cast<std::int64_t>(expected.elements.size()) == buffer.elems,
                   "the writes expected of another buffer");
    global->expect(expected.elements);
  }
}

void Simulation::run_blocks() {
  std::vector<std::int64_t> blocks = options_.blocks;
  if (!blocks.empty()) {
    std::set<std::int64_t> run;
    for (const std::int64_t block : blocks)
      if (const std::int64_t first = block / kernel_.cluster * kernel_.cluster;
          kernel_.cluster == 1 || run.insert(first).second)
        run_cluster(first);
    return;
  }
  for (std::int64_t block = 0; block < kernel_.blocks; block += kernel_.cluster)
    if (options_.shuffle != 0)
      blocks.push_back(block);
    else
      run_cluster(block);
  std::shuffle(blocks.begin(), blocks.end(), std::minstd_rand(options_.shuffle));
  for (const std::int64_t block : blocks)
    run_cluster(block);
  for (const auto &global : machine_.global)
    if (global != nullptr)
      global->check_complete();
}

void Simulation::run_cluster(std::int64_t block) {
  if (block < 0 || block >= kernel_.blocks) {
    throw Error(ErrorCode::Limit, fmt::format("there is no block {}: kernel {} has {}", block,
                                              kernel_.name, kernel_.blocks));
  }
  position_.block = block;
  recorder_.start_cluster();
  const std::uint32_t time = clocks_.start_cluster();
  for (const LocalBuffers &locals : machine_.local)
    for (const auto &local : locals)
      if (local != nullptr)
        local->start_block(time);
  engine_.start_cluster();
  tickets_.start_cluster();
  for (std::size_t i = 0; i < warps_.size(); ++i)
    warps_[i]->start_block(block + static_cast<std::int64_t>(i / warp_count()));
  while (run_warps() || engine_.run()) {
  }
  const bool has_ended = std::all_of(warps_.begin(), warps_.end(), [](const auto &warp) {
    return warp->state() == Warp::State::Ended;
  });
  if (!has_ended)
    stuck();
  for (std::int64_t rank = 0; rank < kernel_.cluster; ++rank) {
    position_.block = block + rank;
    engine_.check_end(rank);
  }
}

// Every warp that can go on, until it waits; false when none could.
bool Simulation::run_warps() {
  bool moved = false;
  for (const auto &warp : warps_) {
    if (warp->state() == Warp::State::Polling) {
      if (!warp->retry())
        continue;
    } else if (warp->state() == Warp::State::Running) {
      warp->run();
    } else {
      continue;
    }
    moved = true;
    if (warp->state() == Warp::State::Waiting)
      release(*warp);
  }
  return moved;
}

// Wakes all that wait at the barrier of the last to come, if they are all it needs.
void Simulation::release(Warp &last) {
  const Barrier barrier = last.barrier();
  std::vector<std::size_t> agents;
  if (barrier.is_of_warp()) {
    agents.push_back(last.agent());
    clocks_.meet(agents);
    last.wake();
    return;
  }
  std::vector<Warp *> waiting;
  std::int64_t items = 0;
  for (const auto &warp : warps_) {
    if (!meets(*warp, last))
      continue;
    waiting.push_back(warp.get());
    agents.push_back(warp->agent());
    items += warp->items();
  }
  position_.stmt = last.line();
  position_.block = last.block();
  const std::int64_t needed = barrier.is_of_cluster() ? kernel_.block_size * kernel_.cluster
                              : barrier.id == 0       ? kernel_.block_size
                                                      : barrier.items;
  if (items > needed)
    position_.fault(fmt::format("comes to a barrier of {} work-items, which is full", needed),
                    last.first_item());
  if (items < needed)
    return;
  clocks_.meet(agents);
  if (options_.count)
    recorder_.barrier();
  for (Warp *warp : waiting)
    warp->wake();
}

// Whether a warp waits at the barrier of the last to come; a fault where it waits at another one of
// the same kind.
bool Simulation::meets(const Warp &one, const Warp &last) {
  if (one.state() != Warp::State::Waiting || one.barrier().id != last.barrier().id)
    return false;
  const bool are_clusters = one.barrier().is_of_cluster() && last.barrier().is_of_cluster();
  if (one.block() != last.block() && !are_clusters)
    return false;
  position_.stmt = one.line();
  position_.block = one.block();
  if (last.barrier().id == 0 && one.counter() != last.counter())
    position_.fault("waits at another barrier than others of its block", one.first_item());
  if (one.barrier().items != last.barrier().items)
    position_.fault("waits at a barrier of the same number for another number of work-items",
                    one.first_item());
  return true;
}

// Some wait, and nobody can wake them.
void Simulation::stuck() const {
  Position at = position_;
  for (const auto &warp : warps_)
    if (warp->state() == Warp::State::Polling) {
      at.stmt = warp->line();
      at.block = warp->block();
      at.fault(warp->missing(), warp->first_item());
    }
  const auto waiting = std::find_if(warps_.begin(), warps_.end(), [](const auto &warp) {
    return warp->state() == Warp::State::Waiting;
  });
  const Barrier barrier = (*waiting)->barrier();
  at.stmt = (*waiting)->line();
  at.block = (*waiting)->block();
  const auto missing = std::find_if(warps_.begin(), warps_.end(), [&](const auto &warp) {
    const bool is_asked = warp->block() == (*waiting)->block() || barrier.is_of_cluster();
    return is_asked && (warp->state() == Warp::State::Ended || warp->barrier().id != barrier.id);
  });
  if (missing != warps_.end())
    at.fault("does not reach a barrier that others reach", (*missing)->first_item());
  at.fault(fmt::format("waits at a barrier of {} work-items that too few reach", barrier.items),
           (*waiting)->first_item());
}

} // namespace
} // namespace simulation

Counts simulate(const Kernel &kernel, std::span<const std::span<std::byte>> args,
                const SimulationOptions &options) {
  TILEFUSE_CHECK(kernel.body != nullptr, "a kernel without a body is simulated");
  return simulation::Simulation(kernel, args, options).run();
}

} // namespace tilefuse::kernel
