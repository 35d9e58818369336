// SPDX-License-Identifier: Apache-2.0
// Who has synchronised with whom: a vector clock per warp (Lamport 1978, Mattern 1989). Each warp
// counts its barriers; at a barrier the warps that reach it learn all that any of them knew, at an
// mbarrier those who wait what those who arrived knew. An event of a work-item is ordered before
// another's if its warp's count then is known now. Agents are the warps of a cluster's blocks, and
// behind each block's warps its engine (engine.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tilefuse::kernel::simulation {

class Clocks {
public:
  explicit Clocks(std::size_t warps) : now_(warps, 1), known_(warps * warps, 0) {}

  // All that came before is forgotten: gives the first time of the cluster.
  std::uint32_t start_cluster();
  // The warps meet.
  void meet(std::span<const std::size_t> warps);
  // What a warp knows, itself included; what it does from here on is later.
  std::vector<std::uint32_t> tell(std::size_t warp);
  void learn(std::size_t warp, std::span<const std::uint32_t> told);
  static void join(std::vector<std::uint32_t> &all, std::span<const std::uint32_t> told);
  std::size_t agents() const { return now_.size(); }

  std::uint32_t now(std::size_t warp) const { return now_[warp]; }
  // Whether what `earlier` did at `time` happened before what `warp` does now. Within one warp and
  // time nothing is ordered.
  bool is_ordered(std::size_t earlier, std::uint32_t time, std::size_t warp) const {
    return time <= known_[warp * now_.size() + earlier];
  }

private:
  std::vector<std::uint32_t> now_;   // by warp
  std::vector<std::uint32_t> known_; // (warp, other): the other's last time that is known
};

} // namespace tilefuse::kernel::simulation
