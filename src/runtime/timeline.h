// SPDX-License-Identifier: Apache-2.0
// Launches with what runs beside them, kept for many runs: kernels in order, and in a queue of its own
// what others send, such as exchanges with other processes:
//
//   kernels   0 … 180 | 181 … 209             | 210 …
//   beside            | after 181, before 210 |
//
// It begins once the first 181 kernels have ended, and has ended before number 210 begins. Kernels
// that those behind them do not wait for are asides: they have a queue of their own too, in which
// they run in order. A device without queues does one thing after the other.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace tilefuse::runtime {

class Launchable; // device.h

struct Beside {
  std::size_t after = 0;  // kernels, asides included
  std::size_t before = 0; // the number of one; that of all: what is queued next
  // To the queue in use; called when a timeline is sent, which is not at every run.
  std::function<void()> send;
};

// A kernel that begins once all in front of it have ended that are none, and has ended before another
// begins.
struct Aside {
  std::size_t kernel = 0;
  std::size_t before = 0; // the number of one; that of all: what is queued next
};

struct Timeline {
  std::vector<Launchable *> kernels;
  std::vector<Aside> asides; // by `kernel`; `before` does not decrease
  // By `after`; none begins in front of another's `before` and ends behind it.
  std::vector<Beside> beside;
};

class Recorded {
public:
  virtual ~Recorded() = default;
  // Queues one run.
  virtual void launch() = 0;
  // Seconds of the last run, which has ended, that kernels had to wait for what runs beside them; of a
  // device without queues, those of sending it. 0 where the device cannot tell.
  virtual double waited() = 0;
};

} // namespace tilefuse::runtime
