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
  for (const Aside &each : timeline_.asides)
    asides_.push_back(std::make_unique<Apart>(each, cx_->api));
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
  std::size_t beside = 0; // that are sent
  auto joins = joins_.begin();
  std::size_t asides = 0, ended = 0; // that are sent, and that were waited for
  bool is_behind = false;            // the last aside is behind all kernels that are sent
  bool is_joined = false;            // the next kernel is behind an event
  const auto last = [&] { return asides > ended ? asides_[asides - 1].get() : nullptr; };
  for (std::size_t k = 0; k <= timeline_.kernels.size(); ++k) {
    send_all_beside(k, beside, last());
    if (joins != joins_.end() && (*joins)->before == k) {
      join(**joins++, is_recording);
      is_joined = true;
    }
    const std::size_t waited = ended;
    while (ended < asides && asides_[ended]->aside.before <= k)
      ++ended;
    if (ended > waited) {
      wait_for(asides_[ended - 1]->end, cx_->stream);
      is_joined = true;
    }
    if (k == timeline_.kernels.size())
      break;
    if (asides < asides_.size() && asides_[asides]->aside.kernel == k) {
      send_aside(*asides_[asides++], !std::exchange(is_behind, true));
    } else {
      launch_(*timeline_.kernels[k], !std::exchange(is_joined, false));
      is_behind = false;
    }
  }
}

void CudaTimeline::join(const Join &join, bool is_recording) const {
  mark(join.begin, is_recording);
  order(cx_->beside, join.joined, cx_->stream);
  mark(join.end, is_recording);
}

void CudaTimeline::send_aside(const Apart &apart, bool is_forked) const {
  if (is_forked)
    order(cx_->stream, apart.fork, cx_->aside);
  const StreamInUse in(*cx_, cx_->aside);
  launch_(*timeline_.kernels[apart.aside.kernel], !is_forked);
  check(cx_->api, cx_->api.cuEventRecord(apart.end.get(), cx_->stream), "cuEventRecord");
}

// Behind the last aside too, which may be what is waited for.
void CudaTimeline::send_all_beside(std::size_t after, std::size_t &sent, const Apart *last) const {
  for (; sent < timeline_.beside.size() && timeline_.beside[sent].after == after; ++sent) {
    order(cx_->stream, *forks_[sent], cx_->beside);
    if (last != nullptr)
      wait_for(last->end, cx_->beside);
    const StreamInUse in(*cx_, cx_->beside);
    timeline_.beside[sent].send();
  }
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
  wait_for(event, second);
}

void CudaTimeline::wait_for(const CudaEvent &event, cuda::Stream stream) const {
  check(cx_->api, cx_->api.cuStreamWaitEvent(stream, event.get(), 0), "cuStreamWaitEvent");
}

} // namespace tilefuse::runtime
