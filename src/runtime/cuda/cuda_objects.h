// SPDX-License-Identifier: Apache-2.0
// What the CUDA driver holds for a device, each freed by its owner: context with stream, memory,
// module, graph and event. Errors are those of cuda::check().
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "package/package.h"
#include "runtime/cuda/cuda_api.h"
#include "runtime/device.h"
#include "runtime/out_of_memory.h"

namespace tilefuse::runtime {

// The device's own context, current in this thread while work is sent to it.
class CudaContext {
public:
  CudaContext(const cuda::DriverApi &driver, int number) : api(driver) {
    cuda::check(api, api.cuDeviceGet(&device_, number), "cuDeviceGet");
    cuda::check(api, api.cuDevicePrimaryCtxRetain(&context_, device_), "cuDevicePrimaryCtxRetain");
    enter();
    for (const auto &[stream, priority] :
         {std::pair(&own, cuda::kInFront), std::pair(&transfers, cuda::kUsual),
          std::pair(&beside, cuda::kFirstOfAll), std::pair(&aside, cuda::kUsual)})
      cuda::check(api,
                  api.cuStreamCreateWithPriority(stream, cuda::kNonBlockingStream, priority),
                  "cuStreamCreateWithPriority");
    stream = usual = own;
  }
  CudaContext(const CudaContext &) = delete;
  CudaContext &operator=(const CudaContext &) = delete;
  ~CudaContext() {
    api.cuCtxSetCurrent(context_);
    for (const cuda::Stream each : {own, transfers, beside, aside})
      if (each != nullptr)
        api.cuStreamDestroy_v2(each);
    api.cuDevicePrimaryCtxRelease_v2(device_);
  }
  void enter() const { cuda::check(api, api.cuCtxSetCurrent(context_), "cuCtxSetCurrent"); }
  void wait() const { cuda::check(api, api.cuStreamSynchronize(stream), "cuStreamSynchronize"); }
  // A stream of the caller's. Error{Device} for one of another context; the legacy stream and a
  // thread's own are of every one.
  cuda::Stream checked(void *callers) const {
    const auto given = static_cast<cuda::Stream>(callers);
    cuda::Context of = nullptr;
    enter();
    cuda::check(api, api.cuStreamGetCtx(given, &of), "cuStreamGetCtx of the caller's stream");
    if (of != context_)
      throw Error(ErrorCode::Device, "the stream is of another context than the CUDA device", {},
                  {"need a stream of the device's primary context"});
    return given;
  }

  const cuda::DriverApi &api;
  cuda::Stream own = nullptr;       // where graphs are recorded
  cuda::Stream usual = nullptr;     // where work goes unless a caller says where
  cuda::Stream stream = nullptr;    // where it goes now
  cuda::Stream transfers = nullptr; // beside it
  cuda::Stream beside = nullptr;    // of timelines; in front of what waits in the others
  cuda::Stream aside = nullptr;     // of timelines; behind what waits in the others

private:
  int device_ = 0;
  cuda::Context context_ = nullptr;
};

class CudaMemory final : public Memory {
public:
  CudaMemory(std::shared_ptr<CudaContext> cx, std::int64_t bytes)
      : cx_(std::move(cx)), bytes_(bytes) {
    cx_->enter();
    const auto size = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
    const cuda::Result code = cx_->api.cuMemAlloc_v2(&base_, size);
    if (code == 0)
      return;
    std::size_t free = 0;
    std::size_t total = 0;
    cx_->api.cuMemGetInfo_v2(&free, &total);
    if (code == cuda::kOutOfMemory)
      throw out_of_memory("the CUDA device", bytes, static_cast<std::int64_t>(free),
                          static_cast<std::int64_t>(total));
    cuda::check(cx_->api, code,
                fmt::format("cuMemAlloc of {} bytes with {} free of {}", size, free, total));
  }
  // Of the caller, who has it until it is done with: in the way of wrap(), or by `owner`.
  CudaMemory(std::shared_ptr<CudaContext> cx, void *base, std::int64_t bytes,
             std::shared_ptr<void> owner = nullptr)
      : cx_(std::move(cx)), bytes_(bytes), is_own_(false), owner_(std::move(owner)),
        base_(reinterpret_cast<cuda::DevicePtr>(base)) {}
  ~CudaMemory() override {
    if (is_own_ || owner_)
      cx_->api.cuStreamSynchronize(cx_->stream);
    if (is_own_)
      cx_->api.cuMemFree_v2(base_);
  }
  std::int64_t bytes() const override { return bytes_; }
  cuda::DevicePtr base() const { return base_; }

private:
  std::shared_ptr<CudaContext> cx_;
  std::int64_t bytes_ = 0;
  bool is_own_ = true;
  std::shared_ptr<void> owner_;
  cuda::DevicePtr base_ = 0;
};

class LoadedModule {
public:
  LoadedModule(std::shared_ptr<CudaContext> cx, const Package &built) : cx_(std::move(cx)) {
    cuda::check(cx_->api, cx_->api.cuModuleLoadData(&module_, built.code.data()),
                fmt::format("cuModuleLoadData of kernel '{}'", built.name));
  }
  LoadedModule(const LoadedModule &) = delete;
  LoadedModule &operator=(const LoadedModule &) = delete;
  ~LoadedModule() { cx_->api.cuModuleUnload(module_); }
  cuda::Function function(const Package &built) const {
    cuda::Function found = nullptr;
    cuda::check(cx_->api, cx_->api.cuModuleGetFunction(&found, module_, built.symbol.c_str()),
                fmt::format("cuModuleGetFunction of kernel '{}'", built.name));
    return found;
  }

private:
  std::shared_ptr<CudaContext> cx_;
  cuda::Module module_ = nullptr;
};

// A list of launches that the driver holds as one.
class CudaGraph {
public:
  // `record` sends the launches to the context's own stream: others may not be recorded.
  template <typename Record>
  CudaGraph(std::shared_ptr<CudaContext> cx, const Record &record) : cx_(std::move(cx)) {
    const cuda::DriverApi &api = cx_->api;
    cuda::check(api, api.cuStreamBeginCapture_v2(cx_->own, cuda::kCaptureThreadLocal),
                "cuStreamBeginCapture");
    const cuda::Stream used = std::exchange(cx_->stream, cx_->own);
    const std::exception_ptr failure = caught(record);
    cx_->stream = used;
    cuda::Graph graph = nullptr;
    const cuda::Result ended = api.cuStreamEndCapture(cx_->own, &graph);
    const std::unique_ptr<cuda::GraphObject, decltype(api.cuGraphDestroy)> owner(
        graph, api.cuGraphDestroy);
    if (failure)
      std::rethrow_exception(failure);
    cuda::check(api, ended, "cuStreamEndCapture");
    cuda::check(api, api.cuGraphInstantiateWithFlags(&exec_, graph, 0),
                "cuGraphInstantiateWithFlags");
  }
  CudaGraph(const CudaGraph &) = delete;
  CudaGraph &operator=(const CudaGraph &) = delete;
  ~CudaGraph() {
    if (exec_ != nullptr)
      cx_->api.cuGraphExecDestroy(exec_);
  }
  void launch() const {
    cuda::check(cx_->api, cx_->api.cuGraphLaunch(exec_, cx_->stream), "cuGraphLaunch");
  }

private:
  template <typename Body> static std::exception_ptr caught(const Body &body) {
    try {
      body();
      return nullptr;
    } catch (...) {
      return std::current_exception();
    }
  }

  std::shared_ptr<CudaContext> cx_;
  cuda::GraphExec exec_ = nullptr;
};

class CudaEvent {
public:
  explicit CudaEvent(const cuda::DriverApi &api) : api_(api) {
    cuda::check(api_, api_.cuEventCreate(&event_, 0), "cuEventCreate");
  }
  CudaEvent(const CudaEvent &) = delete;
  CudaEvent &operator=(const CudaEvent &) = delete;
  ~CudaEvent() {
    if (event_ != nullptr)
      api_.cuEventDestroy_v2(event_);
  }
  cuda::Event get() const { return event_; }
  // The caller's from now on.
  cuda::Event release() { return std::exchange(event_, nullptr); }

private:
  const cuda::DriverApi &api_;
  cuda::Event event_ = nullptr;
};

// Behind all that was sent to the stream in use.
class CudaMark final : public Mark {
public:
  explicit CudaMark(std::shared_ptr<CudaContext> cx) : cx_(std::move(cx)), event_(cx_->api) {
    cuda::check(cx_->api, cx_->api.cuEventRecord(event_.get(), cx_->stream), "cuEventRecord");
  }
  void wait() override {
    cx_->enter();
    cuda::check(cx_->api, cx_->api.cuEventSynchronize(event_.get()), "cuEventSynchronize");
  }
  void *release() override { return event_.release(); }
  cuda::Event event() const { return event_.get(); }

private:
  std::shared_ptr<CudaContext> cx_;
  CudaEvent event_;
};

} // namespace tilefuse::runtime
