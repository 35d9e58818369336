// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/index.h"

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

// What of a region is left to one worker: runs [begin, end) of indices, both in one word. Its owner
// takes from the front, others from the back.
class Share {
public:
  void set(std::uint32_t begin, std::uint32_t end) { bounds_.store(pack(begin, end)); }
  // Whether there was a run; its number goes to `run`.
  bool take(bool from_front, std::uint32_t &run) {
    std::uint64_t bounds = bounds_.load();
    while (begin_of(bounds) < end_of(bounds)) {
      run = from_front ? begin_of(bounds) : end_of(bounds) - 1;
      const std::uint64_t rest = from_front ? pack(begin_of(bounds) + 1, end_of(bounds))
                                            : pack(begin_of(bounds), end_of(bounds) - 1);
      if (bounds_.compare_exchange_weak(bounds, rest))
        return true;
    }
    return false;
  }

private:
  static std::uint64_t pack(std::uint32_t begin, std::uint32_t end) {
    return std::uint64_t{end} << 32 | begin;
  }
  static std::uint32_t begin_of(std::uint64_t bounds) { return static_cast<std::uint32_t>(bounds); }
  static std::uint32_t end_of(std::uint64_t bounds) {
    return static_cast<std::uint32_t>(bounds >> 32);
  }

  alignas(64) std::atomic<std::uint64_t> bounds_{0};
};

constexpr std::int64_t kMostRuns = std::int64_t{1} << 31;

// A region is open from its start until its indices are handed out. A worker enters it by counting
// itself in `inside` and then seeing it still open, so that the caller waits for no worker that has
// yet to wake.
struct ThreadPool::State {
  const std::function<void(int, std::int64_t)> *body = nullptr;
  const std::function<bool(int)> *idle = nullptr;
  std::int64_t count = 0;
  std::int64_t run = 1;      // indices that are taken at once
  std::vector<Share> shares; // by worker
  alignas(64) std::atomic<int> inside{0};
  std::atomic<int> busy{0}; // of these, with an index
  alignas(64) std::atomic<std::uint64_t> region{0};
  std::atomic<bool> open{false};
  std::atomic<int> sleepers{0};
  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::condition_variable wake;
  std::exception_ptr failure;
  std::vector<std::thread> workers;

  void end();
  void share_out();
  bool next_run(int worker, std::uint32_t &number);
  void take_indices(int worker);
  void work(int worker);
  void worker_loop(int worker);
  bool wait_for_region(std::uint64_t seen);
};

// Wakes all workers for the last time.
void ThreadPool::State::end() {
  {
    const std::lock_guard lock(mutex);
    stop.store(true);
  }
  wake.notify_all();
  for (std::thread &worker : workers)
    worker.join();
}

void ThreadPool::State::share_out() {
  run = (count + kMostRuns - 1) / kMostRuns;
  const std::int64_t runs = (count + run - 1) / run;
  const std::int64_t all = static_cast<std::int64_t>(shares.size());
  const auto bound = [&](std::int64_t share) {
    return static_cast<std::uint32_t>(runs / all * share + runs % all * share / all);
  };
  for (std::int64_t s = 0; s < all; ++s)
    shares[at(s)].set(bound(s), bound(s + 1));
}

bool ThreadPool::State::next_run(int worker, std::uint32_t &number) {
  const std::size_t own = static_cast<std::size_t>(worker);
  for (std::size_t s = 0; s < shares.size(); ++s)
    if (shares[(own + s) % shares.size()].take(s == 0, number))
      return true;
  return false;
}

void ThreadPool::State::take_indices(int worker) {
  try {
    for (std::uint32_t number = 0; next_run(worker, number);)
      for (std::int64_t i = number * run; i < std::min(count, (number + 1) * run); ++i)
        (*body)(worker, i);
  } catch (...) {
    const std::lock_guard lock(mutex);
    if (!failure)
      failure = std::current_exception();
    for (Share &share : shares)
      share.set(0, 0);
  }
}

void ThreadPool::State::work(int worker) {
  busy.fetch_add(1);
  take_indices(worker);
  busy.fetch_sub(1);
  while (busy.load() > 0 && (*idle)(worker))
    ;
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
      work(worker);
    inside.fetch_sub(1);
  }
}

ThreadPool::ThreadPool(int threads) : state_(std::make_unique<State>()) {
  state_->shares = std::vector<Share>(static_cast<std::size_t>(std::max(1, threads)));
  try {
    for (int worker = 1; worker < threads; ++worker)
      state_->workers.emplace_back([state = state_.get(), worker] { state->worker_loop(worker); });
  } catch (const std::system_error &failure) {
    const std::size_t started = state_->workers.size() + 1;
    state_->end();
    throw Error(ErrorCode::Limit, fmt::format("the system gives {} of {} threads: {}", started,
                                              threads, failure.code().message()));
  }
}

ThreadPool::~ThreadPool() { state_->end(); }

int ThreadPool::threads() const { return static_cast<int>(state_->workers.size()) + 1; }

void ThreadPool::parallel_for(std::int64_t count,
                              const std::function<void(int, std::int64_t)> &body,
                              const std::function<bool(int)> &idle) {
  State &s = *state_;
  if (s.workers.empty() || count <= 1) {
    for (std::int64_t i = 0; i < count; ++i)
      body(0, i);
    return;
  }
  s.body = &body;
  s.idle = &idle;
  s.count = count;
  s.failure = nullptr;
  s.share_out();
  s.open.store(true);
  {
    const std::lock_guard lock(s.mutex);
    s.region.fetch_add(1);
  }
  if (s.sleepers.load() > 0)
    s.wake.notify_all();
  s.work(0);
  s.open.store(false);
  while (s.inside.load() > 0)
    relax();
  if (s.failure)
    std::rethrow_exception(std::exchange(s.failure, nullptr));
}

} // namespace tilefuse
