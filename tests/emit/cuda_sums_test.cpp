// SPDX-License-Identifier: Apache-2.0
// Kernels that add up what their tiles store compile for Hopper, without a spill or advice of ptxas.
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "emit/c/cuda.h"
#include "emit/cuda_checks.h"
#include "emit/emitter.h"
#include "kernel/text/text.h"
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

// An input gradient with its ReLU's mask and the sums of a normalisation's gradient.
constexpr const char *kGradient = R"(group
anchor nest gemm {
  index p 401408, c 256 | m 64
  slot 0 f16 25690112, 1 f16 16384, 2 f16 102760448, 3 f16 102760448, 4 f16 102760448
  acc f32 = sum mul
  in 0 + 0 [p:401408*64, m:64*1]
  in 1 + 0 [m:64*256, c:256*1]
  out 3 + 0 [p:401408*256, c:256*1]
  extra 2 + 0 [p:401408*256, c:256*1]
  extra 4 + 0 [p:401408*256, c:256*1]
  post f16(select(f32($0) > 0, f32(f16(acc)), 0))
}
sum slots 5 3 4 6
nest gemm_part {
  index pp 3136, k 2, c 256 | p 128
  slot 0 f32 2, 1 f16 102760448, 2 f16 102760448, 3 f32 1605632
  acc f32 = sum term
  in 0 + 0 const [k:2*1]
  in 1 + 0 [pp:3136*32768, p:128*256, c:256*1]
  in 2 + 0 [pp:3136*32768, p:128*256, c:256*1]
  term select($0 == 0, $1 * $2, $1)
  out 3 + 0 [pp:3136*512, k:2*256, c:256*1]
  post acc
}
)";

// Tiles of 128 x `columns`, whose operands come as `extra` says.
std::string gradient_schedule(int columns, int warpgroups, std::string_view extra,
                              std::string_view math, std::string_view order) {
  return fmt::format(R"(schedule wgmma_store workitem
  tile   p:1 c:{0}
  vec    c:2
  wgmma  m64n{0}k16.f16.f32 m 128 warpgroups {1} 1
  loop   p c m
  pipe   0 tma stages 3
  pipe   1 tma stages 3
  pipe   extra tma stages {2}
  role   load registers 56
  role   math {3}registers 224
  order  persistent 132{4}
  store  tma
)",
                     columns, warpgroups, extra, math, order);
}

std::vector<std::string> gradient_schedules() {
  return {gradient_schedule(64, 1, "2", "pingpong 2 ", ""),
          gradient_schedule(128, 1, "3 epi_n 32", "pingpong 2 ", ""),
          gradient_schedule(128, 2, "2 epi_n 64", "", " cluster 2 1")};
}

// The same of taps, in windows and swapped.
constexpr const char *kTapGradient = R"(group
anchor nest conv {
  index n 128, c 64, y 56, x 56 | m 64, r 3, s 3
  slot 0 f16 25690112, 1 f16 36864, 2 f16 25690112, 3 f16 25690112, 4 f16 25690112
  acc f32 = sum mul
  in 0 + 0 [n:128*200704, m:64*1, y - r + 1:56?*3584, x - s + 1:56?*64]
  in 1 + 0 [m:64*576, r:3*192, s:3*64, c:64*1]
  out 3 + 0 [n:128*200704, c:64*1, y:56*3584, x:56*64]
  extra 2 + 0 [n:128*200704, c:64*1, y:56*3584, x:56*64]
  extra 4 + 0 [n:128*200704, c:64*1, y:56*3584, x:56*64]
  post f16(select(f32($0) > 0, f32(f16(acc)), 0))
}
sum slots 5 3 4 6
nest gemm_part {
  index np 128, yp 4, xp 7, k 2, c 64 | y 14, x 8
  slot 0 f32 2, 1 f16 25690112, 2 f16 25690112, 3 f32 458752
  acc f32 = sum term
  in 0 + 0 const [k:2*1]
  in 1 + 0 [np:128*200704, yp:4*50176, y:14*3584, xp:7*512, x:8*64, c:64*1]
  in 2 + 0 [np:128*200704, yp:4*50176, y:14*3584, xp:7*512, x:8*64, c:64*1]
  term select($0 == 0, $1 * $2, $1)
  out 3 + 0 [np:128*3584, yp:4*896, xp:7*128, k:2*64, c:64*1]
  post acc
}
)";

constexpr std::array kTapSchedules = {R"(schedule wgmma_window workitem
  tile   n:1 c:64 y:14 x:8
  vec    c:2
  wgmma  m64n112k16.f16.f32 m 112 warpgroups 1 1 swap_ab
  loop   n y x c r s m
  pipe   0 halo tma stages 4
  pipe   1 resident tma stages 9
  pipe   extra tma stages 2
  role   load registers 56
  role   math pingpong 2 registers 224 test_rows
  order  persistent 132
)"};

template <class Texts> std::vector<Package> compiled(const char *text, const Texts &schedules) {
  const Target target = hopper_target();
  const poly::Group group = poly::parse_group(text);
  std::vector<Package> packages;
  for (const std::string_view each : schedules) {
    const schedule::Schedule schedule = schedule::parse_schedule(group, each);
    const auto wrong = schedule::illegal(group, schedule, target);
    EXPECT_FALSE(wrong) << *wrong;
    if (!wrong)
      packages.push_back(make_cuda_emitter()->emit(lower::lower(group, schedule, target), target));
  }
  return packages;
}

TEST(CudaSums, TilesCompile) {
  const std::vector<Package> packages = compiled(kGroup, kSchedules);
  ASSERT_EQ(packages.size(), kSchedules.size());
  EXPECT_NE(packages[0].code.find("bar.sync 1, 256;"), std::string::npos);
  EXPECT_NE(packages[1].code.find("bar.sync 2, 128;"), std::string::npos);
  EXPECT_NE(packages[1].code.find("__shfl_xor_sync(0xffffffffu, "), std::string::npos);
  expect_clean(packages, std::array{"sm_90a"});
}

TEST(CudaSums, OfInputGradientsCompile) {
  std::vector<Package> packages = compiled(kGradient, gradient_schedules());
  for (Package &package : compiled(kTapGradient, kTapSchedules))
    packages.push_back(std::move(package));
  ASSERT_EQ(packages.size(), 4U);
  expect_clean(packages, std::array{"sm_90a"});
}

// Registers hold halves as f32, so that what is added is rounded besides.
TEST(CudaSums, AddWhatIsStored) {
  const poly::Group group = poly::parse_group(kGradient);
  const kernel::Kernel kernel = lower::lower(
      group, schedule::parse_schedule(group, gradient_schedules()[0]), hopper_target());
  EXPECT_NE(kernel::to_text(kernel).find("round_f16(f32x2(stored))"), std::string::npos);
}

} // namespace
} // namespace tilefuse::emit
