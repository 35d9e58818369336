// SPDX-License-Identifier: Apache-2.0
// Groups of several nests on devices: random chains x schedules, as the evaluator says.
#include <gtest/gtest.h>

#include "devices.h"
#include "model/compile.h"
#include "model/oracle/check.h"
#include "model/oracle/exact.h"
#include "search/groups.h"
#include "search/pick.h"
#include "search/sample_group.h"
#include "support/random_group.h"

namespace tilefuse {
namespace {

std::optional<model::KernelCase> draw(std::uint64_t seed, const Target &target) {
  Random random(seed);
  model::KernelCase drawn;
  drawn.target = target;
  drawn.group = model::fuse_chain(model::random_chain(random)).group;
  drawn.seed = seed;
  std::optional<schedule::Schedule> schedule;
  if (seed % 2 == 0)
    schedule = search::pick_fused(drawn.group, target);
  if (!schedule)
    schedule = search::sample(drawn.group, target, random);
  if (!schedule)
    return std::nullopt;
  drawn.schedule = *schedule;
  return drawn;
}

TEST(FusedOnDevices, RandomChainsAreExact) {
  for (const testing::NamedDevice &named : testing::devices()) {
    int checked = 0;
    for (std::uint64_t seed = 1; seed <= 12 && !HasFatalFailure(); ++seed) {
      const auto drawn = draw(seed, named.device->target());
      if (!drawn || !model::is_exact(*drawn))
        continue;
      SCOPED_TRACE(model::to_text(*drawn));
      const auto divergence = check_on_device(model::Reference(*drawn), *named.device);
      ASSERT_FALSE(divergence) << named.name << " seed " << seed << " " << divergence->what;
      ++checked;
    }
    EXPECT_GT(checked, 6) << named.name;
  }
}

} // namespace
} // namespace tilefuse
