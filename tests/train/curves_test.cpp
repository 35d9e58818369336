// SPDX-License-Identifier: Apache-2.0
// Losses step by step against PyTorch's, in the same order of pictures. Two correct programs drift
// apart, since steps amplify what rounding differs by; so the bound is what PyTorch's own f32 differs
// from its f64 by: four times that, and 1e-6.
//
// TILEFUSE_WRITE_ORDER=FILE writes the order that make_curves.py takes: the first epochs of 10000.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "data/order.h"
#include "paths.h"
#include "train/curve.h"
#include "train/shared.h"
#include "train/trainer.h"

namespace tilefuse::train {
namespace {

struct Case {
  const char *curve; // a file of tests/data
  const char *model; // of the shared models
  std::string data;
};

const Case kMnist{"train_mnist.txt", "mnist_pytorch_bn", mnist()};
const Case kMnistAdam{"train_mnist_adamw.txt", "mnist_pytorch_bn", mnist()};
const Case kCifar{"train_cifar.txt", "cifar_resnet20", cifar("train_10000")};

Recipe recipe_of(const Case &from, const Curve &curve) {
  Recipe recipe = curve.recipe;
  recipe.model = shared_model(from.model);
  recipe.data.train = from.data;
  recipe.steps.epochs = 1000;
  return recipe;
}

std::vector<double> losses(const Recipe &recipe, runtime::Device &device, std::int64_t steps) {
  runtime::KernelCache cache("", [](const std::string &) {});
  Trainer trainer(recipe, device, cache, {});
  std::vector<double> found;
  for (std::int64_t s = 0; s < steps; ++s)
    found.push_back(trainer.run_step().loss);
  return found;
}

void compare(const Case &from, const std::string &device, std::int64_t steps) {
  if (is_shared_data_missing())
    GTEST_SKIP() << "no shared data here";
  const Curve curve = read_curve(std::string(TILEFUSE_SOURCE_DIR "/tests/data/") + from.curve);
  ASSERT_FALSE(curve.wide.empty());
  runtime::Device *on = find_device(device);
  if (on == nullptr)
    GTEST_SKIP() << "no device " << device;
  steps = std::min(steps, curve.steps);
  const std::vector<double> found = losses(recipe_of(from, curve), *on, steps);
  EXPECT_NEAR(found[0], curve.wide[0], 1e-5 * curve.wide[0]);
  double own = 0; // what f32 differed by so far
  double worst = 0;
  for (std::size_t s = 0; s < found.size(); ++s) {
    own = std::max(own, std::abs(curve.narrow[s] - curve.wide[s]));
    const double bound = 4 * own + 1e-6;
    worst = std::max(worst, std::abs(found[s] - curve.wide[s]) / bound);
    EXPECT_LE(std::abs(found[s] - curve.wide[s]), bound) << "step " << s;
  }
  std::printf("%s on %s: %zu steps, at worst %.2f of the bound\n", from.curve, device.c_str(),
              found.size(), worst);
}

// The mean loss of the last steps in a narrow type, beside that in f32.
void compare_narrow(const Case &from, const std::string &precision) {
  if (is_shared_data_missing())
    GTEST_SKIP() << "no shared data here";
  const Curve curve = read_curve(std::string(TILEFUSE_SOURCE_DIR "/tests/data/") + from.curve);
  Recipe recipe = recipe_of(from, curve);
  recipe.precision = precision;
  const std::vector<double> found = losses(recipe, *find_device("cpu"), curve.steps);
  double sum = 0, want = 0;
  for (std::size_t s = found.size() - 20; s < found.size(); ++s) {
    sum += found[s];
    want += curve.wide[s];
  }
  EXPECT_NEAR(sum, want, 0.01 * want);
}

TEST(TrainCurves, MnistOnCpu) { compare(kMnist, "cpu", 100); }
TEST(TrainCurves, MnistThroughOpencl) { compare(kMnist, "opencl", 100); }
TEST(TrainCurves, MnistByAdamW) { compare(kMnistAdam, "cpu", 100); }
TEST(TrainCurves, CifarOnCpu) { compare(kCifar, "cpu", 100); }
TEST(TrainCurves, MnistInF16) { compare_narrow(kMnist, "f16"); }
TEST(TrainCurves, MnistInBf16) { compare_narrow(kMnist, "bf16"); }

TEST(TrainCurves, WritesOrder) {
  const char *file = std::getenv("TILEFUSE_WRITE_ORDER");
  if (file == nullptr)
    GTEST_SKIP() << "TILEFUSE_WRITE_ORDER names no file";
  std::ofstream out(file);
  for (std::int64_t epoch = 0; epoch < 2; ++epoch)
    for (const std::int64_t number : data::shuffled(10000, Recipe().seed, epoch))
      out << number << "\n";
}

} // namespace
} // namespace tilefuse::train
