// SPDX-License-Identifier: Apache-2.0
// Maps that warps beside those with matrix instructions evaluate: kernels that NVRTC compiles
// without spilling.
#include <array>
#include <tuple>

#include <gtest/gtest.h>

#include "emit/c/cuda.h"
#include "emit/cuda_checks.h"
#include "emit/emitter.h"
#include "lower/pipeline.h"
#include "model/conv_gradient.h"
#include "model/conv_nest.h"
#include "schedule/mma/core.h"
#include "search/forms/fed_forms.h"
#include "support/fed_group.h"
#include "support/sampling.h"

namespace tilefuse::emit {
namespace {

// BatchNorm and ReLU before a convolution, a mask before a gradient: warps that map have registers
// of their own, and nothing spills beside them.
TEST(CudaMaps, InRingsCompile) {
  const poly::Group forward = model::group_of({.n = 32, .h = 28, .w = 28, .c = 128, .k = 128});
  const poly::Group backward =
      model::gradients({.n = 32, .h = 28, .w = 28, .c = 128, .k = 128}, model::By::Input).front();
  std::vector<Package> on_hopper, on_ampere;
  int number = 0; // of those on Hopper, every third is compiled
  for (const poly::Group &group : {model::normalised(forward, 0), model::masked(backward, 0)})
    for (const schedule::Schedule &each :
         search::fed_core_schedules(group, hopper_target(), false)) {
      const bool is_new = is_wgmma(*each.core.op);
      std::vector<Package> &packages = is_new ? on_hopper : on_ampere;
      if (is_new ? number++ % 3 == 0 : packages.size() < 4)
        packages.push_back(
            make_cuda_emitter()->emit(lower::lower(group, each, hopper_target()), hopper_target()));
    }
  EXPECT_GE(on_hopper.size(), 12u);
  expect_clean(testing::sampled(on_hopper), std::array{"sm_90a"});
  expect_clean(testing::sampled(on_ampere));
}

// The same in windows of data, beside filters that are kept or stream.
TEST(CudaMaps, InWindowsCompile) {
  std::vector<Package> packages;
  int number = 0; // every third is compiled
  for (const auto &[size, in, out] : {std::tuple{56, 64, 64}, {28, 128, 32}, {28, 128, 128}})
    for (const bool is_forward : {true, false}) {
      const poly::Group group =
          is_forward
              ? model::normalised(
                    model::group_of({.n = 32, .h = size, .w = size, .c = in, .k = out}), 0)
              : model::masked(model::gradients({.n = 32, .h = size, .w = size, .c = out, .k = in},
                                               model::By::Input)
                                  .front(),
                              0);
      for (const schedule::Schedule &each :
           search::fed_core_schedules(group, hopper_target(), false))
        if (halo_stages(each) > 0 && number++ % 3 == 0)
          packages.push_back(make_cuda_emitter()->emit(lower::lower(group, each, hopper_target()),
                                                       hopper_target()));
    }
  EXPECT_GE(packages.size(), 12u);
  expect_clean(testing::sampled(packages), std::array{"sm_90a"});
}

} // namespace
} // namespace tilefuse::emit
