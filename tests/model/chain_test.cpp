// SPDX-License-Identifier: Apache-2.0
// Chains of maps that read their operand twice: what fusion makes of them stays small, however long
// they are.
#include <gtest/gtest.h>

#include <cmath>

#include "base/index.h"
#include "model/devices.h"
#include "model/session.h"
#include "paths.h"
#include "poly/post_ops.h"
#include "program/gradient/gradient.h"
#include "program/rewrite/split_maps.h"
#include "tile/tile.h"

namespace tilefuse {
namespace {

const tile::Library &ops() {
  static const tile::Library library = tile::read_library(TILEFUSE_SOURCE_DIR "/ops");
  return library;
}

// x, f(x, x), f of that and that, …: `length` times.
program::Program chain(const std::string &function, int length) {
  program::Program program;
  program.name = "chain";
  program::TensorId value =
      program.add({.name = "x", .type = DType::F32, .shape = {3}, .role = program::Role::Input});
  program.inputs = {value};
  for (int i = 0; i < length; ++i)
    value = ops().instantiate(function, std::vector{value, value}, {}, program, function).at(0);
  program.outputs = {value};
  return program;
}

program::HostTensor tensor(const std::string &name, const std::vector<double> &values) {
  program::HostTensor made = program::make_host_tensor(name, DType::F32, {3});
  for (std::int64_t i = 0; i < 3; ++i)
    program::set(made, i, values[at(i)]);
  return made;
}

void expect_chain(const program::Program &program, const std::vector<program::HostTensor> &inputs,
                  const std::vector<double> &expected) {
  for (const testing::NamedDevice &on : testing::devices()) {
    runtime::KernelCache cache("", [](const std::string &) {});
    model::Session session(program, *on.device, cache, {});
    const program::HostTensor got = session.run(inputs).at(0);
    for (std::int64_t i = 0; i < 3; ++i)
      EXPECT_EQ(program::get(got, i), expected[at(i)]) << on.name;
  }
}

TEST(Chains, StayWithinTheLargestPostOp) {
  for (const char *function : {"mul", "add", "max", "min", "sub"})
    for (const int length : {18, 60, 300}) {
      const auto groups = poly::make_groups(program::assign_storage(chain(function, length)));
      EXPECT_LT(groups.size(), static_cast<std::size_t>(length)) << "nothing is fused";
      for (const poly::PlacedGroup &placed : groups)
        EXPECT_LE(program::count_nodes(placed.group.anchor.post), poly::kMaxPostNodes);
    }
}

TEST(Chains, GiveTheRightNumbers) {
  for (const int length : {60, 300}) {
    expect_chain(chain("mul", length), {tensor("x", {1, -1, 0.5})}, {1, 1, 0});
    expect_chain(chain("max", length), {tensor("x", {1, -1, 0.5})}, {1, -1, 0.5});
  }
  expect_chain(chain("add", 60), {tensor("x", {1, -1, 0})}, {0x1p60, -0x1p60, 0});
}

TEST(Chains, HaveGradientsThatStaySmall) {
  const program::Program added = chain("add", 60);
  const program::Program gradient = program::gradient(added, {.outputs = {}, .by = added.inputs});
  std::vector<program::HostTensor> inputs;
  for (const program::TensorId id : gradient.inputs)
    inputs.push_back(tensor(gradient[id].name, {1, 1, 1}));
  expect_chain(gradient, inputs, {0x1p60, 0x1p60, 0x1p60});
  const program::Program product = chain("mul", 60);
  const program::Program of_product =
      program::gradient(product, {.outputs = {}, .by = product.inputs});
  for (const poly::PlacedGroup &placed : poly::make_groups(program::assign_storage(of_product)))
    EXPECT_LE(program::count_nodes(placed.group.anchor.post), poly::kMaxPostNodes);
}

TEST(Chains, OfFewMapsAreOneKernel) {
  EXPECT_EQ(poly::make_groups(program::assign_storage(chain("mul", 5))).size(), 1u);
}

} // namespace
} // namespace tilefuse
