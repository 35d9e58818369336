// SPDX-License-Identifier: Apache-2.0
// Training through the library: steps, evaluation, checkpoints, models, whole runs, cancelling, mistakes.
#include "api_fixture.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace tilefuse {
namespace {

using namespace testing;
namespace fs = std::filesystem;

const std::string kRecipe = TILEFUSE_SOURCE_DIR "/examples/glyphs/recipe.toml";
const std::string kPictures = "list:" TILEFUSE_SOURCE_DIR "/examples/glyphs/train.txt";

std::string bytes_of(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class ApiTraining : public ::testing::Test {
protected:
  ApiTraining() {
    std::string pattern = (fs::temp_directory_path() / "tilefuse_api_XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~ApiTraining() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  std::string at(const std::string &name) const { return (folder_ / name).string(); }

  fs::path folder_;
  std::vector<std::string> told_;
  Device device_ = cpu(&told_);
};

// The number behind "key": in a JSON text.
double number(const std::string &json, const std::string &key) {
  const std::size_t at = json.find("\"" + key + "\":");
  EXPECT_NE(at, std::string::npos) << key << " in " << json;
  return at == std::string::npos ? 0 : std::stod(json.substr(at + key.size() + 3));
}

TEST_F(ApiTraining, Steps) {
  Trainer trainer(device_, kRecipe);
  EXPECT_EQ(number(trainer.info(), "step"), 0);
  EXPECT_EQ(number(trainer.info(), "steps"), 40);
  EXPECT_GT(number(trainer.info(), "activations"), 0);
  const std::string before = trainer.evaluate();
  EXPECT_EQ(number(before, "count"), 12);
  std::vector<int> seen;
  const std::string first = trainer.step(10, [&](int done, int total) {
    EXPECT_EQ(total, 10);
    seen.push_back(done);
    return true;
  });
  EXPECT_EQ(seen.size(), 10u);
  EXPECT_EQ(number(first, "made"), 10);
  const std::string last = trainer.step(100); // those that are left
  EXPECT_EQ(number(last, "made"), 30);
  EXPECT_EQ(number(last, "step"), 40);
  EXPECT_LT(number(last, "loss"), number(first, "loss"));
  EXPECT_LT(number(trainer.evaluate(), "loss"), number(before, "loss"));
  EXPECT_NE(
      failure(TF_UNSUPPORTED, [&] { trainer.step(); }).find("all 40 steps of the run are made"),
      std::string::npos);
}

TEST_F(ApiTraining, GoesOnFromACheckpointToTheSameBits) {
  Trainer whole(device_, kRecipe);
  whole.step(6);
  whole.save(at("whole.onnx"));
  Trainer half(device_, kRecipe);
  half.step(3);
  half.save(at("half.safetensors"));
  Trainer other(device_, kRecipe);
  other.step(1);
  other.restore(at("half.safetensors"));
  EXPECT_EQ(number(other.info(), "step"), 3);
  other.step(3);
  other.save(at("parts.onnx"));
  EXPECT_EQ(bytes_of(at("whole.onnx")), bytes_of(at("parts.onnx")));
}

TEST_F(ApiTraining, TheModelIsOneThatRuns) {
  Trainer trainer(device_, kRecipe);
  trainer.step(2);
  trainer.save(at("model.onnx"));
  Session run(Compiled(Model::read(at("model.onnx")), device_, {{"batch", "1"}}));
  EXPECT_GE(run.prepare(), 1u);
  Trainer only(device_, "",
               {{"model", at("model.onnx")},
                {"data.test", kPictures},
                {"data.side", "32"},
                {"data.mean", "0.5,0.5,0.5"},
                {"data.std", "0.5,0.5,0.5"}});
  const std::string got = only.evaluate(), want = trainer.evaluate();
  EXPECT_EQ(number(got, "hits"), number(want, "hits"));
  EXPECT_NEAR(number(got, "loss"), number(want, "loss"), 1e-5);
  EXPECT_NE(failure(TF_UNSUPPORTED, [&] { only.step(); }).find("no data to train on"),
            std::string::npos);
}

TEST_F(ApiTraining, TimesAndVerifiesAStep) {
  Trainer trainer(device_, kRecipe);
  trainer.save(at("before.safetensors"));
  const std::string timing = trainer.time(3);
  EXPECT_GT(number(timing, "median"), 0);
  EXPECT_NE(timing.find("\"kernels\":[{"), std::string::npos) << timing;
  trainer.save(at("after.safetensors"));
  EXPECT_EQ(bytes_of(at("before.safetensors")), bytes_of(at("after.safetensors")));
  EXPECT_NE(trainer.verify(4).find("agree with the reference"), std::string::npos);
}

TEST_F(ApiTraining, MakesAWholeRun) {
  const Options options{{"folder", at("run")}, {"steps.limit", "6"}};
  const std::string done = train(device_, kRecipe, options);
  EXPECT_NE(done.find("\"complete\":true"), std::string::npos) << done;
  EXPECT_EQ(number(done, "step"), 6);
  for (const char *name : {"recipe.toml", "log.csv", "last.onnx", "best.onnx"})
    EXPECT_TRUE(fs::exists(folder_ / "run" / name)) << name;
  const auto is_told = [&](const std::string &what) {
    for (const std::string &line : told_)
      if (line.starts_with(what))
        return true;
    return false;
  };
  EXPECT_TRUE(is_told("memory "));
  EXPECT_TRUE(is_told("epoch  1/20  2 steps  loss "));
  EXPECT_NE(failure(TF_IO, [&] { train(device_, kRecipe, options); }).find("holds a run"),
            std::string::npos);
}

TEST_F(ApiTraining, ARunThatIsCancelledGoesOn) {
  const auto stop_at = [](int last) {
    return [last](int done, int total) { return total != 40 || done < last; };
  };
  Options options{{"folder", at("run")}};
  const std::string told =
      failure(TF_CANCELLED, [&] { train(device_, kRecipe, options, stop_at(5)); });
  EXPECT_NE(told.find("cancelled behind step "), std::string::npos) << told;
  EXPECT_NE(told.find("resume=true goes on"), std::string::npos) << told;
  options["resume"] = "true";
  EXPECT_EQ(number(train(device_, kRecipe, options), "step"), 40);
  Trainer whole(device_, kRecipe);
  whole.step(40);
  whole.save(at("whole.onnx"));
  EXPECT_EQ(bytes_of(at("whole.onnx")), bytes_of(folder_ / "run" / "last.onnx"));
}

TEST_F(ApiTraining, TheCallerCancels) {
  const Progress stop = [](int, int) { return false; };
  failure(TF_CANCELLED, [&] {
    Trainer(cpu(nullptr, {{"cache", ""}}), kRecipe, {{"parameters.last", "1"}}, stop);
  });
  Trainer trainer(device_, kRecipe);
  failure(TF_CANCELLED, [&] { trainer.evaluate(stop); });
  failure(TF_CANCELLED, [&] { trainer.step(9, [](int done, int) { return done < 4; }); });
  EXPECT_EQ(number(trainer.info(), "step"), 4) << "what was made stays";
  EXPECT_EQ(number(trainer.step(2), "step"), 6);
}

TEST_F(ApiTraining, Mistakes) {
  const auto refused = [&](tf_status status, const std::string &recipe, const Options &options) {
    return failure(status, [&] { Trainer(device_, recipe, options); });
  };
  EXPECT_NE(refused(TF_IO, "/nowhere/recipe.toml", {}).find("there is no such file"),
            std::string::npos);
  EXPECT_NE(refused(TF_UNSUPPORTED, kRecipe, {{"optimizer.lr", "1"}})
                .find("the nearest is optimizer.rate"),
            std::string::npos);
  EXPECT_NE(refused(TF_SYNTAX, kRecipe, {{"steps.batch", "none"}}).find("steps.batch"),
            std::string::npos);
  EXPECT_NE(refused(TF_SYNTAX, kRecipe, {{"resume", "perhaps"}}).find("need true or false"),
            std::string::npos);
  EXPECT_NE(refused(TF_SYNTAX, "", {}).find("'model' is not said"), std::string::npos);
  EXPECT_NE(refused(TF_UNSUPPORTED, kGlyphs, {}).find("names no test data"), std::string::npos);
  EXPECT_NE(failure(TF_SYNTAX, [&] { train(device_, kRecipe, {}); }).find("'folder' is not said"),
            std::string::npos);
  const Options without_data = {{"folder", at("run")}, {"data.train", ""}};
  EXPECT_NE(failure(TF_SYNTAX, [&] { train(device_, kRecipe, without_data); })
                .find("'data.train' is not said"),
            std::string::npos);

  Trainer trainer(device_, kRecipe);
  EXPECT_NE(failure(TF_UNSUPPORTED, [&] { trainer.save(at("model.pt")); }).find(".safetensors"),
            std::string::npos);
  std::ofstream(at("torn.safetensors")) << "nonsense";
  failure(TF_IO, [&] { trainer.save(at("torn.safetensors/model.onnx")); });
  failure(TF_IO, [&] { trainer.save(at("torn.safetensors/step.safetensors")); });
  failure(TF_IO, [&] { trainer.restore(at("torn.safetensors")); });
  trainer.step(1);
  trainer.save(at("before.safetensors"));
  Trainer momentum(device_, kRecipe, {{"optimizer.kind", "sgd"}});
  momentum.save(at("other.safetensors"));
  EXPECT_NE(failure(TF_SHAPE, [&] { trainer.restore(at("other.safetensors")); })
                .find("another model or optimiser"),
            std::string::npos);
  trainer.save(at("after.safetensors"));
  EXPECT_EQ(bytes_of(at("before.safetensors")), bytes_of(at("after.safetensors")));
}

TEST_F(ApiTraining, HandlesAreChecked) {
  char *json = nullptr;
  EXPECT_EQ(tf_trainer_step(nullptr, 1, nullptr, nullptr, &json), TF_ARGUMENT);
  const Trainer trainer(device_, kRecipe);
  EXPECT_EQ(tf_trainer_step(trainer.get(), 0, nullptr, nullptr, &json), TF_ARGUMENT);
  EXPECT_EQ(tf_trainer_step(trainer.get(), 1, nullptr, nullptr, nullptr), TF_ARGUMENT);
  EXPECT_EQ(tf_run_execute(reinterpret_cast<tf_run *>(trainer.get())), TF_ARGUMENT);
  tf_trainer *lasting = nullptr;
  {
    const Device device = cpu();
    ASSERT_EQ(
        tf_trainer_create(device.get(), kRecipe.c_str(), nullptr, 0, nullptr, nullptr, &lasting),
        TF_OK);
  }
  ASSERT_EQ(tf_trainer_step(lasting, 1, nullptr, nullptr, &json), TF_OK)
      << "outlives its device's handle";
  tf_free(json);
  tf_release(lasting);
  EXPECT_EQ(tf_info(lasting, &json), TF_ARGUMENT);
}

} // namespace
} // namespace tilefuse
