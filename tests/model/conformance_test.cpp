// SPDX-License-Identifier: Apache-2.0
// ONNX's own operator tests, compiled and run on every device.
#include <gtest/gtest.h>

#include <iostream>

#include <fmt/format.h>

#include "model/devices.h"
#include "model/session.h"
#include "onnx/node_tests.h"

namespace tilefuse {
namespace {

TEST(Conformance, of_operators_on_devices) {
  if (onnx_import::is_data_missing())
    GTEST_SKIP();
  for (auto &on : testing::devices()) {
    std::cout << on.name << ": ";
    const auto tests = onnx_import::run_node_tests(
        [&](const program::Program &program, const std::vector<program::HostTensor> &inputs) {
          runtime::KernelCache cache("", [](const std::string &) {});
          return model::Session(program, *on.device, cache, {}).run(inputs);
        });
    EXPECT_TRUE(tests.failures.empty()) << on.name << ":\n"
                                        << fmt::format("{}", fmt::join(tests.failures, "\n"));
    EXPECT_GE(tests.passed, 531);
  }
}

} // namespace
} // namespace tilefuse
