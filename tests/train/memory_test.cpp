// SPDX-License-Identifier: Apache-2.0
// The memory that is said before the first step is what a run then uses, within a hundredth, and no step takes more; and batches
// that are copied ahead of their step are those of the step.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "train/counting_device.h"
#include "train/shared.h"
#include "train/trainer.h"

namespace tilefuse::train {
namespace {

void expect_as_said(const std::string &name, const Recipe &recipe) {
  if (is_shared_data_missing())
    GTEST_SKIP() << "no shared data here";
  runtime::Device *found = find_device(name);
  if (found == nullptr)
    GTEST_SKIP() << "no device " << name;
  CountingDevice device(*found);
  {
    runtime::KernelCache cache("", [](const std::string &) {});
    Trainer trainer(recipe, device, cache, {});
    const std::int64_t said = trainer.memory().all();
    trainer.run_step();
    if (trainer.has_test_data())
      trainer.evaluate();
    const std::int64_t used = device.live_bytes();
    trainer.run_step();
    EXPECT_EQ(device.live_bytes(), used);
    EXPECT_EQ(trainer.memory().all(), said);
    EXPECT_NEAR(static_cast<double>(said), static_cast<double>(used),
                0.01 * static_cast<double>(used));
    std::printf("%s, %s: %.3f MB said, %.3f used\n", recipe.precision.c_str(), name.c_str(),
                static_cast<double>(said) * 1e-6, static_cast<double>(used) * 1e-6);
  }
  EXPECT_EQ(device.live_bytes(), 0);
}

Recipe digits() {
  Recipe recipe = mnist_recipe();
  recipe.data.test.clear();
  return recipe;
}

TEST(TrainMemory, IsAsSaidOnCpu) { expect_as_said("cpu", digits()); }
TEST(TrainMemory, IsAsSaidThroughOpencl) { expect_as_said("opencl", digits()); }
TEST(TrainMemory, IsAsSaidWithTests) { expect_as_said("cpu", mnist_recipe()); }
TEST(TrainMemory, IsAsSaidInHalfPrecision) {
  Recipe recipe = digits();
  recipe.precision = "f16";
  recipe.optimizer.kind = "adamw";
  expect_as_said("cpu", recipe);
}

// Under a limit tensors are computed again by the same kernels, and no bit changes.
TEST(TrainMemory, ALimitIsKeptAndChangesNoBit) {
  if (is_shared_data_missing())
    GTEST_SKIP() << "no shared data here";
  runtime::Device *found = find_device("cpu");
  ASSERT_NE(found, nullptr);
  Recipe recipe = digits();
  recipe.steps.batch = 256;
  const auto run = [&](double gigabytes) {
    recipe.steps.memory_gb = gigabytes;
    runtime::KernelCache cache("", [](const std::string &) {});
    CountingDevice device(*found);
    Trainer trainer(recipe, device, cache, {});
    for (int step = 0; step < 3; ++step)
      trainer.run_step();
    return std::pair(trainer.snapshot().content.tensors, device.live_bytes());
  };
  const auto [any, all] = run(0);
  const double limit = 0.9 * static_cast<double>(all) * 1e-9;
  const auto [again, used] = run(limit);
  EXPECT_LE(static_cast<double>(used) * 1e-9, limit * 1.01);
  for (const auto &[name, tensor] : any)
    EXPECT_EQ(tensor.data, again.at(name).data) << name;
  EXPECT_THROW(run(0.01 * limit), Error);
}

// Of each tensor that waits it is said why: what is computed again comes first, and the rest could not be or need not.
TEST(TrainMemory, SaysOfEachTensorWhyItWaits) {
  if (is_shared_data_missing())
    GTEST_SKIP() << "no shared data here";
  runtime::Device *found = find_device("cpu");
  ASSERT_NE(found, nullptr);
  Recipe recipe = digits();
  recipe.steps.batch = 256;
  runtime::KernelCache cache("", [](const std::string &) {});
  const Trainer any(recipe, *found, cache, {});
  EXPECT_TRUE(any.waiting().empty());
  recipe.steps.memory_gb = 0.9e-9 * static_cast<double>(any.memory().all());
  const Trainer limited(recipe, *found, cache, {});
  const std::vector<model::WaitingTensor> waiting = limited.waiting();
  ASSERT_FALSE(waiting.empty());
  EXPECT_TRUE(waiting.front().is_repeated);
  EXPECT_FALSE(waiting.back().is_repeated);
  EXPECT_TRUE(std::is_partitioned(waiting.begin(), waiting.end(),
                                  [](const auto &each) { return each.is_repeated; }));
  for (const model::WaitingTensor &each : waiting) {
    EXPECT_FALSE(each.origin.empty());
    EXPECT_LE(each.freed, each.bytes);
    EXPECT_EQ(each.freed > 0, each.seconds > 0) << each.reason;
    EXPECT_EQ(each.freed > 0, each.is_repeated || each.reason == "enough is free") << each.reason;
  }
}

TEST(TrainFeed, BatchesAheadGiveTheSameBits) {
  if (is_shared_data_missing())
    GTEST_SKIP() << "no shared data here";
  runtime::Device *found = find_device("cpu");
  if (found == nullptr)
    GTEST_SKIP() << "no device cpu";
  Recipe recipe = digits();
  recipe.steps.lanes = 2;
  recipe.augment.mixup = 0.2;
  const auto run = [&](runtime::Device &device) {
    runtime::KernelCache cache("", [](const std::string &) {});
    Trainer trainer(recipe, device, cache, {});
    for (int step = 0; step < 3; ++step)
      trainer.run_step();
    const Checkpoint middle = trainer.snapshot();
    const StepReport fourth = trainer.run_step();
    trainer.restore(middle);
    EXPECT_EQ(trainer.run_step().loss, fourth.loss);
    return trainer.snapshot().content.tensors;
  };
  CountingDevice ahead(*found);
  const auto plain = run(*found), copied = run(ahead);
  for (const auto &[name, tensor] : plain)
    EXPECT_EQ(tensor.data, copied.at(name).data) << name;
}

} // namespace
} // namespace tilefuse::train
