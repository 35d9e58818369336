// SPDX-License-Identifier: Apache-2.0
// A program that works with OpenCL by itself: context, queue and buffers of its own, on the first
// device that the library can use. The driver's loader is opened as the library opens it.
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#include <CL/cl.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <stdexcept>
#include <string>
#include <vector>

#include <dlfcn.h>

namespace tilefuse::testing {

// A function of the loader, by the type of its declaration.
template <class Function> Function *opencl(const char *name) {
  static void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  void *found = library == nullptr ? nullptr : dlsym(library, name);
  if (found == nullptr)
    throw std::runtime_error(std::string("there is no ") + name);
  return reinterpret_cast<Function *>(found);
}
#define TILEFUSE_CL(name) ::tilefuse::testing::opencl<decltype(::name)>(#name)

inline void need(cl_int code, const char *what) {
  if (code != CL_SUCCESS)
    throw std::runtime_error(what + std::string(" gave ") + std::to_string(code));
}

class OpenclCaller {
public:
  // std::runtime_error where there is no device.
  OpenclCaller() {
    cl_platform_id platform = nullptr;
    need(TILEFUSE_CL(clGetPlatformIDs)(1, &platform, nullptr), "clGetPlatformIDs");
    need(TILEFUSE_CL(clGetDeviceIDs)(platform, CL_DEVICE_TYPE_ALL, 1, &device_, nullptr),
         "clGetDeviceIDs");
    cl_int code = CL_SUCCESS;
    context_ = TILEFUSE_CL(clCreateContext)(nullptr, 1, &device_, nullptr, nullptr, &code);
    need(code, "clCreateContext");
    queue_ = make_queue(0);
  }
  ~OpenclCaller() {
    let_go();
    for (cl_mem buffer : buffers_)
      TILEFUSE_CL(clReleaseMemObject)(buffer);
    for (cl_command_queue queue : queues_)
      TILEFUSE_CL(clReleaseCommandQueue)(queue);
    TILEFUSE_CL(clReleaseContext)(context_);
  }
  OpenclCaller(const OpenclCaller &) = delete;
  OpenclCaller &operator=(const OpenclCaller &) = delete;

  cl_context context() const { return context_; }
  cl_command_queue queue() const { return queue_; }
  cl_command_queue make_queue(cl_command_queue_properties properties) {
    cl_int code = CL_SUCCESS;
    queues_.push_back(TILEFUSE_CL(clCreateCommandQueue)(context_, device_, properties, &code));
    need(code, "clCreateCommandQueue");
    return queues_.back();
  }
  cl_mem make_buffer(std::size_t bytes) {
    cl_int code = CL_SUCCESS;
    buffers_.push_back(
        TILEFUSE_CL(clCreateBuffer)(context_, CL_MEM_READ_WRITE, bytes, nullptr, &code));
    need(code, "clCreateBuffer");
    return buffers_.back();
  }
  cl_mem make_part(cl_mem of, std::size_t origin, std::size_t bytes) {
    const cl_buffer_region region{origin, bytes};
    cl_int code = CL_SUCCESS;
    buffers_.push_back(TILEFUSE_CL(clCreateSubBuffer)(
        of, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &code));
    need(code, "clCreateSubBuffer");
    return buffers_.back();
  }
  // What is queued from now on waits until let_go().
  void hold(cl_command_queue queue) {
    cl_int code = CL_SUCCESS;
    held_.push_back(TILEFUSE_CL(clCreateUserEvent)(context_, &code));
    need(code, "clCreateUserEvent");
    need(TILEFUSE_CL(clEnqueueBarrierWithWaitList)(queue, 1, &held_.back(), nullptr),
         "clEnqueueBarrierWithWaitList");
  }
  void let_go() {
    for (cl_event event : held_) {
      TILEFUSE_CL(clSetUserEventStatus)(event, CL_COMPLETE);
      TILEFUSE_CL(clReleaseEvent)(event);
    }
    held_.clear();
  }
  // Whether the work ends though queues are held; else they are let go.
  template <class Work> bool ends_while_held(const Work &work) {
    auto done = std::async(std::launch::async, work);
    const bool is_done = done.wait_for(std::chrono::seconds(30)) == std::future_status::ready;
    if (!is_done)
      let_go();
    done.get();
    return is_done;
  }
  void write(cl_mem to, const std::vector<float> &values, std::size_t offset = 0) {
    need(TILEFUSE_CL(clEnqueueWriteBuffer)(queue_, to, CL_TRUE, offset, values.size() * 4,
                                           values.data(), 0, nullptr, nullptr),
         "clEnqueueWriteBuffer");
  }
  std::vector<float> read(cl_mem from, std::size_t count, std::size_t offset = 0) {
    std::vector<float> values(count);
    need(TILEFUSE_CL(clEnqueueReadBuffer)(queue_, from, CL_TRUE, offset, count * 4, values.data(),
                                          0, nullptr, nullptr),
         "clEnqueueReadBuffer");
    return values;
  }

private:
  cl_device_id device_ = nullptr;
  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
  std::vector<cl_command_queue> queues_;
  std::vector<cl_mem> buffers_;
  std::vector<cl_event> held_;
};

} // namespace tilefuse::testing
