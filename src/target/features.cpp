// SPDX-License-Identifier: Apache-2.0
#include "target/features.h"

#include "base/error.h"
#include "target/core_ops.h"
#include "target/nvidia.h"

namespace tilefuse {

bool has(const Target &target, Feature feature) {
  const bool is_cuda = target.backend == "cuda";
  const bool is_llvm = target.backend == "llvm";
  switch (feature) {
  case Feature::AsyncCopies:
    return nvidia_generation(target) >= 80;
  case Feature::MatrixUnits:
    return is_cuda && target.lanes == LaneKind::WorkItem && target.warp == kCoreLanes;
  case Feature::WarpgroupMatrix:
    return has(target, Feature::MatrixUnits) && target.isa.starts_with("sm_90a");
  case Feature::LaunchQueue:
    return is_cuda;
  case Feature::EarlyLaunch:
    return is_cuda && nvidia_generation(target) >= 90;
  case Feature::PackedRounding:
    return nvidia_generation(target) >= 80;
  case Feature::PrefetchHints:
    return is_llvm;
  case Feature::EitherLanes:
    return !is_llvm;
  }
  internal_error("an unknown feature", __FILE__, __LINE__);
}

} // namespace tilefuse
