// SPDX-License-Identifier: Apache-2.0
// What a run promises beside its losses: the same bits again, the same bits after it was taken up,
// frozen parameters that stay, mistakes said in a sentence.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/durable_file.h"
#include "base/index.h"
#include "data/npy.h"
#include "onnx/import.h"
#include "program/host_tensor.h"
#include "train/files.h"
#include "train/run.h"
#include "train/setup.h"
#include "train/shared.h"

namespace tilefuse::train {
namespace {

class TrainerTest : public ::testing::Test {
protected:
  void SetUp() override {
    if (is_shared_data_missing())
      GTEST_SKIP() << "no shared data here";
  }

  Checkpoint trained(const Recipe &recipe, std::int64_t steps) {
    Trainer trainer(recipe, device(), cache_, {});
    for (std::int64_t s = 0; s < steps; ++s)
      trainer.run_step();
    return trainer.snapshot();
  }
  runtime::Device &device() { return *find_device("cpu"); }

  RunOptions options(const std::string &folder, bool resumes) const {
    return {.folder = folder, .resumes = resumes};
  }

  runtime::KernelCache cache_{"", [](const std::string &) {}};
};

void expect_equal(const Checkpoint &a, const Checkpoint &b) {
  ASSERT_EQ(a.content.tensors.size(), b.content.tensors.size());
  for (const auto &[name, tensor] : a.content.tensors)
    EXPECT_EQ(tensor.data, b.content.tensors.at(name).data) << name;
}

TEST_F(TrainerTest, GivesTheSameBitsForAnyNumberOfReadingThreads) {
  Recipe recipe = mnist_recipe();
  recipe.augment.pad_crop = 2;
  recipe.augment.flip = true;
  recipe.augment.mixup = 0.2;
  recipe.augment.cutmix = 1;
  recipe.data.threads = 1;
  const Checkpoint one = trained(recipe, 20);
  recipe.data.threads = 4;
  expect_equal(one, trained(recipe, 20));
}

TEST_F(TrainerTest, GoesOnToTheSameBits) {
  const Recipe recipe = mnist_recipe();
  const Checkpoint whole = trained(recipe, 14);
  const Checkpoint half = trained(recipe, 7);
  Trainer trainer(recipe, device(), cache_, {});
  trainer.restore(half);
  while (trainer.step() < 14)
    trainer.run_step();
  expect_equal(whole, trainer.snapshot());
}

std::vector<float> floats(const Checkpoint &of, const std::string &name) {
  const program::HostTensor &tensor = of.content.tensors.at(name);
  std::vector<float> values(tensor.data.size() / sizeof(float));
  std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  return values;
}

// a + (1 - d)(p - a) with d = min(decay, (1 + t)/(10 + t)) at step t. Parameters have the bits that they have
// without it; it is what is exported, and goes on from a checkpoint.
TEST_F(TrainerTest, AveragesParametersOverSteps) {
  Recipe recipe = mnist_recipe();
  recipe.data.test.clear();
  const Checkpoint plain = trained(recipe, 4);
  recipe.keep.ema = 0.3;
  Trainer trainer(recipe, device(), cache_, {});
  std::vector<float> average = floats(trainer.snapshot(), "fc2.weight");
  for (int t = 1; t <= 4; ++t) {
    trainer.run_step();
    const std::vector<float> now = floats(trainer.snapshot(), "fc2.weight");
    const double decay = std::min(0.3, (1.0 + t) / (10.0 + t));
    for (std::size_t i = 0; i < now.size(); ++i)
      average[i] += static_cast<float>((1 - decay) * (now[i] - average[i]));
  }
  const Checkpoint made = trainer.snapshot();
  const std::vector<float> kept = floats(made, "average/fc2.weight");
  for (std::size_t i = 0; i < kept.size(); ++i)
    ASSERT_NEAR(kept[i], average[i], 1e-6);
  for (const auto &[name, tensor] : plain.content.tensors)
    EXPECT_EQ(tensor.data, made.content.tensors.at(name).data) << name;

  const Folder folder;
  trainer.export_model(folder / "average.onnx");
  EXPECT_EQ(onnx_import::Model(folder / "average.onnx").parameter("fc2.weight").data,
            made.content.tensors.at("average/fc2.weight").data);
  Trainer other(recipe, device(), cache_, {});
  other.restore(made);
  trainer.run_step();
  other.run_step();
  expect_equal(trainer.snapshot(), other.snapshot());
}

TEST_F(TrainerTest, ResumesARunInItsFolder) {
  Recipe recipe = mnist_recipe();
  recipe.data.test.clear();
  recipe.steps.limit = 12;
  const Folder whole, parts;
  run(recipe, device(), cache_, options(whole.path(), false));
  recipe.steps.limit = 5;
  run(recipe, device(), cache_, options(parts.path(), false));
  EXPECT_NE(error_of([&] {
              run(recipe, device(), cache_, options(parts.path(), false));
            }).find("--resume goes on with it"),
            std::string::npos);
  recipe.steps.limit = 12;
  EXPECT_TRUE(run(recipe, device(), cache_, options(parts.path(), true)).is_complete);
  expect_equal(*newest_checkpoint(whole.path(), nullptr),
               *newest_checkpoint(parts.path(), nullptr));
  recipe.optimizer.rate = 0.5;
  EXPECT_NE(error_of([&] {
              run(recipe, device(), cache_, options(parts.path(), true));
            }).find("optimizer.rate: 0.5, was 0.01"),
            std::string::npos);
}

double norm(const std::vector<float> &values) {
  double sum = 0;
  for (const float value : values)
    sum += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(sum);
}

// The first step of LARS and LAMB from its formula, of the gradient that sgd keeps as its momentum.
TEST_F(TrainerTest, StepsByEachParametersNorm) {
  constexpr double decay = 0.1;
  Recipe recipe = mnist_recipe();
  recipe.data.test.clear();
  const Checkpoint before = trained(recipe, 0), gradients = trained(recipe, 1);
  recipe.optimizer.decay = decay;
  recipe.optimizer.no_decay = {"*.bias"};
  for (const char *kind : {"lars", "lamb"}) {
    recipe.optimizer.kind = kind;
    const Checkpoint after = trained(recipe, 1);
    for (const std::string name : {"conv1.weight", "fc1.weight", "fc2.weight", "fc2.bias"}) {
      const bool is_lars = recipe.optimizer.kind == "lars", adapts = name.ends_with("weight");
      const std::vector<float> w = floats(before, name), g = floats(gradients, "momentum/" + name);
      std::vector<float> change = g; // LAMB's moments, corrected, are g and its square
      for (std::size_t i = 0; i < g.size(); ++i) {
        change[i] = is_lars ? g[i] : g[i] / (std::abs(g[i]) + 1e-8F);
        change[i] += adapts ? static_cast<float>(decay) * w[i] : 0;
      }
      const double trust = !adapts   ? 1
                           : is_lars ? 1e-3 * norm(w) / (norm(g) + decay * norm(w))
                                     : norm(w) / norm(change);
      const std::vector<float> now = floats(after, name);
      for (std::size_t i = 0; i < now.size(); ++i)
        ASSERT_NEAR(now[i] - w[i], -0.01 * trust * change[i],
                    1e-7 + 1e-4 * std::abs(0.01 * trust * change[i]))
            << kind << " " << name << " " << i;
    }
  }
}

// The first step's pictures, mixed here, with their own labels and with those of the others.
struct Mixed {
  program::HostTensor pictures, own, others;
  double taken = 0; // the mean of what pictures take of others
};

Mixed first_mixed(const Recipe &recipe) {
  const Setup setup(recipe);
  data::Loader loader(*setup.training, loader_options(recipe, {0, 1}, 1, 0, 0));
  const data::Batch &batch = loader.next();
  const auto [height, width, channels] = setup.task.picture;
  const std::int64_t count = recipe.steps.batch;
  Mixed made{program::make_host_tensor("pictures", DType::U8, {count, height, width, channels}),
             program::make_host_tensor("labels", DType::I32, {count}),
             program::make_host_tensor("labels", DType::I32, {count})};
  for (std::int64_t n = 0; n < count; ++n) {
    program::set(made.own, n, batch.labels[n]);
    program::set(made.others, n, batch.labels[count - 1 - n]);
    for (std::int64_t i = 0; i < height * width; ++i) {
      const double share = batch.drawn[i / width] * batch.drawn[height + i % width];
      made.taken += share / static_cast<double>(count * height * width);
      const auto pixel = [&](std::int64_t of) { return batch.pixels[of * height * width + i]; };
      program::set(made.pictures, n * height * width + i,
                   std::round((1 - share) * pixel(n) + share * pixel(count - 1 - n)));
    }
  }
  return made;
}

// A loss of both labels, each by its share of the picture. Frozen statistics judge as an evaluation does.
TEST_F(TrainerTest, MixesPicturesAndLabels) {
  for (const auto &[mixup, cutmix] : {std::pair{1.0, 0.0}, std::pair{0.0, 1.0}}) {
    Recipe recipe = mnist_recipe();
    recipe.data.test.clear();
    recipe.parameters.batch_norm = "frozen";
    recipe.loss.smoothing = 0.1;
    recipe.augment.mixup = mixup;
    recipe.augment.cutmix = cutmix;
    const double loss = Trainer(recipe, device(), cache_, {}).run_step().loss;
    const Mixed mixed = first_mixed(recipe);
    EXPECT_TRUE(mixed.taken > 0.05 && mixed.taken < 0.95) << mixed.taken;

    const Folder folder;
    const auto write = [&](const char *name, const program::HostTensor &tensor) {
      write_durably(folder / name, data::to_npy(tensor));
    };
    write("pictures.npy", mixed.pictures);
    write("own.npy", mixed.own);
    write("others.npy", mixed.others);
    recipe.augment = {};
    const auto judged = [&](const char *labels) {
      recipe.data.test = "npy:" + (folder / "pictures.npy") + "," + (folder / labels);
      return Trainer(recipe, device(), cache_, {}).evaluate().loss;
    };
    const double want = (1 - mixed.taken) * judged("own.npy") + mixed.taken * judged("others.npy");
    EXPECT_NEAR(loss, want, mixup > 0 ? 0.01 : 1e-4); // there, bytes were rounded
    std::printf("mixup %g, cutmix %g: %.3f taken, loss %.6f, want %.6f\n", mixup, cutmix,
                mixed.taken, loss, want);
  }
}

// One's own scores teach nothing: the loss of labels is left, and its gradient, each by its share. Another network's do.
TEST_F(TrainerTest, LearnsFromATeacher) {
  Recipe recipe = mnist_recipe();
  recipe.data.test.clear();
  recipe.parameters.batch_norm = "frozen";
  recipe.augment.mixup = 0.2;
  const StepReport alone = Trainer(recipe, device(), cache_, {}).run_step();
  recipe.loss.teacher = recipe.model;
  recipe.loss.teacher_share = 0.25;
  recipe.loss.temperature = 3;
  const StepReport taught = Trainer(recipe, device(), cache_, {}).run_step();
  EXPECT_NEAR(taught.loss, 0.75 * alone.loss, 1e-5);
  EXPECT_NEAR(taught.gradient_norm, 0.75 * alone.gradient_norm, 1e-4 * alone.gradient_norm);

  recipe.augment = {};
  recipe.parameters.init = "kaiming";
  recipe.parameters.batch_norm = "train";
  recipe.loss.teacher_share = 1;
  Trainer learner(recipe, device(), cache_, {});
  EXPECT_NE(learner.describe().find("teacher  model, 1 of the loss at temperature 3\n"),
            std::string::npos);
  const double before = learner.run_step().loss;
  double last = 0;
  for (int step = 0; step < 60; ++step)
    last = learner.run_step().loss;
  EXPECT_LT(last, 0.5 * before);
  std::printf("taught alone: loss %.3f, %.3f behind 60 steps\n", before, last);

  recipe.parameters.init.clear();
  recipe.loss.teacher = shared_model("cifar_resnet20");
  EXPECT_NE(error_of([&] {
              Trainer(recipe, device(), cache_, {});
            }).find("input 'input' of the model takes"),
            std::string::npos);
}

// A branch ends in a normalisation, which its factor may multiply as well: of each picture by itself such a network,
// judged, has the picture's loss.
TEST_F(TrainerTest, LeavesBranchesOutOfPictures) {
  Recipe recipe = mnist_recipe();
  recipe.model = shared_model("cifar_resnet20");
  recipe.data.train = cifar("train_10000");
  recipe.data.test.clear();
  recipe.data.mean = {0.4914, 0.4822, 0.4465};
  recipe.data.std = {0.2023, 0.1994, 0.2010};
  recipe.steps.batch = 2;
  recipe.parameters.batch_norm = "frozen";
  recipe.parameters.drop_path = 0.8;
  const double loss = Trainer(recipe, device(), cache_, {}).run_step().loss;
  constexpr std::int64_t kBlocks = 9;
  const train::Setup setup(recipe);
  data::Loader loader(*setup.training, loader_options(recipe, {0, 1}, 1, 0, kBlocks));
  const data::Batch batch = loader.next();
  ASSERT_EQ(batch.drawn.size(), 2 * kBlocks);
  EXPECT_NE(std::count(batch.drawn.begin(), batch.drawn.end(), 0.0F), 0);
  recipe.parameters.drop_path = 0;
  double want = 0;
  for (std::int64_t n = 0; n < 2; ++n) {
    const Folder folder;
    program::HostTensor picture = program::make_host_tensor("picture", DType::U8, {1, 32, 32, 3});
    std::memcpy(picture.data.data(), &batch.pixels[at(n * 3072)], 3072);
    program::HostTensor label = program::make_host_tensor("label", DType::I32, {1});
    program::set(label, 0, batch.labels[at(n)]);
    write_durably(folder / "picture.npy", data::to_npy(picture));
    write_durably(folder / "label.npy", data::to_npy(label));
    recipe.data.test = "npy:" + (folder / "picture.npy") + "," + (folder / "label.npy");
    Trainer trainer(recipe, device(), cache_, {});
    Checkpoint state = trainer.snapshot();
    for (std::int64_t block = 0; block < kBlocks; ++block)
      for (const char *what : {"weight", "bias"}) {
        program::HostTensor &tensor = state.content.tensors.at(
            fmt::format("layer{}.{}.bn2.{}", block / 3 + 1, block % 3, what));
        for (std::int64_t c = 0; c < program::elems(tensor.shape); ++c)
          program::set(tensor, c, program::get(tensor, c) * batch.drawn[at(n * kBlocks + block)]);
      }
    trainer.restore(state);
    want += trainer.evaluate().loss / 2;
  }
  EXPECT_NEAR(loss, want, 1e-5 * want);
  recipe.model = mnist_recipe().model;
  recipe.data = mnist_recipe().data;
  recipe.parameters.drop_path = 0.5;
  EXPECT_NE(error_of([&] {
              Trainer(recipe, device(), cache_, {});
            }).find("the model has no sum of one with what it skips"),
            std::string::npos);
}

TEST_F(TrainerTest, LeavesFrozenParametersAlone) {
  Recipe recipe = mnist_recipe();
  recipe.parameters.last = 1;
  const onnx_import::Model model(recipe.model);
  const Checkpoint after = trained(recipe, 5);
  EXPECT_FALSE(after.content.tensors.contains("conv1.weight"));
  ASSERT_TRUE(after.content.tensors.contains("fc2.weight"));
  EXPECT_NE(after.content.tensors.at("fc2.weight").data, model.parameter("fc2.weight").data);

  const Folder folder;
  recipe.data.test.clear();
  recipe.steps.limit = 3;
  run(recipe, device(), cache_, options(folder.path(), false));
  const onnx_import::Model written(folder / "last.onnx");
  for (const onnx_import::Parameter &each : model.parameters())
    EXPECT_EQ(model.parameter(each.name).data == written.parameter(each.name).data, each.layer < 4)
        << each.name;
}

TEST_F(TrainerTest, ExportsWhatItRead) {
  const Recipe recipe = mnist_recipe();
  const Folder folder;
  Trainer trainer(recipe, device(), cache_, {});
  trainer.export_model(folder / "same.onnx");
  const onnx_import::Model before(recipe.model), after(folder / "same.onnx");
  for (const onnx_import::Parameter &each : before.parameters())
    EXPECT_EQ(before.parameter(each.name).data, after.parameter(each.name).data) << each.name;
}

TEST_F(TrainerTest, LearnsWithAHeadOfOtherClasses) {
  Recipe recipe = mnist_recipe();
  recipe.parameters.classes = 12; // two that no picture has
  Trainer trainer(recipe, device(), cache_, {});
  double first = 0, last = 0;
  for (int s = 0; s < 60; ++s) {
    const double loss = trainer.run_step().loss;
    if (s < 10)
      first += loss;
    if (s >= 50)
      last += loss;
  }
  EXPECT_LT(last, 0.5 * first);
}

TEST_F(TrainerTest, SaysWhatDoesNotFit) {
  Recipe recipe = mnist_recipe();
  recipe.parameters.classes = 5;
  EXPECT_NE(error_of([&] { trained(recipe, 3); }).find("tells 5 classes apart"), std::string::npos);

  recipe = mnist_recipe();
  recipe.parameters.freeze = {"conv9.*"};
  EXPECT_NE(
      error_of([&] { trained(recipe, 1); }).find("no parameter of the model matches 'conv9.*'"),
      std::string::npos);
  recipe.parameters.freeze = {"*"};
  EXPECT_NE(error_of([&] { trained(recipe, 1); }).find("freezes every parameter"),
            std::string::npos);

  recipe = mnist_recipe();
  recipe.data.train = cifar("test_2000");
  EXPECT_NE(error_of([&] { trained(recipe, 1); }).find("batches are [16, 3, 32, 32]"),
            std::string::npos);

  recipe = mnist_recipe();
  recipe.model = shared_model("cifar_resnet20_qlinearconv_int8");
  recipe.data.train = cifar("test_2000");
  const std::string error = error_of([&] { trained(recipe, 1); });
  EXPECT_NE(error.find("quantised; such models are not trained"), std::string::npos) << error;
}

TEST_F(TrainerTest, NamesTheGradientThatIsNotFinite) {
  Recipe recipe = mnist_recipe();
  recipe.optimizer.rate = 1e30;
  const std::string error = error_of([&] { trained(recipe, 60); });
  EXPECT_NE(error.find("gradients of the last 20 steps are not finite"), std::string::npos)
      << error;
}

TEST_F(TrainerTest, RefusesACheckpointOfAnotherOptimiser) {
  Recipe recipe = mnist_recipe();
  const Checkpoint momentum = trained(recipe, 1);
  recipe.optimizer.kind = "adamw";
  Trainer trainer(recipe, device(), cache_, {});
  EXPECT_NE(error_of([&] { trainer.restore(momentum); }).find("another model or optimiser"),
            std::string::npos);
}

} // namespace
} // namespace tilefuse::train
