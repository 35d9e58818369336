// SPDX-License-Identifier: Apache-2.0
// Persistent workers for one parallel region at a time. Each worker begins with its own stretch of
// neighbouring indices, the same in every region of as many, so that it finds in its caches what it
// left there; then it takes the last ones of others. Indices are handed out one by one: a worker
// that loses its core delays only the index it holds. Workers spin for a short while after a
// region, then sleep.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace tilefuse {

// Cores this process may run on, at least 1.
int available_threads();

class ThreadPool {
public:
  // `threads` includes the caller; 1 runs everything inline. Error{Limit} when the system gives
  // fewer.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  int threads() const;

  // Calls body(worker, index) once for every index in [0, count), worker in [0, threads()); returns
  // when all are done. The first exception stops the handing out and is rethrown here. Not
  // reentrant.
  void parallel_for(std::int64_t count, const std::function<void(int, std::int64_t)> &body) {
    parallel_for(count, body, [](int) { return false; });
  }
  // A worker for whom no index is left calls idle(worker) while others are at work, until it says
  // that there is nothing to do. Each call should be short: the region ends behind it.
  void parallel_for(std::int64_t count, const std::function<void(int, std::int64_t)> &body,
                    const std::function<bool(int)> &idle);

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace tilefuse
