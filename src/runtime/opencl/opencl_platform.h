// SPDX-License-Identifier: Apache-2.0
// The OpenCL devices of this machine: what each can do, which is meant by a selector, and its
// Target.
//
// A selector is "opencl" (the best usable device: GPU, then accelerator, then CPU), "opencl:P" or
// "opencl:P:D", where P and D are numbers as listed or parts of a name in any case: "opencl:pocl",
// "opencl:nvidia:1".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/opencl/opencl_api.h"
#include "target/target.h"

namespace tilefuse::runtime {

struct OpenclDeviceInfo {
  std::size_t platform_index = 0;
  std::size_t device_index = 0;
  cl_device_id id = nullptr;
  std::string platform_name;
  std::string platform_version;
  std::string name;
  std::string vendor;
  std::string version; // "OpenCL 3.0 …"
  std::string driver_version;
  cl_device_type type = 0;
  bool available = false;
  bool compiler = false;
  bool little_endian = false;
  bool fp64 = false;
  bool fp16 = false;
  bool local_is_hw = false;
  bool device_atomics = false; // with acquire and release among all groups
  int vector_f32 = 1;          // native width
  int compute_units = 1;
  std::int64_t max_group = 1;
  std::int64_t global_bytes = 0;
  std::int64_t local_bytes = 0;
  std::int64_t max_allocation = 0;
  std::int64_t alignment = 1; // bytes, of sub-buffers
  int nvidia_generation = 0;  // 90 of compute capability 9.0; 0: another vendor's

  std::string selector() const; // "opencl:0:0"
  bool is_pocl() const;
};

// Every device of every platform, in the drivers' order. A driver that fails loses only its own
// devices.
std::vector<OpenclDeviceInfo> opencl_devices(const OpenclApi &api);
// Why a device cannot be used, or empty.
std::string rejection(const OpenclDeviceInfo &info);
// The device that `selector` means. Error{Device} says what there is.
OpenclDeviceInfo select_device(const std::vector<OpenclDeviceInfo> &devices,
                               const std::string &selector);
// The row of `rows` for this kind of device, or built-in values, with what the driver reports put
// in.
Target target_of(const OpenclDeviceInfo &info, const std::vector<Target> &rows);

} // namespace tilefuse::runtime
