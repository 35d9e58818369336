// SPDX-License-Identifier: Apache-2.0
// The gradients of random programs are their slopes.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "program/finite_difference.h"
#include "program/random_program.h"

namespace tilefuse::program {
namespace {

// A maximum of values closer than the step is no fault of the gradient, so that three draws of
// values must fail.
TEST(GradientRandom, IsTheSlopeOfTheProgram) {
  const bool passed = rc::check("gradients of random programs are their slopes", [] {
    const Program program = testing::random_program();
    std::string mismatch;
    for (unsigned seed = 1; seed <= 3; ++seed) {
      mismatch = testing::gradient_mismatch(program, testing::any_values, seed);
      if (mismatch.empty())
        break;
    }
    if (!mismatch.empty())
      RC_FAIL(mismatch);
  });
  EXPECT_TRUE(passed);
}

} // namespace
} // namespace tilefuse::program
