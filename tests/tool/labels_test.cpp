// SPDX-License-Identifier: Apache-2.0
#include "labels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "base/error.h"
#include "files.h"
#include "output_picture.h"
#include "run_labels.h"
#include "run_outputs.h"

namespace tilefuse::tool {
namespace {

using program::HostTensor;

HostTensor values(program::Shape shape, const std::vector<double> &elements) {
  HostTensor tensor = program::make_host_tensor("y", DType::F32, std::move(shape));
  for (std::size_t i = 0; i < elements.size(); ++i)
    program::set(tensor, static_cast<std::int64_t>(i), elements[i]);
  return tensor;
}

TEST(OutputFiles, NoTwoHaveOneName) {
  std::set<std::string> taken;
  EXPECT_EQ(free_name("a", 0, taken), "a");
  EXPECT_EQ(free_name("a_2", 1, taken), "a_2");
  EXPECT_EQ(free_name("a", 2, taken), "a_3");
  EXPECT_EQ(free_name("a", 3, taken), "a_4");
  std::vector<HostTensor> outputs;
  for (const char *name : {"y_2", "y", "y"}) {
    outputs.push_back(values({1}, {0}));
    outputs.back().name = name;
  }
  std::set<std::string> paths;
  for (const OutputFile &file : output_files(outputs, "folder"))
    paths.insert(file.path);
  EXPECT_EQ(paths.size(), 3);
}

TEST(Labels, LinesWithEitherEnd) {
  const std::vector<std::string> two = {"one", "two"};
  EXPECT_EQ(parse_labels("one\ntwo"), two);
  EXPECT_EQ(parse_labels("one\r\ntwo\r\n\r\n\n"), two);
  EXPECT_EQ(parse_labels("\nb\n"), (std::vector<std::string>{"", "b"}));
  EXPECT_TRUE(parse_labels("").empty());
}

TEST(Labels, ClassesOfAShape) {
  EXPECT_EQ(class_count({1, 1000}), 1000);
  EXPECT_EQ(class_count({4, 1000, 1, 1}), 1000);
  EXPECT_EQ(class_count({4, 1, 10}), 10);
  EXPECT_EQ(class_count({1, 3, 4}), 0);
  EXPECT_EQ(class_count({1000}), 0);
  EXPECT_EQ(class_count({}), 0);
}

TEST(Labels, TopKeepsOrderAndPutsNanLast) {
  const HostTensor tensor = values({2, 4}, {9, 9, 9, 9, 0.5, std::nan(""), 2, 2});
  const std::vector<Ranked> best = top(tensor, 4, 4, 10);
  ASSERT_EQ(best.size(), 4U);
  EXPECT_EQ(best[0].index, 2);
  EXPECT_EQ(best[1].index, 3);
  EXPECT_EQ(best[2].index, 0);
  EXPECT_EQ(best[3].index, 1);
  EXPECT_EQ(top(tensor, 4, 4, 1).size(), 1U);
}

TEST(Labels, CountMustMatch) {
  const auto path = std::filesystem::path(testing::TempDir()) / "labels_test.labels.txt";
  const std::string model = (path.parent_path() / "labels_test.onnx").string();
  const HostTensor output = values({3, 2}, {});
  const auto asked = [&](const std::string &text, std::int64_t classes) {
    std::ofstream(path) << text;
    return run_labels(path.string(), "m.onnx", classes, output);
  };
  EXPECT_EQ(asked("a\nb\n", 2).names.size(), 2U);
  EXPECT_THROW(asked("a\n", 2), Error);
  EXPECT_THROW(asked("a\nb\nc\n", 2), Error);
  EXPECT_THROW(asked("a\nb\n", 0), Error);
  std::ofstream(path) << "a\nb\n";
  // Beside the model they are taken where they fit.
  EXPECT_EQ(run_labels("", model, 2, output).found, path.string());
  EXPECT_TRUE(run_labels("", model, 3, output).names.empty());
  std::filesystem::remove(path);
}

TEST(Outputs, RunsAreJoinedAndTheFillingDropped) {
  std::vector<std::vector<HostTensor>> runs;
  runs.push_back({values({2, 1}, {1, 2}), values({}, {7})});
  runs.push_back({values({2, 1}, {3, 3}), values({}, {8})});
  const std::vector<HostTensor> joined = join_runs(std::move(runs), 2, 1);
  EXPECT_EQ(joined[0].shape, (program::Shape{3, 1}));
  EXPECT_EQ(program::get(joined[0], 2), 3);
  EXPECT_EQ(joined[1].shape, program::Shape{2});
  EXPECT_EQ(program::get(joined[1], 1), 8);
}

TEST(Outputs, OneFileForOneOutputOnly) {
  EXPECT_NO_THROW(check_output_place(1, "a.npy"));
  EXPECT_NO_THROW(check_output_place(2, "folder"));
  EXPECT_THROW(check_output_place(2, "a.npy"), Error);
  EXPECT_THROW(check_output_place(2, "a.png"), Error);
  EXPECT_NO_THROW(check_output_place(2, "a.b/"));
  EXPECT_THROW(check_output_place(1, "a.jpg"), Error);
  EXPECT_THROW(check_output_place(1, "-"), Error);
}

TEST(Outputs, MapsOfClassesHaveTheirChannelsFirstOrLast) {
  std::vector<double> scores(16, 0); // of two classes at two rows of four pixels
  std::fill(scores.begin(), scores.begin() + 8, 1.0);
  scores.back() = 2;
  const data::Image first = output_picture(values({1, 2, 2, 4}, scores));
  EXPECT_EQ(first.width, 4);
  EXPECT_EQ(first.rgb[0], 0);
  EXPECT_EQ(first.rgb[21], 128); // VOC's red of class 1
  const data::Image last = output_picture(values({1, 5, 4, 2}, std::vector<double>(40, 0)));
  EXPECT_EQ(last.height, 5);
  EXPECT_EQ(last.width, 4);
  EXPECT_THROW(output_picture(values({2, 2, 2, 2}, std::vector<double>(16, 0))), Error);
}

} // namespace
} // namespace tilefuse::tool
