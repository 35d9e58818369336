// SPDX-License-Identifier: Apache-2.0
// Two workers of one process, a thread each, end with the bits of one that has both lanes, however the
// exchange is cut into buckets and wherever in the backward pass these are sent.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "runtime/make_device.h"
#include "runtime/timeline.h"
#include "train/lanes/rendezvous.h"
#include "train/shared.h"
#include "train/trainer.h"

namespace tilefuse::train {
namespace {

constexpr int kSteps = 3;

// The star's calls, counted, as of a kind that is queued beside kernels.
class Beside final : public runtime::Workers {
public:
  explicit Beside(std::unique_ptr<runtime::Workers> on) : on_(std::move(on)) {}
  int rank() const override { return on_->rank(); }
  int count() const override { return on_->count(); }
  bool overlaps() const override { return true; }
  void swap_parts(const runtime::Binding &from, const runtime::Binding &to) override {
    ++calls;
    on_->swap_parts(from, to);
  }
  void gather_parts(const runtime::Binding &all) override { on_->gather_parts(all); }
  void sum(const runtime::Binding &all) override {
    ++calls;
    on_->sum(all);
  }

  int calls = 0;

private:
  std::unique_ptr<runtime::Workers> on_;
};

using Tensors = std::map<std::string, program::HostTensor>;

Recipe two_lanes() {
  Recipe recipe = mnist_recipe();
  recipe.data.test.clear();
  recipe.data.threads = 1;
  recipe.steps.batch = 4;
  recipe.steps.lanes = 2;
  return recipe;
}

std::unique_ptr<runtime::Device> one_thread() { return runtime::make_device("cpu", 1, {}); }

Tensors train(const Recipe &recipe, runtime::Device &device, Rendezvous *workers) {
  runtime::KernelCache cache("", [](const std::string &) {});
  Trainer trainer(recipe, device, cache, {.workers = workers});
  for (int step = 0; step < kSteps; ++step)
    EXPECT_GT(trainer.run_step().exchanged, workers ? 0 : -1);
  const Checkpoint whole = trainer.snapshot();
  trainer.run_step(); // is undone
  trainer.restore(whole);
  return trainer.snapshot().content.tensors;
}

// The state of rank 0 behind the steps, and how many exchanges it has begun.
std::pair<Tensors, int> train_by_two(const Recipe &recipe, bool is_beside) {
  const int port = runtime::Listener("127.0.0.1", 0).port();
  std::array<Tensors, 2> made;
  std::array<int, 2> calls{};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      const std::unique_ptr<runtime::Device> device = one_thread();
      Rendezvous met({.rank = rank, .count = 2, .address = "127.0.0.1", .port = port, .token = "t"},
                     *device, "cpu", 20);
      Beside *beside = nullptr;
      if (is_beside) {
        auto wrapped = std::make_unique<Beside>(std::move(met.workers));
        beside = wrapped.get();
        met.workers = std::move(wrapped);
      }
      made[static_cast<std::size_t>(rank)] = train(recipe, *device, &met);
      calls[static_cast<std::size_t>(rank)] = beside ? beside->calls : 0;
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const auto &[name, tensor] : made[0])
    EXPECT_EQ(tensor.data, made[1].at(name).data) << name;
  return {made[0], calls[0]};
}

void expect_equal(const Tensors &one, const Tensors &other) {
  ASSERT_EQ(one.size(), other.size());
  for (const auto &[name, tensor] : one)
    EXPECT_EQ(tensor.data, other.at(name).data) << name;
}

// The largest of a parameter's elements, over its largest, of all parameters. A bias in front of a
// normalisation has a gradient of rounding errors alone, and so has its momentum.
float difference(const Tensors &one, const Tensors &other) {
  float largest = 0;
  for (const auto &[name, tensor] : one) {
    if (name.starts_with("momentum/"))
      continue;
    const auto *a = reinterpret_cast<const float *>(tensor.data.data());
    const auto *b = reinterpret_cast<const float *>(other.at(name).data.data());
    const auto count = tensor.data.size() / sizeof(float);
    float most = 0, apart = 0;
    for (std::size_t i = 0; i < count; ++i) {
      most = std::max(most, std::abs(a[i]));
      apart = std::max(apart, std::abs(a[i] - b[i]));
    }
    largest = std::max(largest, most > 0 ? apart / most : 0);
  }
  return largest;
}

class Exchanges : public ::testing::Test {
protected:
  void SetUp() override {
    if (is_shared_data_missing())
      GTEST_SKIP() << "no shared data here";
    if (find_device("cpu") == nullptr)
      GTEST_SKIP() << "no device cpu";
  }
};

TEST_F(Exchanges, BucketsBesideTheBackwardPassGiveTheSameBits) {
  Recipe recipe = two_lanes();
  recipe.augment.mixup = 0.2;
  const Tensors alone = train(recipe, *one_thread(), nullptr);
  expect_equal(alone, train_by_two(recipe, false).first);
  int before = 0;
  for (const double megabytes : {1000.0, 0.2, 0.02}) {
    recipe.steps.bucket_mb = megabytes;
    const auto [tensors, calls] = train_by_two(recipe, true);
    expect_equal(alone, tensors);
    EXPECT_GT(calls, before) << "smaller buckets are more";
    before = calls;
  }
  EXPECT_GT(before, 10 * kSteps);
}

TEST_F(Exchanges, TheLibrarysOrderOfTwoIsTheSame) {
  Recipe recipe = two_lanes();
  const Tensors alone = train(recipe, *one_thread(), nullptr);
  recipe.steps.exchange = "library";
  recipe.steps.bucket_mb = 0.2;
  expect_equal(alone, train_by_two(recipe, true).first);
}

// Of one lane a worker sends numbers of bf16, of two their sum in f32.
TEST_F(Exchanges, PartsOfBf16GiveTheSameBits) {
  Recipe recipe = two_lanes();
  const Tensors wide = train(recipe, *one_thread(), nullptr);
  recipe.steps.parts = "bf16";
  const Tensors alone = train(recipe, *one_thread(), nullptr);
  expect_equal(alone, train_by_two(recipe, false).first);
  recipe.steps.bucket_mb = 0.2;
  expect_equal(alone, train_by_two(recipe, true).first);
  recipe.steps.lanes = 4;
  expect_equal(train(recipe, *one_thread(), nullptr), train_by_two(recipe, true).first);
  int other = 0;
  for (const auto &[name, tensor] : wide)
    other += tensor.data != alone.at(name).data ? 1 : 0;
  EXPECT_GT(other, 4) << "parameters that rounding changes";
}

// Statistics of all lanes: the bits of any number of workers, and what one lane of all pictures gives, but for
// the order of sums.
TEST_F(Exchanges, LanesNormalisedTogetherAreOneBatch) {
  Recipe recipe = two_lanes();
  const Tensors apart = train(recipe, *one_thread(), nullptr);
  recipe.parameters.batch_norm = "synced";
  const Tensors together = train(recipe, *one_thread(), nullptr);
  expect_equal(together, train_by_two(recipe, false).first);
  expect_equal(together, train_by_two(recipe, true).first);
  recipe.steps.lanes = 1;
  recipe.steps.batch *= 2;
  const Tensors whole = train(recipe, *one_thread(), nullptr);
  EXPECT_LT(difference(together, whole), 1e-4);
  EXPECT_GT(difference(apart, whole), 1e-2);
  recipe.steps.lanes = 2;
  recipe.augment.cutmix = 1;
  expect_equal(train(recipe, *one_thread(), nullptr), train_by_two(recipe, true).first);
}

// Each worker keeps and updates its rows alone; what is kept of the state is whole, and any number of workers
// goes on from it.
TEST_F(Exchanges, ShardsOfTheOptimiserGiveTheSameBits) {
  for (const char *kind : {"sgd", "adamw"}) {
    Recipe recipe = two_lanes();
    recipe.optimizer.kind = kind;
    recipe.optimizer.decay = 1e-2;
    recipe.optimizer.clip = 1;
    recipe.keep.ema = 0.9;
    const Tensors alone = train(recipe, *one_thread(), nullptr);
    recipe.optimizer.sharded = true;
    expect_equal(alone, train(recipe, *one_thread(), nullptr));
    expect_equal(alone, train_by_two(recipe, false).first);
    recipe.steps.bucket_mb = 0.2;
    expect_equal(alone, train_by_two(recipe, true).first);
  }
}

} // namespace
} // namespace tilefuse::train
