// SPDX-License-Identifier: Apache-2.0
// What a user asks of the provider: its options in onnxruntime.
//
//   device        "cpu", "cuda:0", …; none: what tf_device_open() takes
//   cache_folder  where compiled kernels and tuning records lie
//   min_nodes     fewer nodes in one place are left, unless one is a contraction or a pool; 5
//   threads, precision, fuse, …: the library's options of devices and of compiling (tf_options)
#pragma once

#include <cstddef>
#include <string>

#include "ort/ort_api.h"
#include "tilefuse/tilefuse.hpp"

namespace tilefuse::ort {

inline constexpr const char *kProvider = "TilefuseExecutionProvider";

struct Settings {
  std::string device;
  Options device_options;
  Options compile_options;
  std::size_t least_nodes = 5;
};

// The options that a session has for this provider. Refused for one that there is not, with a list.
Settings read_settings(const c::SessionOptions *session);
// The same of options by name.
Settings to_settings(const Options &options);

} // namespace tilefuse::ort
