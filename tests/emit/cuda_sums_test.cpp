// SPDX-License-Identifier: Apache-2.0
// Kernels that add up what their tiles store compile for Hopper, without a spill or advice of ptxas.
#include <array>

#include "emit/c/cuda.h"
#include "emit/cuda_checks.h"
#include "emit/emitter.h"
#include "lower/pipeline.h"
#include "schedule/members.h"

namespace tilefuse::emit {
namespace {

constexpr const char *kGroup = R"(group
anchor nest conv {
  index p 401408, m 128 | c 64
  slot 0 f16 25690112, 1 f16 8192, 2 f16 51380224
  acc f32 = sum mul
  in 0 + 0 [p:401408*64, c:64*1]
  in 1 + 0 const [m:128*64, c:64*1]
  out 2 + 0 [p:401408*128, m:128*1]
  post f16(acc)
}
sum slots 3 2 4 5
nest gemm_part {
  index pp 3136, k 2, m 128 | p 128
  slot 0 f32 2, 1 f16 51380224, 2 f32 128, 3 f32 802816
  acc f32 = sum term
  in 0 + 0 const [k:2*1]
  in 1 + 0 [pp:3136*16384, p:128*128, m:128*1]
  in 2 + 0 [m:128*1]
  term select($0 == 0, $1 - $2, ($1 - $2) * ($1 - $2))
  out 3 + 0 [pp:3136*256, k:2*128, m:128*1]
  post acc
}
)";

// Two groups of warps at a tile, and each at its own.
constexpr std::array kSchedules = {R"(schedule wgmma workitem
  tile   p:1 m:128 c:64
  vec    m:8
  wgmma  m64n128k16.f16.f32 m 128 warpgroups 2 1
  loop   p m c
  pipe   0 tma stages 4
  pack   1
  pipe   1 tma stages 4
)",
                                   R"(schedule wgmma workitem
  tile   p:1 m:128 c:64
  vec    m:8
  wgmma  m64n128k16.f16.f32 m 128 warpgroups 1 1
  loop   p m c
  pipe   0 tma stages 4
  pack   1
  pipe   1 tma stages 4
  role   load registers 40
  role   math pingpong 2 registers 232
  order  persistent 132
)"};

TEST(CudaSums, TilesCompile) {
  const Target target = hopper_target();
  const poly::Group group = poly::parse_group(kGroup);
  std::vector<Package> packages;
  for (const char *text : kSchedules) {
    const schedule::Schedule schedule = schedule::parse_schedule(group, text);
    ASSERT_FALSE(schedule::illegal(group, schedule, target))
        << *schedule::illegal(group, schedule, target);
    packages.push_back(make_cuda_emitter()->emit(lower::lower(group, schedule, target), target));
  }
  EXPECT_NE(packages[0].code.find("bar.sync 1, 256;"), std::string::npos);
  EXPECT_NE(packages[1].code.find("bar.sync 2, 128;"), std::string::npos);
  EXPECT_NE(packages[1].code.find("__shfl_xor_sync(0xffffffffu, "), std::string::npos);
  expect_clean(packages, std::array{"sm_90a"});
}

} // namespace
} // namespace tilefuse::emit
