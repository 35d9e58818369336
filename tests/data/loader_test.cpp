// SPDX-License-Identifier: Apache-2.0
#include "data/loader.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <set>
#include <thread>

#include "data/order.h"
#include "data/written.h"

namespace tilefuse::data {
namespace {

// Picture n is n % 251 everywhere and has label n. Some are damaged; reading takes uneven time.
class Numbers : public Source {
public:
  explicit Numbers(std::int64_t count, std::set<std::int64_t> damaged = {}, bool is_uneven = false)
      : count_(count), damaged_(std::move(damaged)), is_uneven_(is_uneven) {}

  std::int64_t count() const override { return count_; }
  PictureForm form() const override { return {.height = 4, .width = 5, .channels = 2}; }
  int classes() const override { return static_cast<int>(count_); }
  std::int32_t read(std::int64_t number, std::span<std::uint8_t> pixels) const override {
    if (is_uneven_)
      std::this_thread::sleep_for(std::chrono::microseconds(number * 7919 % 97));
    if (damaged_.contains(number))
      throw Error(ErrorCode::Io, "picture " + std::to_string(number) + ": damaged", "here");
    for (std::uint8_t &pixel : pixels)
      pixel = static_cast<std::uint8_t>(number % 251);
    return static_cast<std::int32_t>(number);
  }

private:
  std::int64_t count_;
  std::set<std::int64_t> damaged_;
  bool is_uneven_;
};

struct Drawn {
  std::int64_t step, epoch, count;
  std::vector<std::uint8_t> pixels;
  std::vector<std::int32_t> labels;
  std::vector<float> drawn;
  bool operator==(const Drawn &) const = default;
};

std::vector<Drawn> draw(const Source &source, const LoaderOptions &options) {
  Loader loader(source, options);
  std::vector<Drawn> all;
  while (loader.more()) {
    const Batch &batch = loader.next();
    all.push_back({batch.step, batch.epoch, batch.count, batch.pixels, batch.labels, batch.drawn});
  }
  return all;
}

constexpr LoaderOptions kTraining = {.batch = 30,
                                     .is_training = true,
                                     .seed = 7,
                                     .augment = {.pad_crop = 1, .flip = true},
                                     .paths = {.rate = 0.5, .branches = 3},
                                     .threads = 2,
                                     .steps = 20};

TEST(Loader, TrainingGoesThroughEpochsInTheirOrder) {
  const std::vector<Drawn> all = draw(Numbers(100), kTraining);
  ASSERT_EQ(all.size(), 20U);
  for (std::size_t step = 0; step < all.size(); ++step) {
    EXPECT_EQ(all[step].step, static_cast<std::int64_t>(step));
    EXPECT_EQ(all[step].epoch, static_cast<std::int64_t>(step / 3)); // the last 10 are dropped
    EXPECT_EQ(all[step].count, 30);
    const std::vector<std::int64_t> order = shuffled(100, 7, all[step].epoch);
    for (std::size_t i = 0; i < 30; ++i)
      EXPECT_EQ(all[step].labels[i], order[step % 3 * 30 + i]);
  }
}

TEST(Loader, PicturesAreAugmentedByTheirNumber) {
  const Numbers source(100);
  for (const Drawn &batch : draw(source, kTraining))
    for (std::size_t i = 0; i < 30; ++i) {
      std::vector<std::uint8_t> pixels = read(source, batch.labels[i]);
      augment(kTraining.augment, source.form(), 7, batch.epoch, batch.labels[i], pixels);
      EXPECT_TRUE(std::equal(pixels.begin(), pixels.end(),
                             batch.pixels.begin() + static_cast<std::ptrdiff_t>(i * 40)));
      std::vector<float> factors(3);
      draw_paths(kTraining.paths, 7, batch.epoch, batch.labels[i], factors);
      EXPECT_TRUE(std::equal(factors.begin(), factors.end(),
                             batch.drawn.begin() + static_cast<std::ptrdiff_t>(i * 3)));
    }
}

TEST(Loader, EvaluationGoesFromFirstToLast) {
  LoaderOptions options = kTraining;
  options.is_training = false;
  options.steps = 0;
  const std::vector<Drawn> all = draw(Numbers(100), options);
  ASSERT_EQ(all.size(), 4U);
  for (std::int64_t n = 0; n < 120; ++n) {
    const Drawn &batch = all[static_cast<std::size_t>(n / 30)];
    const auto i = static_cast<std::size_t>(n % 30);
    EXPECT_EQ(batch.labels[i], n < 100 ? n : -1);
    for (std::size_t k = 0; k < 40; ++k)
      EXPECT_EQ(batch.pixels[i * 40 + k], n < 100 ? n : 0);
  }
  EXPECT_EQ(all[2].count, 30);
  EXPECT_EQ(all[3].count, 10);
  options.batch = 500;
  EXPECT_EQ(draw(Numbers(100), options).at(0).count, 100);
}

// Whoever has which share of a round, the same batches come.
TEST(Loader, SharesGiveTheBatchesOfAWholeRound) {
  for (const bool is_training : {true, false}) {
    LoaderOptions options = kTraining;
    options.batch = 8;
    options.is_training = is_training;
    options.steps = is_training ? 7 : 0; // 3 an epoch
    options.share = {.round = 4, .first = 0, .count = 4};
    const std::vector<Drawn> whole = draw(Numbers(100), options);
    ASSERT_EQ(whole.size(), is_training ? 28U : 13U);
    for (std::int64_t first = 0; first < 4; first += 2) {
      options.share = {.round = 4, .first = first, .count = 2};
      const std::vector<Drawn> part = draw(Numbers(100), options);
      for (std::size_t n = 0; n < part.size(); ++n)
        EXPECT_EQ(part[n], whole[n / 2 * 4 + static_cast<std::size_t>(first) + n % 2]);
      EXPECT_EQ(part.size(), is_training ? 14U : first == 0 ? 7U : 6U);
    }
    if (is_training) {
      EXPECT_EQ(whole[11].epoch, 0);
      EXPECT_EQ(whole[12].epoch, 1);
      EXPECT_EQ(whole[12].step, 3);
    }
  }
}

TEST(Loader, AnyNumberOfThreadsGivesEqualBatches) {
  const Numbers source(1000, {3, 77, 78, 500}, true);
  LoaderOptions options = kTraining;
  options.skip_damaged = true;
  options.steps = 70;
  options.threads = 1;
  const std::vector<Drawn> one = draw(source, options);
  for (int threads : {2, 8}) {
    options.threads = threads;
    EXPECT_EQ(draw(source, options), one) << threads;
  }
}

TEST(Loader, ARunThatGoesOnGetsTheSameBatches) {
  const std::vector<Drawn> whole = draw(Numbers(100), kTraining);
  for (std::int64_t first : {0, 1, 2, 3, 11, 19, 20}) {
    LoaderOptions options = kTraining;
    options.first_step = first;
    EXPECT_EQ(draw(Numbers(100), options), std::vector<Drawn>(whole.begin() + first, whole.end()));
  }
}

TEST(Loader, ADamagedPictureEndsTheRunAtItsBatch) {
  const std::vector<std::int64_t> order = shuffled(100, 7, 0);
  for (int threads : {1, 8}) {
    LoaderOptions options = kTraining;
    options.threads = threads;
    const Numbers source(100, {order[42], order[58], order[61]},
                         true); // the second batch, the third
    Loader loader(source, options);
    EXPECT_EQ(loader.next().step, 0);
    const std::string wanted =
        "input/output error: picture " + std::to_string(order[42]) + ": damaged";
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(refusal([&] { loader.next(); }), wanted);
  }
}

TEST(Loader, ADamagedPictureIsReplacedByTheNextWholeOne) {
  LoaderOptions options = {.batch = 10, .threads = 2, .skip_damaged = true};
  const Numbers source(20, {4, 5, 19});
  Loader loader(source, options);
  EXPECT_EQ(loader.next().labels, (std::vector<std::int32_t>{0, 1, 2, 3, 6, 6, 6, 7, 8, 9}));
  EXPECT_EQ(loader.damaged(), 2);
  EXPECT_EQ(loader.next().labels[9], 0);
  EXPECT_EQ(loader.damaged(), 3);
  const Numbers none(2, {0, 1});
  options.batch = 1;
  Loader damaged(none, options);
  EXPECT_EQ(refusal([&] { damaged.next(); }),
            "input/output error: none of 2 pictures from number 0 on is "
            "whole; the last: picture 1: damaged");
}

TEST(Loader, AnyErrorOfAThreadReachesTheCaller) {
  class Failing : public Numbers {
  public:
    Failing() : Numbers(50) {}
    std::int32_t read(std::int64_t, std::span<std::uint8_t>) const override {
      throw std::bad_alloc();
    }
  };
  const Failing source;
  Loader loader(source, {.batch = 10, .threads = 2, .skip_damaged = true});
  EXPECT_THROW(loader.next(), std::bad_alloc);
}

TEST(Loader, EndsWhileThreadsAreAtWork) {
  const Numbers source(1000, {}, true);
  for (int i = 0; i < 20; ++i) {
    Loader loader(source, kTraining);
    for (int k = 0; k < i % 4; ++k)
      loader.next();
  }
}

TEST(Loader, OptionsThatDoNotFit) {
  const auto refused = [](LoaderOptions options, std::int64_t count = 100) {
    return refusal([&] { Loader(Numbers(count), options); });
  };
  EXPECT_EQ(refused({.batch = 101, .is_training = true}),
            "shape error: the data has 100 pictures, fewer than a batch of 101");
  EXPECT_NE(refused({.batch = 0}), "");
  EXPECT_NE(refused({.batch = 1}, 0), "");
  EXPECT_NE(refused({.batch = std::int64_t{1} << 50}), "");
  EXPECT_NE(refused({.batch = std::int64_t{1} << 62}), "");
  EXPECT_NE(refused({.threads = -1}), "");
  EXPECT_NE(refused({.threads = 100000}), "");
  EXPECT_NE(refused({.first_step = 11, .steps = 10}), "");
  EXPECT_NE(refused({.first_step = -1, .steps = 10}), "");
  EXPECT_NE(refused({.augment = {.pad_crop = 5}}), "");
}

} // namespace
} // namespace tilefuse::data
