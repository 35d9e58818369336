// SPDX-License-Identifier: Apache-2.0
// What the CUDA driver holds for a device, each freed by its owner: context with stream, memory,
// module, graph and event. Errors are those of cuda::check().
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include <fmt/format.h>

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
    cuda::check(api, api.cuStreamCreate(&stream, cuda::kNonBlockingStream), "cuStreamCreate");
  }
  CudaContext(const CudaContext &) = delete;
  CudaContext &operator=(const CudaContext &) = delete;
  ~CudaContext() {
    api.cuCtxSetCurrent(context_);
    if (stream != nullptr)
      api.cuStreamDestroy_v2(stream);
    api.cuDevicePrimaryCtxRelease_v2(device_);
  }
  void enter() const { cuda::check(api, api.cuCtxSetCurrent(context_), "cuCtxSetCurrent"); }
  void wait() const { cuda::check(api, api.cuStreamSynchronize(stream), "cuStreamSynchronize"); }

  const cuda::DriverApi &api;
  cuda::Stream stream = nullptr;

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
  // Of the caller.
  CudaMemory(std::shared_ptr<CudaContext> cx, cuda::DevicePtr base, std::int64_t bytes)
      : cx_(std::move(cx)), bytes_(bytes), is_owner_(false), base_(base) {}
  ~CudaMemory() override {
    if (!is_owner_)
      return;
    cx_->api.cuStreamSynchronize(cx_->stream);
    cx_->api.cuMemFree_v2(base_);
  }
  std::int64_t bytes() const override { return bytes_; }
  cuda::DevicePtr base() const { return base_; }

private:
  std::shared_ptr<CudaContext> cx_;
  std::int64_t bytes_ = 0;
  bool is_owner_ = true;
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
  // `record` sends the launches to the stream.
  template <typename Record>
  CudaGraph(std::shared_ptr<CudaContext> cx, const Record &record) : cx_(std::move(cx)) {
    const cuda::DriverApi &api = cx_->api;
    cuda::check(api, api.cuStreamBeginCapture_v2(cx_->stream, cuda::kCaptureThreadLocal),
                "cuStreamBeginCapture");
    record();
    cuda::Graph graph = nullptr;
    cuda::check(api, api.cuStreamEndCapture(cx_->stream, &graph), "cuStreamEndCapture");
    const cuda::Result code = api.cuGraphInstantiateWithFlags(&exec_, graph, 0);
    api.cuGraphDestroy(graph);
    cuda::check(api, code, "cuGraphInstantiateWithFlags");
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
  ~CudaEvent() { api_.cuEventDestroy_v2(event_); }
  cuda::Event get() const { return event_; }

private:
  const cuda::DriverApi &api_;
  cuda::Event event_ = nullptr;
};

} // namespace tilefuse::runtime
