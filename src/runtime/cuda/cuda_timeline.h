// SPDX-License-Identifier: Apache-2.0
// A timeline on a CUDA device: kernels in the stream in use, asides and what runs beside them in the
// context's streams of these names, forked and joined by events, and all of it one graph.
//
// The first run is sent without a graph, since libraries allocate at their first call of a kind, which
// may not be recorded. Kernels next to an event start once what is in front has ended.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/cuda/cuda_objects.h"
#include "runtime/device.h"
#include "runtime/timeline.h"

namespace tilefuse::runtime {

class CudaTimeline final : public Recorded {
public:
  // `is_early`: may start while the kernel in front of it runs its last blocks.
  using Launch = std::function<void(Launchable &, bool is_early)>;

  CudaTimeline(std::shared_ptr<CudaContext> cx, Timeline timeline, Launch launch);
  void launch() override;
  double waited() override;

private:
  struct Join {
    Join(std::size_t number, const cuda::DriverApi &api)
        : before(number), joined(api), begin(api), end(api) {}
    std::size_t before;
    CudaEvent joined, begin, end; // the last two: of waiting
  };

  // An aside, with what orders it.
  struct Apart {
    Apart(const Aside &which, const cuda::DriverApi &api) : aside(which), fork(api), end(api) {}
    Aside aside;
    CudaEvent fork, end;
  };

  void send(bool is_recording) const;
  // Forked, or behind the aside in front of it alone, and then early.
  void send_aside(const Apart &apart, bool is_forked) const;
  void send_all_beside(std::size_t after, std::size_t &sent, const Apart *last) const;
  void join(const Join &join, bool is_recording) const;
  void mark(const CudaEvent &event, bool is_recording) const;
  void order(cuda::Stream first, const CudaEvent &event, cuda::Stream second) const;
  void wait_for(const CudaEvent &event, cuda::Stream stream) const;

  std::shared_ptr<CudaContext> cx_;
  Timeline timeline_;
  Launch launch_;
  std::vector<std::unique_ptr<Apart>> asides_;
  std::vector<std::unique_ptr<CudaEvent>> forks_; // by what runs beside
  std::vector<std::unique_ptr<Join>> joins_;
  std::optional<CudaGraph> graph_;
  bool was_sent_ = false;
};

} // namespace tilefuse::runtime
