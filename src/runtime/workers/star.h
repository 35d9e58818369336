// SPDX-License-Identifier: Apache-2.0
// The workers of a run, met: connections of every worker with rank 0, over which they find each other,
// compare what they are, send what lies in host memory, and are watched (monitor.h). Each has two, one
// for the monitor.
//
// Who comes without the token is sent away. Rank 0 listens at the address of its place alone.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/workers/link.h"
#include "runtime/workers/monitor.h"
#include "runtime/workers/place.h"

namespace tilefuse::runtime {

struct StarOptions {
  WorkerPlace place;
  std::string device;    // "cuda:1", for messages
  double patience = 120; // seconds, for workers that have not come, or do not come on
};

class Star {
public:
  // Waits until all are there. Error{Device} names those that are not, or says why rank 0 cannot be
  // reached.
  // `listener` of rank 0, where it listens already.
  explicit Star(const StarOptions &options, std::optional<Listener> listener = {});

  int rank() const { return rank_; }
  int count() const { return count_; }
  const std::string &name(int rank) const { return names_.at(static_cast<std::size_t>(rank)); }

  // Every worker's text, by rank, at every worker.
  std::vector<std::string> gather(const std::string &own);
  // That of rank 0, at every worker.
  std::string broadcast(const std::string &own);
  // As Workers' calls, of bytes in host memory; sum() adds f32 by rank.
  void swap_parts(std::span<const std::byte> from, std::span<std::byte> to);
  void gather_parts(std::span<std::byte> all);
  void sum(std::span<float> all);

  Monitor &monitor() { return *monitor_; }
  // Waits for the monitor to end this process, since a worker is lost; throws what is under way if it
  // does not. To be called where an exception is handled.
  [[noreturn]] static void lost();

private:
  void receive_all(const StarOptions &options, Listener &listener, std::map<int, Link> &control);
  void reach_first(const StarOptions &options, std::map<int, Link> &control);
  void relay_parts(std::span<const std::byte> from, std::span<std::byte> to);
  // One of count() equal parts.
  template <class Byte> std::span<Byte> part_of(std::span<Byte> all, int number) const {
    const std::size_t bytes = all.size() / static_cast<std::size_t>(count_);
    return all.subspan(static_cast<std::size_t>(number) * bytes, bytes);
  }

  int rank_;
  int count_;
  std::vector<std::string> names_; // by rank: "rank 3 (node7, cuda:1)"
  std::map<int, Link> links_;      // by rank; to 0 alone, but at 0
  std::vector<std::byte>
      relayed_;              // by sender, as each has sent it; kept, since fresh memory is slow
  std::vector<float> added_; // of another worker
  std::unique_ptr<Monitor> monitor_;
};

} // namespace tilefuse::runtime
