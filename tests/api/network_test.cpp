// SPDX-License-Identifier: Apache-2.0
// Models: shapes at first use, what is kept, options, work beside running, cancelling.
#include "api_fixture.h"

#include <filesystem>
#include <fstream>
#include <iterator>

namespace tilefuse {
namespace {

using namespace testing;

std::size_t count(const std::vector<std::string> &told, const std::string &what) {
  std::size_t found = 0;
  for (const std::string &text : told)
    found += text.find(what) != std::string::npos ? 1 : 0;
  return found;
}

float last_of(Session &run, std::size_t size) {
  std::vector<float> x = ramp(size);
  run.input(0, vector_of(x));
  run.execute();
  return run.output(0).data<float>()[size - 1];
}

TEST(ApiNetwork, CompilesPerShapeAtFirstUse) {
  std::vector<std::string> told;
  Session run(Compiled(Model::tile(kScale), cpu(&told), {{"attr.F", "2"}}));
  EXPECT_EQ(count(told, "compiled for"), 0u);
  EXPECT_EQ(last_of(run, 5), 8);
  EXPECT_EQ(last_of(run, 9), 16);
  EXPECT_EQ(last_of(run, 5), 8);
  EXPECT_EQ(count(told, "compiled for X f32[5] in "), 1u) << told.back();
  EXPECT_EQ(count(told, "compiled for X f32[9] in "), 1u);
}

TEST(ApiNetwork, KeepsWhatWasUsedLast) {
  std::vector<std::string> told;
  Session run(Compiled(Model::tile(kScale), cpu(&told), {{"attr.F", "2"}, {"kept", "2"}}));
  for (const std::size_t size : {5, 9, 5, 7, 5, 9})
    EXPECT_EQ(last_of(run, size), 2 * static_cast<float>(size - 1));
  EXPECT_EQ(count(told, "X f32[5]"), 1u);
  EXPECT_EQ(count(told, "X f32[9]"), 2u) << "went when 7 came";
  EXPECT_NE(run.info().find("\"shapes_kept\":2"), std::string::npos);
}

TEST(ApiNetwork, TwoRunsShareWhatIsCompiled) {
  std::vector<std::string> told;
  const Compiled compiled(Model::tile(kScale), cpu(&told), {{"attr.F", "2"}});
  Session first(compiled);
  Session second(compiled);
  EXPECT_EQ(last_of(first, 5), 8);
  EXPECT_EQ(last_of(second, 5), 8);
  EXPECT_EQ(count(told, "compiled for"), 1u);
}

TEST(ApiNetwork, SaysWhatIsNotSupported) {
  EXPECT_EQ(Model::read(kGlyphs).gaps(), "[]");
  std::ifstream file(kGlyphs, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  bytes.replace(bytes.find("Conv"), 4, "Cxnv");
  const std::string gaps = Model::parse(bytes.data(), bytes.size()).gaps();
  EXPECT_NE(gaps.find("[{\"node\":\""), std::string::npos) << gaps;
  EXPECT_NE(gaps.find("Cxnv"), std::string::npos) << gaps;
  failure(TF_UNSUPPORTED, [] { Model::read(kGlyphs).gaps({{"no", "option"}}); });
}

TEST(ApiNetwork, ModelsFromFilesAndBytes) {
  std::ifstream file(kGlyphs, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const Device device = cpu();
  const Compiled read(Model::read(kGlyphs), device, {{"batch", "1"}});
  const Compiled parsed(Model::parse(bytes.data(), bytes.size()), device, {{"batch", "1"}});
  ASSERT_EQ(read.inputs().size(), 1u);
  EXPECT_STREQ(read.inputs()[0].name, parsed.inputs()[0].name);
  EXPECT_EQ(read.inputs()[0].type.bits, 32);
  ASSERT_EQ(read.inputs()[0].rank, 4);
  EXPECT_EQ(read.inputs()[0].shape[0], 1);
  ASSERT_EQ(read.outputs().size(), 1u);
  EXPECT_GE(Session(parsed).prepare(), 1u);
}

TEST(ApiNetwork, WorkBesideRunning) {
  const Session run(Compiled(Model::read(kGlyphs), cpu(), {{"batch", "1"}}));
  EXPECT_NE(run.verify(16).find("agree with the reference"), std::string::npos);
  EXPECT_NE(run.explain("0").find("---- candidates ----"), std::string::npos);
  EXPECT_NE(failure(TF_UNSUPPORTED, [&] { run.explain(); }).find("0 "), std::string::npos);
  EXPECT_NE(run.time(2).find("\"median\":"), std::string::npos);
  EXPECT_NE(run.info().find("\"weight_bytes\":"), std::string::npos);
}

TEST(ApiNetwork, TuningIsTakenByTheNextRun) {
  std::vector<std::string> told;
  const std::string records = TILEFUSE_BINARY_DIR "/tests/api/tuned.sqlite";
  std::filesystem::remove(records);
  Session run(Compiled(Model::read(kGlyphs), cpu(&told, {{"records", records}}), {{"batch", "1"}}));
  EXPECT_NE(run.tune(0.5).find("schedules tried"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(records));
  run.prepare();
  EXPECT_EQ(count(told, "compiled for"), 2u);
}

TEST(ApiNetwork, GradientsHaveTheirOwnPorts) {
  const Compiled compiled(Model::read(kGlyphs), cpu(), {{"batch", "1"}, {"gradient", "*"}});
  EXPECT_GE(compiled.inputs().size(), 2u);
  EXPECT_EQ(compiled.outputs()[0].rank, 4);
  failure(TF_SHAPE, [] {
    Compiled(Model::tile(kScale), cpu(), {{"gradient", "*"}, {"attr.F", "2"}});
  });
}

TEST(ApiNetwork, Precisions) {
  const Device device = cpu();
  Model model = Model::read(kGlyphs);
  EXPECT_NE(
      Session(Compiled(model, device, {{"batch", "1"}, {"precision", "f16"}})).info().find("f16"),
      std::string::npos);
  EXPECT_NE(failure(TF_UNSUPPORTED,
                    [&] {
                      Compiled(model, device, {{"batch", "1"}, {"precision", "int8"}});
                    })
                .find("needs inputs to calibrate with"),
            std::string::npos);
  const Compiled f32(model, device, {{"batch", "1"}});
  const tf_tensor_info input = f32.inputs()[0];
  std::vector<float> picture(
      static_cast<std::size_t>(input.shape[1] * input.shape[2] * input.shape[3]));
  for (std::size_t i = 0; i < picture.size(); ++i)
    picture[i] = static_cast<float>(i % 7) / 7;
  model.calibrate({view(picture.data(), {1, input.shape[1], input.shape[2], input.shape[3]})});
  Session int8(Compiled(model, device, {{"batch", "1"}, {"precision", "int8"}}));
  EXPECT_NE(int8.info().find("int8"), std::string::npos);
}

TEST(ApiNetwork, TheCallerCancels) {
  const Device device = cpu(nullptr, {{"cache", ""}});
  const Model model = Model::read(kGlyphs);
  int calls = 0;
  const Progress stop = [&](int, int) { return ++calls < 2; };
  failure(TF_CANCELLED, [&] { Compiled(model, device, {{"batch", "1"}}, stop); });
  const Session run(Compiled(model, device, {{"batch", "1"}}));
  calls = 0;
  failure(TF_CANCELLED, [&] { run.verify(4, stop); });
  calls = 0;
  failure(TF_CANCELLED, [&] { run.tune(10, stop); });
  EXPECT_NE(run.verify(4).find("agree"), std::string::npos) << "goes on";
}

} // namespace
} // namespace tilefuse
