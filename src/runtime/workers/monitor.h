// SPDX-License-Identifier: Apache-2.0
// Sees to it that no worker waits for one that is gone. Each tells rank 0 twice a second at which step
// it is, and rank 0 tells the others; lines of text over connections of their own, by a thread of its
// own:
//
//   at 812 1 800     in step 812, in its exchange (0: before it); newest checkpoint: step 800
//   bye              ends as it should
//   failed TEXT      ends with an error
//   end TEXT         of rank 0: all end, for this reason
//
// A worker whose connection closes without a word, that is silent for kSilence, or that has not
// reached for so long what the others wait in, is named in one sentence on stderr, and every process
// ends at once with exit code kLostWorker: what it has queued cannot be called back.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/stopwatch.h"
#include "runtime/workers/link.h"

namespace tilefuse::runtime {

inline constexpr int kLostWorker = 4;     // exit code
inline constexpr double kSilence = 3;     // seconds
inline constexpr double kHeartbeat = 0.5; // seconds

class Monitor {
public:
  struct Options {
    int rank = 0;
    std::vector<std::string> names; // by rank: "rank 3 (node7, cuda:1)"
    double patience = 120;          // seconds, for one that is alive but does not come
  };
  // `links` are by rank, to all others at rank 0, to rank 0 at the others.
  Monitor(Options options, std::map<int, Link> links);
  // Says goodbye.
  ~Monitor();
  Monitor(const Monitor &) = delete;
  Monitor &operator=(const Monitor &) = delete;

  void begin_step(std::int64_t step);
  void enter_exchange();
  void leave_exchange();        // in the middle of a step
  void keep(std::int64_t step); // the checkpoint of that step stands
  // Others end, for this reason; this process does as it likes.
  void fail(const std::string &why);

private:
  struct Progress {
    std::int64_t step = 0; // 0: before the first
    bool is_in_exchange = false;
    Stopwatch changed; // since one of these did
  };
  struct Peer {
    Link link;
    std::string unread;
    std::atomic<bool> said_goodbye{false};
    Progress progress;
    Stopwatch heard; // since it was
  };

  void work();
  static void update(Progress &progress, std::int64_t step, bool is_in_exchange);
  bool is_late(const Progress &progress) const;
  void tell_all(const std::string &line);
  std::string status() const;
  void read(int rank, Peer &peer);
  void take(int rank, Peer &peer, const std::string &line);
  void look_for_silence();
  void look_for_the_stuck();
  [[noreturn]] void end(const std::string &sentence);
  std::string sentence(int rank, const std::string &what) const;

  Options options_;
  std::map<int, Peer> peers_;
  Progress own_;       // as the thread has seen it
  std::mutex sending_; // of one line
  std::atomic<std::int64_t> step_{0};
  std::atomic<bool> is_in_exchange_{false};
  std::atomic<std::int64_t> kept_{-1};
  std::atomic<bool> is_ending_{false};
  std::thread thread_;
};

} // namespace tilefuse::runtime
