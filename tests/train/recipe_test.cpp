// SPDX-License-Identifier: Apache-2.0
// Recipes: text and back, what users get wrong, --set.
#include <gtest/gtest.h>

#include "paths.h"
#include "train/files.h"
#include "train/recipe.h"
#include "train/recipe_keys.h"

namespace tilefuse::train {
namespace {

constexpr const char *kExample = R"(
model = "model.onnx"
precision = "f16"
[data]
train = "cifar:train_10000.bin.gz"
test = "../shared/test.npy"
mean = [0.485, 0.456, 0.406]
std = [0.229, 0.224, 0.225]
[augment]
pad_crop = 4
flip = true
[steps]
batch = 128
epochs = 20
[optimizer]
rate = 0.02
decay = 1e-4
no_decay = ["*bias", "bn*"]
[rate]
kind = "cosine"
warmup_epochs = 1
[loss]
smoothing = 0.1
)";

std::string mistake(const std::string &text) {
  return error_of([&] { parse_recipe(text, "/r/recipe.toml"); });
}

std::string set_mistake(const std::string &assignment) {
  Recipe recipe;
  return error_of([&] { set(recipe, assignment); });
}

TEST(Recipe, reads_what_is_said_and_keeps_the_rest) {
  const Recipe recipe = parse_recipe(kExample, "/runs/a/recipe.toml");
  EXPECT_EQ(recipe.model, "/runs/a/model.onnx");
  EXPECT_EQ(recipe.data.train, "cifar:/runs/a/train_10000.bin.gz");
  EXPECT_EQ(recipe.data.test, "/runs/shared/test.npy");
  EXPECT_EQ(recipe.data.mean, (std::vector<double>{0.485, 0.456, 0.406}));
  EXPECT_EQ(recipe.augment.pad_crop, 4);
  EXPECT_TRUE(recipe.augment.flip);
  EXPECT_EQ(recipe.steps.batch, 128);
  EXPECT_EQ(recipe.optimizer.no_decay, (std::vector<std::string>{"*bias", "bn*"}));
  EXPECT_EQ(recipe.rate.warmup_epochs, 1);
  EXPECT_EQ(recipe.seed, 1U);
  EXPECT_EQ(recipe.parameters.train, std::vector<std::string>{"*"});
  check(recipe);
}

TEST(Recipe, its_text_reads_back) {
  Recipe recipe = parse_recipe(kExample, "/runs/a/recipe.toml");
  recipe.parameters.freeze = {"a\"b\\c\n\x01é", ""};
  recipe.optimizer.epsilon = 1.0 / 3;
  recipe.rate.milestones = {0.5, 1e20};
  EXPECT_EQ(parse_recipe(to_text(recipe), "/elsewhere/recipe.toml"), recipe) << to_text(recipe);
  EXPECT_EQ(parse_recipe(to_text({}), "x"), Recipe{});
}

TEST(Recipe, is_read_from_a_file) {
  const Folder folder;
  write_bytes(folder / "recipe.toml", "model = \"m.onnx\"\n");
  EXPECT_EQ(read_recipe(folder / "recipe.toml").model, folder / "m.onnx");
  EXPECT_EQ(error_of([&] { read_recipe(folder / "none.toml"); }),
            (folder / "none.toml") + ": error: there is no such file");
}

TEST(Recipe, unknown_keys_are_named_with_the_nearest) {
  EXPECT_EQ(mistake("[optimizer]\nmomentun = 1\n"),
            "/r/recipe.toml:2: error: 'optimizer.momentun' is not a key of recipes; the nearest is "
            "'optimizer.momentum'");
  EXPECT_EQ(
      mistake("\n[optimiser]\nrate = 1\n"),
      "/r/recipe.toml:2: error: 'optimiser' is not a key of recipes; the nearest is 'optimizer'");
  EXPECT_EQ(
      mistake("batch = 3\n"),
      "/r/recipe.toml:1: error: 'batch' is not a key of recipes; the nearest is 'steps.batch'");
  EXPECT_EQ(mistake("[optimizer]\nlr = 3\n"), "/r/recipe.toml:2: error: 'optimizer.lr' is not a "
                                              "key of recipes; the nearest is 'optimizer.rate'");
  EXPECT_EQ(mistake("[data.train]\na = 3\n"),
            "/r/recipe.toml:1: error: 'data.train' must be a text in quotes");
}

TEST(Recipe, values_out_of_place_are_named) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"model = 3", "'model' must be a text in quotes"},
      {"seed = -1", "'seed' must be a whole number of at least 0"},
      {"precision = \"f8\"",
       "'precision' is \"f8\", need one of \"f32\", \"tf32\", \"f16\", \"bf16\""},
      {"optimizer.rate = -0.5", "'optimizer.rate' is -0.5, need a number of at least 0"},
      {"optimizer.rate = nan", "'optimizer.rate' is nan, need a number of at least 0"},
      {"optimizer.rate = inf", "'optimizer.rate' is inf, need a number of at least 0"},
      {"optimizer.momentum = 1",
       "'optimizer.momentum' is 1, need a number of at least 0 and below 1"},
      {"optimizer.epsilon = 0", "'optimizer.epsilon' is 0, need a number above 0"},
      {"steps.batch = 1.5", "'steps.batch' must be a whole number of at least 1"},
      {"steps.batch = 0", "'steps.batch' is 0, need a whole number of at least 1"},
      {"data.threads = 99999999999",
       "'data.threads' must be a whole number of at least 1 and at most 1024"},
      {"data.std = [1, 0]", "'data.std' is [1, 0], need numbers in brackets, each above 0"},
      {"data.std = [\"1\"]", "'data.std' must be numbers in brackets, each above 0"},
      {"augment.flip = 1", "'augment.flip' must be true or false"},
      {"parameters.freeze = [1]", "'parameters.freeze' must be texts in quotes in brackets"},
      {"parameters.init = \"he\"", "'parameters.init' is \"he\", need one of \"\", \"kaiming\""},
  };
  for (const auto &[text, why] : cases)
    EXPECT_EQ(mistake("# first\n" + text), "/r/recipe.toml:2: error: " + why);
}

TEST(Recipe, each_file_of_a_pair_is_of_the_folder) {
  EXPECT_EQ(parse_recipe("data.train = \"mnist:a.gz,/x/b.gz\"", "/r/recipe.toml").data.train,
            "mnist:/r/a.gz,/x/b.gz");
  EXPECT_EQ(parse_recipe("model = \"a,b.onnx\"", "/r/recipe.toml").model, "/r/a,b.onnx");
}

TEST(Recipe, letters_of_any_language_stand_in_quotes) {
  const Recipe recipe =
      parse_recipe("model = \"/é\\\"ü\" # ö\nparameters.freeze = ['ß', \"\"\"\nж\"\"\"]\n", "r");
  EXPECT_EQ(recipe.model, "/é\"ü");
  EXPECT_EQ(recipe.parameters.freeze, (std::vector<std::string>{"ß", "ж"}));
}

TEST(Recipe, broken_toml_is_named_by_line) {
  EXPECT_TRUE(mistake("seed = 1\nseed = 2\n").starts_with("/r/recipe.toml:2: error: "));
  EXPECT_TRUE(mistake("seed = \n").starts_with("/r/recipe.toml:1: error: "));
  EXPECT_TRUE(mistake("[,optimizer]\n").starts_with("/r/recipe.toml:1: error: "));
  EXPECT_EQ(mistake("# é\nseed = 1 é"),
            "/r/recipe.toml:2: error: a letter that is not ASCII must stand in quotes");
  EXPECT_TRUE(mistake("model = \"\xff\xfe\"").starts_with("/r/recipe.toml:1: error: "));
}

TEST(Recipe, set_takes_what_the_command_line_says) {
  Recipe recipe;
  set(recipe, "optimizer.rate=0.05");
  set(recipe, "optimizer.kind=adamw");
  set(recipe, "parameters.freeze=conv1*,layer1.*");
  set(recipe, "rate.milestones=30,60");
  set(recipe, "augment.flip=true");
  set(recipe, "data.test=\"cifar:/x=y.bin\"");
  set(recipe, "model=here.onnx");
  EXPECT_EQ(recipe.optimizer.rate, 0.05);
  EXPECT_EQ(recipe.optimizer.kind, "adamw");
  EXPECT_EQ(recipe.parameters.freeze, (std::vector<std::string>{"conv1*", "layer1.*"}));
  EXPECT_EQ(recipe.rate.milestones, (std::vector<double>{30, 60}));
  EXPECT_TRUE(recipe.augment.flip);
  EXPECT_EQ(recipe.data.test, "cifar:/x=y.bin");
  EXPECT_EQ(recipe.model, (std::filesystem::current_path() / "here.onnx").string());
  set(recipe, "parameters.freeze=");
  EXPECT_TRUE(recipe.parameters.freeze.empty());
}

TEST(Recipe, set_refuses) {
  EXPECT_EQ(set_mistake("optimizer.rate"), "--set optimizer.rate: error: need KEY=VALUE");
  EXPECT_EQ(set_mistake("optimizer.rat=1"), "--set optimizer.rat=1: error: 'optimizer.rat' is not "
                                            "a key of recipes; the nearest is 'optimizer.rate'");
  EXPECT_EQ(set_mistake("optimizer.rate=fast"),
            "--set optimizer.rate=fast: error: what stands behind '=' is not a value");
  EXPECT_EQ(set_mistake("steps.batch=\"1\""),
            "--set steps.batch=\"1\": error: 'steps.batch' must be a whole number of at least 1");
  EXPECT_EQ(set_mistake("steps.batch=1\nmodel = 2"),
            "--set steps.batch=1\nmodel = 2: error: need one value behind '='");
  EXPECT_EQ(set_mistake("steps.batch="),
            "--set steps.batch=: error: what stands behind '=' is not a value");
}

TEST(Recipe, check_names_what_lacks) {
  const auto lacks = [](const std::string &change) {
    Recipe recipe = parse_recipe(kExample, "/r/recipe.toml");
    set(recipe, change);
    return error_of([&] { check(recipe); });
  };
  EXPECT_EQ(lacks("model="), "recipe: error: 'model' is not said: which ONNX file is trained");
  EXPECT_EQ(lacks("data.train="), "recipe: error: 'data.train' is not said: what is learned from");
  EXPECT_EQ(lacks("optimizer.rate=0"),
            "recipe: error: 'optimizer.rate' is not said: the learning rate");
  EXPECT_EQ(
      lacks("data.mean=1"),
      "recipe: error: 'data.mean' and 'data.std' must be given together, as many numbers each");
  EXPECT_EQ(lacks("rate.warmup_epochs=20"),
            "recipe: error: 'rate.warmup_epochs' must be less than 'steps.epochs'");
  EXPECT_EQ(lacks("rate.milestones=3,2"), "recipe: error: 'rate.milestones' must rise");
  EXPECT_EQ(lacks("rate.kind=step"),
            "recipe: error: 'rate.kind' is \"step\", which needs 'rate.milestones'");
  EXPECT_EQ(lacks("rate.floor=1"),
            "recipe: error: 'rate.floor' must not be above 'optimizer.rate'");
  EXPECT_EQ(lacks("loss.kind=mse"),
            "recipe: error: 'loss.smoothing' is of the loss \"cross_entropy\" alone");
}

TEST(Recipe, a_library_adds_no_parts_of_bf16) {
  Recipe recipe = parse_recipe(kExample, "/r/recipe.toml");
  set(recipe, "steps.parts=bf16");
  check(recipe);
  set(recipe, "steps.exchange=library");
  EXPECT_EQ(error_of([&] { check(recipe); }),
            "recipe: error: 'steps.parts' is \"bf16\", which needs 'steps.exchange' \"tree\": a "
            "library would sum in bf16");
}

TEST(Recipe, differences_are_a_line_each) {
  Recipe before;
  Recipe now = before;
  now.optimizer.rate = 0.05;
  now.parameters.freeze = {"a"};
  EXPECT_EQ(differences(before, now),
            (std::vector<std::string>{"parameters.freeze: [\"a\"], was []",
                                      "optimizer.rate: 0.05, was 0"}));
}

TEST(Recipe, the_manual_names_every_key) {
  const std::string manual = bytes_of_file(TILEFUSE_SOURCE_DIR "/docs/training.md");
  for (const RecipeKey &key : recipe_keys())
    EXPECT_NE(manual.find("`" + std::string(key.name) + "`"), std::string::npos) << key.name;
}

} // namespace
} // namespace tilefuse::train
