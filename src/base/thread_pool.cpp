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

// Bytes between what different workers write: cores fetch lines in pairs.
constexpr std::size_t kApart = 128;
constexpr std::uint64_t kLastRegion = ~std::uint64_t{0};

// What a region is to one worker, which its caller writes: the work, and runs [begin, end) of those
// that are left, both in one word. Its owner takes from the front, others from the back. Whoever has
// taken a run may read the work until the run is counted as ended.
class alignas(kApart) Share {
public:
  struct Work {
    const ThreadPool::Body *body = nullptr;
    const ThreadPool::Idle *idle = nullptr; // or none
    std::int64_t count = 0;
    std::int64_t at_once = 1;
  };

  void open(std::uint64_t region, const Work &work, std::uint32_t begin, std::uint32_t end) {
    work_ = work;
    bounds_.store(pack(begin, end), std::memory_order_release);
    region_.store(region, std::memory_order_release);
  }
  void close() { region_.store(kLastRegion); }
  std::uint64_t region() const { return region_.load(std::memory_order_acquire); }
  const Work &work() const { return work_; }

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
  // Takes all runs; how many there were.
  std::uint64_t clear() {
    const std::uint64_t bounds = bounds_.exchange(0);
    return end_of(bounds) - begin_of(bounds);
  }

private:
  static std::uint64_t pack(std::uint32_t begin, std::uint32_t end) {
    return std::uint64_t{end} << 32 | begin;
  }
  static std::uint32_t begin_of(std::uint64_t bounds) { return static_cast<std::uint32_t>(bounds); }
  static std::uint32_t end_of(std::uint64_t bounds) {
    return static_cast<std::uint32_t>(bounds >> 32);
  }

  std::atomic<std::uint64_t> bounds_{0};
  std::atomic<std::uint64_t> region_{0}; // its number
  Work work_;
};

// Runs that a worker has ended since the pool began, which it alone writes.
struct alignas(kApart) Ended {
  std::atomic<std::uint64_t> runs{0};

  void add(std::uint64_t more) {
    runs.store(runs.load(std::memory_order_relaxed) + more, std::memory_order_release);
  }
};

constexpr std::int64_t kMostRuns = std::int64_t{1} << 31;

// A region ends when all runs that were ever handed out have ended: the caller waits for no worker
// that has yet to wake, which will find none.
struct ThreadPool::State {
  std::vector<Share> shares;                             // by worker
  std::vector<Ended> ended;                              // by worker
  std::uint64_t opened = 0;                              // regions
  std::uint64_t runs = 0;                                // of all regions
  alignas(kApart) std::atomic<std::uint64_t> waiting{0}; // region whose caller has none left
  alignas(kApart) std::atomic<int> sleepers{0};
  std::mutex mutex;
  std::condition_variable wake;
  std::exception_ptr failure;
  std::vector<std::thread> workers;

  explicit State(std::size_t threads) : shares(threads), ended(threads) {}
  void end();
  void open(const Share::Work &work);
  bool all_ended() const;
  std::uint64_t run(int worker, const Share::Work &work, std::uint32_t number);
  std::uint64_t run_own(int worker);
  std::uint64_t run_others(int worker);
  void take_part(int worker, std::uint64_t region);
  void lead(const Share::Work &work);
  void worker_loop(int worker);
  std::uint64_t wait_for_region(const Share &own, std::uint64_t seen);
};

// Wakes all workers for the last time.
void ThreadPool::State::end() {
  {
    const std::lock_guard lock(mutex);
    for (Share &share : shares)
      share.close();
  }
  wake.notify_all();
  for (std::thread &worker : workers)
    worker.join();
}

void ThreadPool::State::open(const Share::Work &work) {
  const std::int64_t of_region = (work.count + work.at_once - 1) / work.at_once;
  const std::int64_t all = static_cast<std::int64_t>(shares.size());
  const auto bound = [&](std::int64_t share) {
    return static_cast<std::uint32_t>(of_region / all * share + of_region % all * share / all);
  };
  runs += static_cast<std::uint64_t>(of_region);
  ++opened;
  for (std::int64_t s = all; s-- > 0;)
    shares[at(s)].open(opened, work, bound(s), bound(s + 1));
  if (sleepers.fetch_add(0) == 0) // in turn with those who fall asleep, who have then seen it
    return;
  { const std::lock_guard lock(mutex); }
  wake.notify_all();
}

bool ThreadPool::State::all_ended() const {
  std::uint64_t sum = 0;
  for (const Ended &of_worker : ended)
    sum += of_worker.runs.load(std::memory_order_acquire);
  return sum == runs;
}

// Runs that ended with this one: all that were left where it failed.
std::uint64_t ThreadPool::State::run(int worker, const Share::Work &work, std::uint32_t number) {
  const std::int64_t first = number * work.at_once;
  try {
    (*work.body)(worker, first, std::min(work.count, first + work.at_once));
    return 1;
  } catch (...) {
    const std::lock_guard lock(mutex);
    if (!failure)
      failure = std::current_exception();
    std::uint64_t count = 1;
    for (Share &share : shares)
      count += share.clear();
    return count;
  }
}

std::uint64_t ThreadPool::State::run_own(int worker) {
  std::uint64_t count = 0;
  Share &own = shares[at(worker)];
  for (std::uint32_t number = 0; own.take(true, number);)
    count += run(worker, own.work(), number);
  return count;
}

std::uint64_t ThreadPool::State::run_others(int worker) {
  std::uint64_t count = 0;
  for (std::size_t s = 1; s < shares.size(); ++s) {
    Share &other = shares[(at(worker) + s) % shares.size()];
    for (std::uint32_t number = 0; other.take(false, number);)
      count += run(worker, other.work(), number);
  }
  return count;
}

// What it has run is counted late where it has something to do meanwhile: the region lasts as long.
void ThreadPool::State::take_part(int worker, std::uint64_t region) {
  const Share &own = shares[at(worker)];
  std::uint64_t count = run_own(worker);
  const ThreadPool::Idle *idle = count > 0 ? own.work().idle : nullptr;
  const auto report = [&] {
    ended[at(worker)].add(std::exchange(count, 0));
    idle = nullptr;
  };
  const auto is_over = [&] { return waiting.load() >= region; }; // a later one, too
  if (idle == nullptr || is_over())
    report();
  count += run_others(worker);
  while (idle != nullptr && !is_over() && (*idle)(worker))
    ;
  report();
}

// The caller's part.
void ThreadPool::State::lead(const Share::Work &work) {
  ended[0].add(run_own(0));
  waiting.store(opened, std::memory_order_release);
  ended[0].add(run_others(0));
  for (bool has_more = work.idle != nullptr; !all_ended();) {
    has_more = has_more && (*work.idle)(0);
    if (!has_more)
      relax();
  }
}

// The number of another region than the one seen; kLastRegion when the pool ends, which may be at
// any time: what is returned is read once.
std::uint64_t ThreadPool::State::wait_for_region(const Share &own, std::uint64_t seen) {
  const auto is_idle = [&] { return own.region() == seen; };
  if (!spin_while(is_idle)) {
    std::unique_lock lock(mutex);
    ++sleepers;
    wake.wait(lock, [&] { return !is_idle(); });
    --sleepers;
  }
  return own.region();
}

void ThreadPool::State::worker_loop(int worker) {
  const Share &own = shares[at(worker)];
  for (std::uint64_t seen = 0; (seen = wait_for_region(own, seen)) != kLastRegion;)
    take_part(worker, seen);
}

ThreadPool::ThreadPool(int threads)
    : state_(std::make_unique<State>(static_cast<std::size_t>(std::max(1, threads)))) {
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
                              const std::function<void(int, std::int64_t)> &body) {
  const Body each = [&body](int worker, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      body(worker, i);
  };
  parallel_for({.count = count}, each, nullptr);
}

void ThreadPool::parallel_for(const Region &region, const Body &body, const Idle &idle) {
  if (state_->workers.empty() || region.count <= region.at_once) {
    if (region.count > 0)
      body(0, 0, region.count);
    return;
  }
  const Share::Work work = {
      .body = &body,
      .idle = idle ? &idle : nullptr,
      .count = region.count,
      .at_once = std::max(region.at_once, (region.count + kMostRuns - 1) / kMostRuns)};
  state_->open(work);
  state_->lead(work);
  if (state_->failure)
    std::rethrow_exception(std::exchange(state_->failure, nullptr));
}

} // namespace tilefuse
