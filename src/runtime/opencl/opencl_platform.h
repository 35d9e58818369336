// SPDX-License-Identifier: Apache-2.0
// The OpenCL devices of this machine, and what each can do.
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
  bool byte_dots = false; // dot products of four bytes, as functions of the language
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

} // namespace tilefuse::runtime
