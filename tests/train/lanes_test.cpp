// SPDX-License-Identifier: Apache-2.0
// Sums over lanes: the same tree for any share of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "model/devices.h"
#include "train/lanes/lane_sum.h"
#include "train/lanes/sum_program.h"
#include "train/parameters.h"
#include "train/shared.h"

namespace tilefuse::train {
namespace {

using Rows = std::vector<float>;

Rows random_rows(std::int64_t rows, unsigned seed) {
  std::mt19937 source(seed);
  std::uniform_real_distribution<float> draw(-1, 1);
  Rows values(static_cast<std::size_t>(rows * kRow));
  std::generate(values.begin(), values.end(), [&] { return draw(source); });
  return values;
}

// By the tree, in f32.
Rows tree_sum(const std::vector<Rows> &parts, std::size_t begin, std::size_t count) {
  if (count == 1)
    return parts[begin];
  Rows left = tree_sum(parts, begin, count / 2);
  const Rows right = tree_sum(parts, begin + count / 2, count / 2);
  std::transform(left.begin(), left.end(), right.begin(), left.begin(), std::plus<float>());
  return left;
}

class Lanes : public ::testing::TestWithParam<std::string> {
protected:
  void SetUp() override {
    device_ = find_device(GetParam());
    if (device_ == nullptr)
      GTEST_SKIP() << "no device " << GetParam();
  }
  Compilation compilation() { return {*device_, cache_, "f32", {}}; }

  runtime::Device *device_ = nullptr;
  runtime::KernelCache cache_{"", [](const std::string &) {}};
};

TEST_P(Lanes, AreSummedByOneTree) {
  constexpr std::int64_t kRows = 3;
  for (const int lanes : {1, 2, 4, 8, 16}) {
    const std::unique_ptr<runtime::Memory> memory = device_->allocate(kRows * kRow * 4);
    const runtime::Binding learned{memory.get(), 0, kRows * kRow * 4};
    const double factor = lanes == 1 ? 1 : 1.0 / lanes;
    LaneSum sum(compilation(), learned, lanes, factor);
    std::vector<Rows> parts;
    for (int lane = 0; lane < lanes; ++lane) {
      parts.push_back(random_rows(kRows, static_cast<unsigned>(lane)));
      device_->write(learned, std::as_bytes(std::span(parts.back())));
      device_->launch_all(sum.kernels(lane));
    }
    Rows expected = tree_sum(parts, 0, parts.size());
    for (float &value : expected)
      value *= static_cast<float>(factor);
    Rows got(expected.size());
    device_->read(learned, std::as_writable_bytes(std::span(got)));
    EXPECT_EQ(got, expected) << lanes << " lanes";
  }
}

// What a worker does with the parts of all: the upper levels of that tree.
TEST_P(Lanes, WorkersHaveTheUpperLevels) {
  constexpr std::int64_t kRows = 2;
  constexpr std::int64_t kBytes = kRows * kRow * 4;
  for (const int parts : {1, 2, 8, 16}) {
    const std::unique_ptr<runtime::Memory> memory = device_->allocate((parts + 1) * kBytes);
    std::vector<model::PlacedPort> placed{{{true, 0}, {memory.get(), parts * kBytes, kBytes}}};
    std::vector<Rows> values;
    for (int part = 0; part < parts; ++part) {
      const runtime::Binding place{memory.get(), part * kBytes, kBytes};
      placed.push_back({{false, static_cast<std::size_t>(part)}, place});
      values.push_back(random_rows(kRows, static_cast<unsigned>(part)));
      device_->write(place, std::as_bytes(std::span(values.back())));
    }
    Phase phase(sum_program(kRows, parts, 1), compilation(), placed);
    phase.launch();
    Rows got(static_cast<std::size_t>(kRows * kRow));
    device_->read({memory.get(), parts * kBytes, kBytes}, std::as_writable_bytes(std::span(got)));
    EXPECT_EQ(got, tree_sum(values, 0, values.size())) << parts << " parts";
  }
}

// In bf16 as well, of which nothing is lost on the way.
TEST_P(Lanes, NarrowPartsAreSummedInF32) {
  constexpr std::int64_t kBytes = kRow * 4;
  const std::unique_ptr<runtime::Memory> memory = device_->allocate(4 * kBytes);
  const auto place = [&](int number) {
    return runtime::Binding{memory.get(), number * kBytes, kBytes};
  };
  std::vector<model::PlacedPort> placed{{{true, 0}, place(3)}};
  std::vector<Rows> values;
  for (int part = 0; part < 2; ++part) {
    values.push_back(random_rows(1, static_cast<unsigned>(part)));
    for (float &value : values.back())
      value = std::round(value * 128) / 128;
    device_->write(place(2), std::as_bytes(std::span(values.back())));
    const runtime::Binding narrow{memory.get(), part * kBytes, kBytes / 2};
    const std::vector<model::PlacedPort> ends{{{false, 0}, place(2)}, {{true, 0}, narrow}};
    Phase(narrowing_program(1), compilation(), ends).launch();
    placed.push_back({{false, static_cast<std::size_t>(part)}, narrow});
  }
  Phase phase(sum_program(1, 2, 1, DType::BF16), compilation(), placed);
  phase.launch();
  Rows got(static_cast<std::size_t>(kRow));
  device_->read(place(3), std::as_writable_bytes(std::span(got)));
  EXPECT_EQ(got, tree_sum(values, 0, 2));
}

INSTANTIATE_TEST_SUITE_P(Devices, Lanes, ::testing::Values("cpu", "opencl"));

} // namespace
} // namespace tilefuse::train
