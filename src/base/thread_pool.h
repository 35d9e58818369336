// SPDX-License-Identifier: Apache-2.0
// Persistent workers for one parallel region at a time. Each worker begins with its own stretch of
// neighbouring indices, the same in every region of as many, so that it finds in its caches what it
// left there; then it takes the last ones of others. Indices are handed out in runs: a worker that
// loses its core delays only the run it holds. Workers spin for a short while after a region, then
// sleep.
//
// What passes between cores costs a region of few microseconds the most: 40 ns a cache line between
// neighbours, 250 ns across a processor. A worker finds all of a region on one line of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace tilefuse {

// Cores this process may run on, at least 1.
int available_threads();

struct Region {
  std::int64_t count = 0;   // indices
  std::int64_t at_once = 1; // of a run
};

class ThreadPool {
public:
  using Body = std::function<void(int worker, std::int64_t begin, std::int64_t end)>;
  using Idle = std::function<bool(int worker)>;

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
  void parallel_for(std::int64_t count, const std::function<void(int, std::int64_t)> &body);
  // The same of runs. A worker that has run some and for whom none is left calls `idle`, if there is
  // one, while the caller has work, and the caller while others have, until it says that there is
  // nothing to do. Each call should be short: the region ends behind it.
  void parallel_for(const Region &region, const Body &body, const Idle &idle);

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace tilefuse
