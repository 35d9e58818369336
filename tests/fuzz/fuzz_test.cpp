// SPDX-License-Identifier: Apache-2.0
// The main test of the compiler: random nest x random legal schedule, simulated after every pass
// and run on every device, against the nest's evaluator. A failure is shrunk and left as a text
// file that `tilefuse verify FILE` repeats.
//
// RC_PARAMS="max_success=100000" sets the number of cases, "seed=N" repeats a run, "noshrink=1" leaves
// a failure as it was drawn: through OpenCL, where each try is built anew, shrinking takes long.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/error.h"
#include "model/devices.h"
#include "model/oracle/check.h"
#include "model/oracle/random_case.h"

namespace tilefuse {
namespace {

using model::Divergence;
using model::KernelCase;
using model::Reference;
using model::Tape;
using model::Tapes;

constexpr std::size_t kNestTape = 64;
constexpr std::size_t kScheduleTape = 48;
constexpr std::uint32_t kOpenclShare = 5;
constexpr std::uint32_t kCoreShare = 5;
// Work-items of a group. The simulator remembers which of them read which element of local memory:
// with the 4096 that drivers of CPUs allow, a gigabyte is not enough.
constexpr int kFewestItems = 64;
constexpr int kMostItems = 256;

Tape draw_tape(std::size_t count) {
  const auto number =
      rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::uint32_t>(0, 1U << 20));
  return *rc::gen::container<Tape>(count, number);
}

Tapes draw_tapes() {
  Tapes tapes;
  tapes.nest = draw_tape(kNestTape);
  tapes.schedule = draw_tape(kScheduleTape);
  tapes.data = *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::uint32_t>(0, 1U << 20));
  return tapes;
}

// Leaves the case beside the test, over that of an earlier, larger failure.
void fail(const KernelCase &failed, const Divergence &divergence) {
  const auto *info = ::testing::UnitTest::GetInstance()->current_test_info();
  const std::string file =
      (std::filesystem::temp_directory_path() / ("tilefuse_" + std::string(info->name()) + ".case"))
          .string();
  std::ofstream(file) << to_text(failed);
  RC_FAIL("\n" + to_text(failed) + divergence.stage + ": " + divergence.what +
          "\nrepeat with: tilefuse verify " + file);
}

// Says in the end how many cases were simulated: not every draw is one.
struct Count {
  ~Count() { std::printf("%d cases simulated\n", cases); }
  int cases = 0;
};
Count simulated;

void check_simulated(const KernelCase &drawn) {
  ++simulated.cases;
  const Reference reference(drawn);
  if (const auto divergence = model::check_simulated(reference))
    fail(drawn, *divergence);
}

// What cannot be compiled is a failure that leaves its case too.
std::optional<Divergence> on_device(const Reference &reference, runtime::Device &device) {
  try {
    return model::check_on_device(reference, device);
  } catch (const Error &error) {
    return Divergence{.stage = device.target().name, .what = error.what()};
  }
}

void check_everywhere(const KernelCase &drawn, runtime::Device &device) {
  const Reference reference(drawn);
  if (const auto divergence = model::check_simulated(reference))
    fail(drawn, *divergence);
  if (const auto divergence = on_device(reference, device))
    fail(drawn, *divergence);
}

runtime::Device *find_device(const std::string &name) {
  for (testing::NamedDevice &device : testing::devices())
    if (device.name == name)
      return device.device.get();
  return nullptr;
}

RC_GTEST_PROP(Fuzz, VectorsSimulated, ()) {
  check_simulated(model::draw_case(draw_tapes(), LaneKind::Vector));
}

RC_GTEST_PROP(Fuzz, WorkItemsSimulated, ()) {
  check_simulated(model::draw_case(draw_tapes(), LaneKind::WorkItem));
}

// A case takes long to simulate, so that only one of kCoreShare runs.
RC_GTEST_PROP(Fuzz, MatrixInstructionsSimulated, ()) {
  const std::uint32_t turn = draw_tape(1).front() % kCoreShare;
  const Tapes tapes = draw_tapes();
  if (turn != 0)
    return;
  if (const std::optional<KernelCase> drawn = model::draw_core_case(tapes))
    check_simulated(*drawn);
}

RC_GTEST_PROP(Fuzz, WgmmaSimulated, ()) {
  const std::uint32_t turn = draw_tape(1).front() % kCoreShare;
  const Tapes tapes = draw_tapes();
  if (turn != 0)
    return;
  if (const std::optional<KernelCase> drawn = model::draw_wgmma_case(tapes))
    check_simulated(*drawn);
}

RC_GTEST_PROP(Fuzz, SumsOfTilesSimulated, ()) {
  const std::uint32_t turn = draw_tape(1).front() % kCoreShare;
  const Tapes tapes = draw_tapes();
  if (turn != 0)
    return;
  if (const std::optional<KernelCase> drawn = model::draw_sum_case(tapes))
    check_simulated(*drawn);
}

RC_GTEST_PROP(Fuzz, DotProductsSimulated, ()) {
  if (const std::optional<KernelCase> drawn = model::draw_dot_case(draw_tapes()))
    check_simulated(*drawn);
}

RC_GTEST_PROP(Fuzz, DotProductsOnCpu, ()) {
  runtime::Device *device = find_device("cpu");
  RC_ASSERT(device != nullptr);
  if (const auto drawn = model::draw_dot_case(draw_tapes(), device->target()))
    check_everywhere(*drawn, *device);
}

RC_GTEST_PROP(Fuzz, Cpu, ()) {
  runtime::Device *device = find_device("cpu");
  RC_ASSERT(device != nullptr);
  check_everywhere(model::draw_case(draw_tapes(), device->target()), *device);
}

// Lanes of both kinds, whichever the device prefers. Its driver takes long to build a kernel, so
// only one case of kOpenclShare runs.
RC_GTEST_PROP(Fuzz, Opencl, ()) {
  runtime::Device *device = find_device("opencl");
  const std::uint32_t turn = draw_tape(1).front() % kOpenclShare;
  const Tapes tapes = draw_tapes();
  if (device == nullptr || turn != 0)
    return;
  Target target = device->target();
  if (tapes.data / 2 % 2 == 1)
    target.lanes = target.lanes == LaneKind::Vector ? LaneKind::WorkItem : LaneKind::Vector;
  target.max_group = std::clamp(target.max_group, kFewestItems, kMostItems);
  check_everywhere(model::draw_case(tapes, target), *device);
}

} // namespace
} // namespace tilefuse
