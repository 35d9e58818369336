// SPDX-License-Identifier: Apache-2.0
#include "settings.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"

namespace tilefuse::tool {
namespace {

// A TOML file for the life of a test.
struct TomlFile {
  explicit TomlFile(const std::string &text)
      : path(std::filesystem::path(testing::TempDir()) / "settings_test.toml") {
    std::ofstream(path) << text;
  }
  ~TomlFile() { std::filesystem::remove(path); }
  std::filesystem::path path;
};

TEST(Settings, PresetIsWhatItsNetworksTake) {
  const Preprocess caffe = to_preprocess({.preset = "imagenet-caffe"});
  EXPECT_EQ(caffe.resize_shorter, 256);
  EXPECT_EQ(caffe.crop, (std::array<int, 2>{224, 224}));
  EXPECT_TRUE(caffe.bgr);
  EXPECT_EQ(caffe.mean[0], 103.939);
  EXPECT_EQ(caffe.scale[0], 1);
  const Preprocess torch = to_preprocess({.preset = "imagenet-torch", .crop = "192"});
  EXPECT_FALSE(torch.bgr);
  EXPECT_DOUBLE_EQ(torch.scale[2], 1.0 / 255);
  EXPECT_EQ((*torch.crop)[1], 192);
}

TEST(Settings, LaterWordsWin) {
  PreprocessText file{.size = "10x20", .mean = "5", .labels = "l"};
  EXPECT_EQ(merge(file, {.mean = "6"}).mean, "6");
  EXPECT_EQ(merge(file, {.mean = "6"}).size, "10x20");
  EXPECT_EQ(merge(file, {.resize_shorter = "9"}).size, "");
  const PreprocessText replaced = merge(file, {.preset = "imagenet-torch"});
  EXPECT_EQ(replaced.mean, "");
  EXPECT_EQ(replaced.labels, "l");
  EXPECT_EQ(to_preprocess(merge(file, {.preset = "imagenet-torch"})).mean[0], 0.485);
  EXPECT_FALSE(to_preprocess({.preset = "imagenet-caffe", .size = "64"}).crop.has_value());
}

TEST(Settings, PaddingAndCroppingReplaceEachOther) {
  EXPECT_EQ(merge({.size = "10", .pad = "1"}, {.pad = "2"}).size, "10");
  EXPECT_EQ(merge({.size = "10", .pad = "1"}, {.crop = "8"}).pad, "");
  const PreprocessText padded = merge({.resize_shorter = "10", .crop = "8"}, {.pad = "2"});
  EXPECT_EQ(padded.resize_shorter + padded.crop, "");
  EXPECT_EQ(to_preprocess(padded).pad, 2);
}

TEST(Settings, BoxesAreAnotherReaders) {
  const TomlFile file("size = 32\n[detect]\nboxes = 'y'\n");
  EXPECT_EQ(read_preprocess(file.path.string()).size, "32");
  const TomlFile wrong("detect = 1\n");
  EXPECT_THROW(read_preprocess(wrong.path.string()), Error);
}

TEST(Settings, TomlValues) {
  const TomlFile file("size = 32\nmean = [1, 2.5, 3]\nscale = '1/4'\nlabels = 'names.txt'\n");
  const PreprocessText text = read_preprocess(file.path.string());
  const Preprocess settings = to_preprocess(text);
  EXPECT_EQ((*settings.size)[1], 32);
  EXPECT_EQ(settings.mean[1], 2.5);
  EXPECT_EQ(settings.scale[0], 0.25);
  EXPECT_EQ(text.labels, (file.path.parent_path() / "names.txt").string());
}

TEST(Settings, MistakesNameTheirLine) {
  for (const char *text : {"\nsizes = 3\n", "\nmean = [[1], 2]\n", "\nmean = []\n",
                           "\nstd = { a = 1 }\n", "\nsize = \n"}) {
    const TomlFile file(text);
    try {
      read_preprocess(file.path.string());
      ADD_FAILURE() << text;
    } catch (const Error &error) {
      EXPECT_NE(error.where().find("settings_test.toml:2"), std::string::npos) << error.what();
    }
  }
}

TEST(Settings, BadTexts) {
  for (const PreprocessText &text : {PreprocessText{.preset = "no"},
                                     {.size = "x"},
                                     {.size = "3x"},
                                     {.size = "0"},
                                     {.size = "99999999999"},
                                     {.pad = "256"},
                                     {.pad = "grey"},
                                     {.pad = "4", .crop = "4"},
                                     {.resize_shorter = "2x2"},
                                     {.crop = "-1"},
                                     {.order = "RGB"},
                                     {.scale = "1/0"},
                                     {.scale = "1,2"},
                                     {.mean = "1,,2"},
                                     {.mean = "1,2,3,4"},
                                     {.mean = "nan"},
                                     {.std = "1,0,1"},
                                     {.std = "inf"},
                                     {.layout = "hwc"},
                                     {.std = "1e-320"},
                                     {.std = "1e39"},
                                     {.std = "1,-1e-39,1"},
                                     {.std = "1e-308/1e308"},
                                     {.scale = "1e308/1e-308"},
                                     {.scale = "1e39"},
                                     {.mean = "1e39"},
                                     {.mean = "1e308/1e-308"},
                                     {.mean = "1e20", .std = "1e-20"},
                                     {.scale = "1e20", .std = "1e-20"}})
    EXPECT_THROW(to_preprocess(text), Error);
  EXPECT_EQ(to_preprocess({.mean = "-1e10", .std = "1e-20"}).mean[2], -1e10);
  EXPECT_THROW(to_preprocess({.size = "4", .resize_shorter = "4"}), Error);
}

} // namespace
} // namespace tilefuse::tool
