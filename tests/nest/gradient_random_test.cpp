// SPDX-License-Identifier: Apache-2.0
// Gradients of random programs, flattened and evaluated, are what the programs mean.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>

#include "base/error.h"
#include "nest/evaluate/reference.h"
#include "nest/fold/fold.h"
#include "program/finite_difference.h"
#include "program/random_program.h"

namespace tilefuse::nest {
namespace {

using program::HostTensor;
using program::Program;
using program::testing::Values;

void compare(const Program &program) {
  std::mt19937 random(5);
  std::map<std::string, HostTensor> by_name;
  std::vector<Values> given;
  for (program::TensorId id : program.inputs) {
    given.push_back(program::testing::any_values(program[id], random));
    HostTensor host =
        program::make_host_tensor(program[id].name, program[id].type, program[id].shape);
    for (std::size_t i = 0; i < given.back().size(); ++i) {
      program::set(host, static_cast<std::int64_t>(i), given.back()[i]);
      given.back()[i] = program::get(host, static_cast<std::int64_t>(i));
    }
    by_name[host.name] = std::move(host);
  }
  const std::vector<Values> want = program::testing::run(program, given);
  const std::vector<HostTensor> got = evaluate_program(program, by_name);
  for (std::size_t k = 0; k < want.size(); ++k)
    for (std::size_t i = 0; i < want[k].size(); ++i) {
      const double value = program::get(got[k], static_cast<std::int64_t>(i));
      if (!(std::fabs(value - want[k][i]) <= 1e-3 * (1 + std::fabs(want[k][i]))))
        RC_FAIL(fmt::format("{} element {}: got {}, want {}\n{}", got[k].name, i, value, want[k][i],
                            to_text(program)));
    }
}

TEST(GradientRandom, FlattensToWhatItMeans) {
  EXPECT_TRUE(rc::check("gradients of random programs flatten", [] {
    const Program program = program::testing::random_program();
    try {
      compare(program::testing::gradient_by_inputs(program));
    } catch (const Error &error) {
      if (error.message().find("nothing is computed") != 0)
        throw;
      RC_CLASSIFY(true, "refused: no points");
    }
  }));
}

} // namespace
} // namespace tilefuse::nest
