// SPDX-License-Identifier: Apache-2.0
#include "runtime/opencl/opencl_queue.h"

#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "runtime/opencl/opencl_select.h"

namespace tilefuse::runtime {
namespace {

template <class Value>
Value queue_info(const OpenclApi &api, cl_command_queue queue, cl_command_queue_info what) {
  Value value{};
  check(api.clGetCommandQueueInfo(queue, what, sizeof value, &value, nullptr),
        fmt::format("clGetCommandQueueInfo({:#x}) of the caller's queue", what));
  return value;
}

template <class Value> Value memory_info(const OpenclApi &api, cl_mem memory, cl_mem_info what) {
  Value value{};
  check(api.clGetMemObjectInfo(memory, what, sizeof value, &value, nullptr),
        fmt::format("clGetMemObjectInfo({:#x}) of the caller's memory", what));
  return value;
}

class OpenclMark final : public Mark {
public:
  OpenclMark(std::shared_ptr<OpenclContext> cx, cl_event event)
      : cx_(std::move(cx)), event_(cx_->api, event) {}
  void wait() override {
    const cl_event event = event_.get();
    check(cx_->api.clWaitForEvents(1, &event), "clWaitForEvents");
  }
  void *release() override { return event_.release(); }
  cl_event event() const { return event_.get(); }

private:
  std::shared_ptr<OpenclContext> cx_;
  EventHandle event_;
};

} // namespace

std::shared_ptr<OpenclContext> context_of_queue(const OpenclApi &api, cl_command_queue queue,
                                                const std::string &selector) {
  const auto id = queue_info<cl_device_id>(api, queue, CL_QUEUE_DEVICE);
  const auto context = queue_info<cl_context>(api, queue, CL_QUEUE_CONTEXT);
  std::vector<OpenclDeviceInfo> devices = opencl_devices(api);
  std::erase_if(devices, [&](const OpenclDeviceInfo &info) { return info.id != id; });
  const OpenclDeviceInfo info = select_device(devices, selector);
  check(api.clRetainContext(context), "clRetainContext");
  return std::make_shared<OpenclContext>(OpenclContext{api, info, ContextHandle{api, context}});
}

QueueHandle retain_queue(const OpenclContext &cx, cl_command_queue queue) {
  if (queue_info<cl_device_id>(cx.api, queue, CL_QUEUE_DEVICE) != cx.info.id ||
      queue_info<cl_context>(cx.api, queue, CL_QUEUE_CONTEXT) != cx.context.get())
    throw Error(ErrorCode::Device,
                fmt::format("the queue is of another device or context than {}", cx.info.name), {},
                {"open the device with a queue of that context"});
  if (queue_info<cl_command_queue_properties>(cx.api, queue, CL_QUEUE_PROPERTIES) &
      CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)
    throw Error(ErrorCode::Device, "the queue takes its work in any order; need one in order");
  check(cx.api.clRetainCommandQueue(queue), "clRetainCommandQueue");
  return {cx.api, queue};
}

MemHandle retain_memory(const OpenclContext &cx, cl_mem memory, std::int64_t bytes) {
  if (memory_info<cl_context>(cx.api, memory, CL_MEM_CONTEXT) != cx.context.get())
    throw Error(ErrorCode::Device,
                fmt::format("the cl_mem is of another context than {}", cx.info.name), {},
                {"open the device with a queue of that context"});
  if (memory_info<cl_mem>(cx.api, memory, CL_MEM_ASSOCIATED_MEMOBJECT) != nullptr)
    throw Error(ErrorCode::Device, "the cl_mem is a part of another", {},
                {"give the whole one, with byte_offset"});
  const auto size =
      static_cast<std::int64_t>(memory_info<std::size_t>(cx.api, memory, CL_MEM_SIZE));
  if (size < bytes)
    throw Error(ErrorCode::Device,
                fmt::format("the cl_mem has {} bytes, {} are needed", size, bytes));
  check(cx.api.clRetainMemObject(memory), "clRetainMemObject");
  return {cx.api, memory};
}

std::unique_ptr<Mark> mark_queue(std::shared_ptr<OpenclContext> cx, cl_command_queue queue) {
  cl_event event = nullptr;
  check(cx->api.clEnqueueMarkerWithWaitList(queue, 0, nullptr, &event),
        "clEnqueueMarkerWithWaitList");
  // A marker that nobody sends would never end.
  check(cx->api.clFlush(queue), "clFlush");
  return std::make_unique<OpenclMark>(std::move(cx), event);
}

void queue_behind(const OpenclContext &cx, cl_command_queue queue, Mark &mark) {
  const cl_event event = static_cast<OpenclMark &>(mark).event();
  check(cx.api.clEnqueueBarrierWithWaitList(queue, 1, &event, nullptr),
        "clEnqueueBarrierWithWaitList");
}

} // namespace tilefuse::runtime
