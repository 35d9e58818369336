// SPDX-License-Identifier: Apache-2.0
// Pictures in folders and lists that the tests write, whole and damaged.
#include "data/picture_files.h"

#include <gtest/gtest.h>

#include "data/open.h"
#include "data/written.h"

namespace tilefuse::data {
namespace {

class PictureFiles : public testing::Test {
protected:
  std::string refused(const std::string &kind, const OpenOptions &options = {.side = 4}) {
    return refusal([&] { open_source(kind + folder_.path("in"), options); });
  }

  WrittenFolder folder_;
};

TEST_F(PictureFiles, FoldersAreClassesInOrder) {
  folder_.write("in/dog/b.jpeg", jpeg(16, 16));
  folder_.write("in/dog/a.PNG", png(8, 4));
  folder_.write("in/dog/notes.txt", "");
  folder_.write("in/cat/z.png", png(4, 4));
  folder_.write("in/.hidden/z.png", png(4, 4));
  folder_.write("in/readme.png", "");
  EXPECT_EQ(class_folders(folder_.path("in")), (std::vector<std::string>{"cat", "dog"}));
  const auto source = open_source("folder:" + folder_.path("in"), {.side = 4, .classes = 2});
  ASSERT_EQ(source->count(), 3);
  EXPECT_EQ(source->form(), (PictureForm{4, 4, 3}));
  EXPECT_EQ(source->classes(), 2);
  std::int32_t label = -1;
  read(*source, 0, &label);
  EXPECT_EQ(label, 0);
  const std::vector<std::uint8_t> middle = read(*source, 1, &label); // a.PNG
  EXPECT_EQ(label, 1);
  for (std::size_t x = 0; x < 4; ++x) {
    EXPECT_EQ(middle[(2 * 4 + x) * 3], 10 * (x + 2));
    EXPECT_EQ(middle[(2 * 4 + x) * 3 + 1], 20);
  }
  const std::vector<std::uint8_t> shrunk = read(*source, 2, &label); // b.jpeg, 16 to 4
  EXPECT_EQ(label, 1);
  EXPECT_NEAR(shrunk[(1 * 4 + 2) * 3], 95, 4);
  EXPECT_NEAR(shrunk[(1 * 4 + 2) * 3 + 1], 55, 4);
}

TEST_F(PictureFiles, ListsNameFilesFromTheirFolder) {
  folder_.write("a b.png", png(4, 4));
  folder_.write("sub/c.jpg", jpeg(8, 8));
  folder_.write("in", "a b.png 3\r\n\n  \nsub/c.jpg\t0\n" + folder_.path("sub/c.jpg") + "  7");
  const auto source = open_source("list:" + folder_.path("in"), {.side = 2});
  ASSERT_EQ(source->count(), 3);
  EXPECT_EQ(source->classes(), 8);
  for (const auto &[number, wanted] : std::vector<std::pair<int, int>>{{0, 3}, {1, 0}, {2, 7}}) {
    std::int32_t label = -1;
    EXPECT_EQ(read(*source, number, &label).size(), 12U);
    EXPECT_EQ(label, wanted);
  }
  EXPECT_PRED2(has, refused("list:", {.side = 2, .classes = 7}),
               "shape error: picture 2 has label 7");
}

TEST_F(PictureFiles, LinesThatAreNone) {
  for (const char *line :
       {"a.png", "a.png x", "a.png -1", "a.png 1.5", "a.png 99999999999", " 5", "5"}) {
    folder_.write("in", std::string("a.png 1\n") + line + "\n");
    EXPECT_PRED2(has, refused("list:"), "input/output error: the line is not a path and a label")
        << line;
  }
  for (const char *text : {"", "\n \n"}) {
    folder_.write("in", text);
    EXPECT_PRED2(has, refused("list:"), "input/output error: the list has no pictures");
  }
}

TEST_F(PictureFiles, FoldersThatAreNone) {
  EXPECT_PRED2(has, refused("folder:"), "input/output error: cannot read the folder: No such file");
  folder_.write("in/a.png", png(4, 4));
  EXPECT_PRED2(has, refused("folder:"), "input/output error: the folder has no class folders");
  folder_.write("in/cat/a.txt", "");
  EXPECT_PRED2(has, refused("folder:"),
               "input/output error: the class folder has no JPEG or PNG files");
  folder_.write("in/cat/a.png", png(4, 4));
  EXPECT_EQ(refused("folder:"), "");
  EXPECT_PRED2(has, refused("folder:", {.side = 4, .classes = 3}),
               "shape error: the folder has 1 class folders, need 3");
  EXPECT_PRED2(has, refused("folder:", {.side = 0}),
               "limit exceeded: pictures cannot be made 0 x 0");
  EXPECT_PRED2(has, refused("folder:", {.side = 1 << 20}),
               "limit exceeded: pictures cannot be made");
}

TEST_F(PictureFiles, DamagedPicturesAreNamed) {
  const std::string whole_png = png(40, 40);
  const std::string whole_jpeg = jpeg(40, 40);
  std::string flipped = whole_png;
  flipped[flipped.size() / 2] ^= 0x10;
  folder_.write("in/cat/1.png", whole_png.substr(0, whole_png.size() / 2));
  folder_.write("in/cat/2.jpg", whole_jpeg.substr(0, whole_jpeg.size() * 3 / 4));
  folder_.write("in/cat/3.jpg", "");
  folder_.write("in/cat/4.png", flipped);
  folder_.write("in/cat/5.png", whole_jpeg);
  folder_.write("in/cat/6.jpg", whole_jpeg + "what a camera adds");
  const auto source = open_source("folder:" + folder_.path("in"), {.side = 4});
  const auto reading = [&](int number) { return refusal([&] { read(*source, number); }); };
  EXPECT_PRED2(has, reading(0), "input/output error: picture 0: the PNG is damaged");
  EXPECT_PRED2(has, reading(1), "input/output error: picture 1: the JPEG is damaged or truncated");
  EXPECT_PRED2(has, reading(2), "input/output error: picture 2: not an image");
  EXPECT_PRED2(has, reading(3), "input/output error: picture 3: the PNG is damaged");
  EXPECT_EQ(reading(4), "");
  EXPECT_EQ(reading(5), "");
  std::filesystem::remove(folder_.path("in/cat/6.jpg"));
  EXPECT_PRED2(has, reading(5), "input/output error: picture 5: there is no such file");
}

} // namespace
} // namespace tilefuse::data
