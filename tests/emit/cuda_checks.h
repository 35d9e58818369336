// SPDX-License-Identifier: Apache-2.0
// What tests of generated CUDA C++ share: devices to generate for, and compilation by NVRTC.
#pragma once

#include <array>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "package/package.h"
#include "runtime/cuda/cuda_build.h"
#include "target/rows.h"
#include "target/target.h"

namespace tilefuse::emit {

inline constexpr std::array kArchitectures = {"sm_80", "sm_90a"};

inline Target cuda_target() {
  Target target;
  target.name = "cuda_test";
  target.backend = "cuda";
  target.isa = "sm_90a";
  target.lanes = LaneKind::WorkItem;
  target.vector_f32 = 64;
  target.vector_registers = 128;
  target.max_group = 256;
  target.local_bytes = 48 << 10;
  target.local_is_hw = true;
  return testing::with_row(target, "cuda_sm90");
}

// Compiles for each architecture; the logs hold no warning, no spill, and no advice of ptxas
// (C75..: registers not limited, wgmma waited for one by one).
inline void expect_clean(const std::vector<Package> &packages,
                         std::span<const char *const> architectures = kArchitectures) {
  std::string why;
  if (runtime::nvrtc_version(&why).empty()) {
    ASSERT_EQ(std::getenv("CI"), nullptr) << why;
    GTEST_SKIP() << why;
  }
  for (const char *arch : architectures) {
    std::string log;
    for (const Package &built : runtime::build_cuda(packages, arch, &log)) {
      EXPECT_EQ(built.format, CodeFormat::CudaBinary);
      EXPECT_EQ(built.code.substr(1, 3), "ELF") << built.name;
    }
    EXPECT_EQ(log.find("warning"), std::string::npos) << log;
    EXPECT_EQ(log.find("C75"), std::string::npos) << log;
    for (std::size_t at = log.find("bytes spill stores"); at != std::string::npos;
         at = log.find("bytes spill stores", at + 1))
      EXPECT_EQ(log.substr(at - 4, 4), ", 0 ")
          << log.substr(at - std::min<std::size_t>(at, 400), 500);
  }
}

inline Target hopper_target() {
  Target target = cuda_target();
  target.max_group = 1024;
  target.local_bytes = 232448;
  target.vector_registers = 255;
  target.warp = 32;
  target.compute_units = 132;
  return target;
}

} // namespace tilefuse::emit
