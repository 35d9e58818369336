// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace tilefuse {
namespace {

constexpr std::chrono::microseconds kSpin{60};

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

// Spins while `waiting()` holds, for a short while; whether it stopped holding.
template <typename Waiting> bool spin_while(const Waiting &waiting) {
  const auto until = std::chrono::steady_clock::now() + kSpin;
  for (int round = 0; waiting(); ++round) {
    relax();
    if (round % 64 == 63 && std::chrono::steady_clock::now() > until)
      return !waiting();
  }
  return true;
}

} // namespace

int available_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

// A region is open from its start until its indices are handed out. A worker enters it by counting
// itself in `inside` and then seeing it still open, so that the caller waits for no worker that has
// yet to wake.
struct ThreadPool::State {
  const std::function<void(int, std::int64_t)> *body = nullptr;
  std::int64_t count = 0;
  alignas(64) std::atomic<std::int64_t> next{0};
  alignas(64) std::atomic<int> inside{0};
  alignas(64) std::atomic<std::uint64_t> region{0};
  std::atomic<bool> open{false};
  std::atomic<int> sleepers{0};
  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::condition_variable wake;
  std::exception_ptr failure;
  std::vector<std::thread> workers;

  void take_indices(int worker);
  void worker_loop(int worker);
  bool wait_for_region(std::uint64_t seen);
};

void ThreadPool::State::take_indices(int worker) {
  try {
    for (std::int64_t i = next.fetch_add(1); i < count; i = next.fetch_add(1))
      (*body)(worker, i);
  } catch (...) {
    const std::lock_guard lock(mutex);
    if (!failure)
      failure = std::current_exception();
    next.store(count);
  }
}

// False when the pool ends.
bool ThreadPool::State::wait_for_region(std::uint64_t seen) {
  const auto idle = [&] { return region.load() == seen && !stop.load(); };
  if (!spin_while(idle)) {
    std::unique_lock lock(mutex);
    ++sleepers;
    wake.wait(lock, [&] { return !idle(); });
    --sleepers;
  }
  return !stop.load();
}

void ThreadPool::State::worker_loop(int worker) {
  for (std::uint64_t seen = 0; wait_for_region(seen);) {
    seen = region.load();
    inside.fetch_add(1);
    if (open.load())
      take_indices(worker);
    inside.fetch_sub(1);
  }
}

ThreadPool::ThreadPool(int threads) : state_(std::make_unique<State>()) {
  for (int worker = 1; worker < threads; ++worker)
    state_->workers.emplace_back([state = state_.get(), worker] { state->worker_loop(worker); });
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stop.store(true);
  }
  state_->wake.notify_all();
  for (std::thread &worker : state_->workers)
    worker.join();
}

int ThreadPool::threads() const { return static_cast<int>(state_->workers.size()) + 1; }

void ThreadPool::parallel_for(std::int64_t count,
                              const std::function<void(int, std::int64_t)> &body) {
  State &s = *state_;
  if (s.workers.empty() || count <= 1) {
    for (std::int64_t i = 0; i < count; ++i)
      body(0, i);
    return;
  }
  s.body = &body;
  s.count = count;
  s.failure = nullptr;
  s.next.store(0);
  s.open.store(true);
  {
    const std::lock_guard lock(s.mutex);
    s.region.fetch_add(1);
  }
  if (s.sleepers.load() > 0)
    s.wake.notify_all();
  s.take_indices(0);
  s.open.store(false);
  while (s.inside.load() > 0)
    relax();
  if (s.failure)
    std::rethrow_exception(std::exchange(s.failure, nullptr));
}

} // namespace tilefuse
