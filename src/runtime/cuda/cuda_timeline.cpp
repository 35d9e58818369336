// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cuda_timeline.h"

#include <utility>

namespace tilefuse::runtime {
namespace {

using cuda::check;

// Work goes to another stream of the context as long as this lives.
class StreamInUse {
public:
  StreamInUse(CudaContext &cx, cuda::Stream stream)
      : cx_(cx), before_(std::exchange(cx.stream, stream)) {}
  ~StreamInUse() { cx_.stream = before_; }
  StreamInUse(const StreamInUse &) = delete;
  StreamInUse &operator=(const StreamInUse &) = delete;

private:
  CudaContext &cx_;
  cuda::Stream before_;
};

} // namespace

CudaTimeline::CudaTimeline(std::shared_ptr<CudaContext> cx, Timeline timeline, Launch launch)
    : cx_(std::move(cx)), timeline_(std::move(timeline)), launch_(std::move(launch)) {
  for (const Beside &each : timeline_.beside) {
    forks_.push_back(std::make_unique<CudaEvent>(cx_->api));
    if (joins_.empty() || joins_.back()->before != each.before)
      joins_.push_back(std::make_unique<Join>(each.before, cx_->api));
  }
}

void CudaTimeline::launch() {
  cx_->enter();
  if (!std::exchange(was_sent_, true))
    return send(false);
  if (!graph_)
    graph_.emplace(cx_, [&] { send(true); });
  graph_->launch();
}

double CudaTimeline::waited() {
  if (cx_->api.cuEventRecordWithFlags == nullptr || !was_sent_)
    return 0;
  cx_->enter();
  double seconds = 0;
  for (const auto &join : joins_) {
    float milliseconds = 0;
    check(cx_->api, cx_->api.cuEventElapsedTime(&milliseconds, join->begin.get(), join->end.get()),
          "cuEventElapsedTime");
    seconds += static_cast<double>(milliseconds) * 1e-3;
  }
  return seconds;
}

void CudaTimeline::send(bool is_recording) const {
  auto next = timeline_.beside.begin();
  auto fork = forks_.begin();
  auto joins = joins_.begin();
  for (std::size_t k = 0; k <= timeline_.kernels.size(); ++k) {
    for (; next != timeline_.beside.end() && next->after == k; ++next, ++fork)
      send_beside(*next, **fork);
    const bool is_joined = joins != joins_.end() && (*joins)->before == k;
    if (is_joined)
      join(**joins++, is_recording);
    if (k < timeline_.kernels.size())
      launch_(*timeline_.kernels[k], !is_joined);
  }
}

void CudaTimeline::join(const Join &join, bool is_recording) const {
  mark(join.begin, is_recording);
  order(cx_->beside, join.joined, cx_->stream);
  mark(join.end, is_recording);
}

void CudaTimeline::send_beside(const Beside &beside, const CudaEvent &fork) const {
  order(cx_->stream, fork, cx_->beside);
  const StreamInUse in(*cx_, cx_->beside);
  beside.send();
}

// Of a graph, an event with a time is a node of its own.
void CudaTimeline::mark(const CudaEvent &event, bool is_recording) const {
  if (cx_->api.cuEventRecordWithFlags != nullptr)
    check(cx_->api,
          cx_->api.cuEventRecordWithFlags(event.get(), cx_->stream,
                                          is_recording ? cuda::kRecordExternal : 0),
          "cuEventRecordWithFlags");
}

void CudaTimeline::order(cuda::Stream first, const CudaEvent &event, cuda::Stream second) const {
  check(cx_->api, cx_->api.cuEventRecord(event.get(), first), "cuEventRecord");
  check(cx_->api, cx_->api.cuStreamWaitEvent(second, event.get(), 0), "cuStreamWaitEvent");
}

} // namespace tilefuse::runtime
