// SPDX-License-Identifier: Apache-2.0
// ONNX's own operator tests (../shared/data/onnx_node_tests) and stored results of models, for
// whatever computes a program: the evaluator, or a device.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "program/host_tensor.h"

namespace tilefuse::onnx_import {

// Where the data lie that all work places share.
const std::filesystem::path &shared_data();
// Whether they are missing, which fails in CI and is said elsewhere.
bool is_data_missing();

// The outputs of a program for inputs in its order.
using Compute = std::function<std::vector<program::HostTensor>(const program::Program &,
                                                               std::vector<program::HostTensor>)>;

// Empty when the model computes the stored outputs of a folder, else what differs. `share`:
// tolerance as a share of the output's range, or that of ONNX's runner when 0.
std::string difference(const Compute &compute, const std::filesystem::path &model,
                       const std::filesystem::path &set, double share);

// What became of all operator tests: names, and the reason behind each that did not pass.
struct NodeTests {
  int passed = 0;
  int passed_with_constants = 0; // of `passed`: once all operands but the first were made constant
  std::vector<std::string> refused;
  std::vector<std::string> failures;
};

// Runs all operator tests and prints how many passed, were refused and failed; with VERBOSE in the
// environment also what was refused. A folder named by TILEFUSE_NODE_TESTS holds further ones
// (write_node_tests.py).
NodeTests run_node_tests(const Compute &compute);

} // namespace tilefuse::onnx_import
