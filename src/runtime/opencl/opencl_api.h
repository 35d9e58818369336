// SPDX-License-Identifier: Apache-2.0
// OpenCL 1.2, opened at run time: nothing is linked, and a machine without libOpenCL.so.1 only
// lacks the back end. Every call of a driver goes through opencl_api() and every return code
// through check().
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#include <CL/cl.h>

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace tilefuse::runtime {

// The functions used, by their names.
// clang-format off
#define TILEFUSE_OPENCL_FUNCTIONS(X) \
  X(clGetPlatformIDs) X(clGetPlatformInfo) X(clGetDeviceIDs) X(clGetDeviceInfo) \
  X(clCreateContext) X(clReleaseContext) X(clCreateCommandQueue) X(clReleaseCommandQueue) \
  X(clCreateBuffer) X(clReleaseMemObject) X(clEnqueueReadBuffer) \
  X(clEnqueueWriteBuffer) X(clEnqueueFillBuffer) X(clCreateProgramWithSource) \
  X(clCreateProgramWithBinary) X(clBuildProgram) X(clGetProgramBuildInfo) X(clGetProgramInfo) \
  X(clReleaseProgram) X(clCreateKernel) X(clReleaseKernel) X(clGetKernelWorkGroupInfo) \
  X(clSetKernelArg) X(clEnqueueNDRangeKernel) X(clFinish) X(clGetEventProfilingInfo) \
  X(clReleaseEvent) \
  X(clRetainContext) X(clRetainCommandQueue) X(clRetainMemObject) X(clGetCommandQueueInfo) \
  X(clGetMemObjectInfo) X(clEnqueueMarkerWithWaitList) X(clEnqueueBarrierWithWaitList) \
  X(clWaitForEvents) X(clFlush)
// clang-format on

struct OpenclApi {
#define TILEFUSE_OPENCL_MEMBER(name) decltype(&::name) name = nullptr;
  TILEFUSE_OPENCL_FUNCTIONS(TILEFUSE_OPENCL_MEMBER)
#undef TILEFUSE_OPENCL_MEMBER
};

// The library, opened once and kept; null with the reason in `why`.
const OpenclApi *opencl_api(std::string *why);

// "CL_OUT_OF_RESOURCES", or the number of a code that has no name.
std::string opencl_error_name(cl_int code);
// Throws Error{Device} naming the code and the call, unless CL_SUCCESS.
void check(cl_int code, std::string_view call);

// Owns one driver object; `Release` is the member of OpenclApi that frees it.
template <typename T, cl_int (CL_API_CALL *OpenclApi::*Release)(T)> class Handle {
public:
  Handle() = default;
  Handle(const OpenclApi &api, T object) : api_(&api), object_(object) {}
  Handle(Handle &&other) noexcept
      : api_(other.api_), object_(std::exchange(other.object_, nullptr)) {}
  Handle &operator=(Handle &&other) noexcept {
    std::swap(api_, other.api_);
    std::swap(object_, other.object_);
    return *this;
  }
  ~Handle() {
    if (object_ != nullptr)
      (api_->*Release)(object_);
  }
  T get() const { return object_; }
  // The caller's from now on.
  T release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

private:
  const OpenclApi *api_ = nullptr;
  T object_ = nullptr;
};

using ContextHandle = Handle<cl_context, &OpenclApi::clReleaseContext>;
using QueueHandle = Handle<cl_command_queue, &OpenclApi::clReleaseCommandQueue>;
using MemHandle = Handle<cl_mem, &OpenclApi::clReleaseMemObject>;
using ProgramHandle = Handle<cl_program, &OpenclApi::clReleaseProgram>;
using KernelHandle = Handle<cl_kernel, &OpenclApi::clReleaseKernel>;
using EventHandle = Handle<cl_event, &OpenclApi::clReleaseEvent>;

} // namespace tilefuse::runtime
