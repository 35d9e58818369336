// SPDX-License-Identifier: Apache-2.0
// Tar files of samples, and what is packed of a source. Files that Python's tarfile wrote are read by
// tests/tool/train_test.py.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <filesystem>

#include "data/open.h"
#include "data/pack.h"
#include "data/written.h"

namespace tilefuse::data {
namespace {

std::string filled(std::string bytes) {
  bytes.resize((bytes.size() + 511) / 512 * 512);
  return bytes;
}

// `size`: what its header says in place of the content's.
std::string member(const std::string &name, const std::string &content, char kind = '0',
                   const std::string &size = {}) {
  std::string header = name;
  header.resize(512);
  const auto put = [&](std::size_t place, const std::string &text) {
    header.replace(place, text.size(), text);
  };
  put(100, "0000644");
  put(124, size.empty() ? fmt::format("{:011o}", content.size()) : size);
  put(148, "        ");
  put(156, std::string(1, kind));
  put(257, "ustar");
  int sum = 0;
  for (const char byte : header)
    sum += static_cast<unsigned char>(byte);
  put(148, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
  return header + filled(content);
}

const std::string kEnd(1024, '\0');

class Tar : public testing::Test {
protected:
  std::string refused(const std::string &bytes) {
    const std::string path = folder_.write("bad.tar", bytes);
    return refusal([&] { open_source("tar:" + path, {.side = 4}); });
  }
  WrittenFolder folder_;
};

TEST_F(Tar, SamplesOfAllShardsInOrder) {
  folder_.write("s-1.tar", member("d/", "", '5') + member("d/b.json", "{}") +
                               member("d/b.png", png(4, 4)) + member("d/b.cls", "3\n") + kEnd);
  folder_.write("s-0.tar", member("a.cls", "0") + member("a.jpg", jpeg(8, 8)) + kEnd);
  const std::string name(120, 'n');
  folder_.write("t.tar", member("././@LongLink", name + ".png" + '\0', 'L') +
                             member(name.substr(0, 99), png(4, 8)) +
                             member("x", "131 path=" + name + ".cls\n", 'x') +
                             member("short", "12") + kEnd);
  const auto source = open_source(
      fmt::format("tar:{},{}", folder_.path("s-*.tar"), folder_.path("t.tar")), {.side = 4});
  ASSERT_EQ(source->count(), 3);
  EXPECT_EQ(source->form(), (PictureForm{4, 4, 3}));
  EXPECT_EQ(source->classes(), 13);
  EXPECT_TRUE(source->decodes());
  for (const auto &[number, wanted] : {std::pair{0, 0}, std::pair{1, 3}, std::pair{2, 12}}) {
    std::int32_t label = -1;
    const std::vector<std::uint8_t> pixels = read(*source, number, &label);
    EXPECT_EQ(label, wanted);
    EXPECT_NEAR(pixels[2], 70, 4);
  }
}

TEST_F(Tar, SaysWhatIsWrong) {
  const std::string picture = member("a.png", png(4, 4));
  EXPECT_PRED2(has, refused(picture + kEnd), "the picture has no label");
  EXPECT_PRED2(has, refused(member("a.cls", "1") + kEnd), "no member is a picture");
  EXPECT_PRED2(has, refused(picture + member("a.cls", "cat") + kEnd), "'a.cls' is no label");
  EXPECT_PRED2(has, refused(std::string(2048, 'x')), "byte 0 begins no member of a tar file");
  for (const char *size : {"-0000000001", "77777777777"})
    EXPECT_PRED2(has, refused(member("././@PaxHeader", "11 path=a\n", 'x', size) + kEnd),
                 std::string(size) == "77777777777" ? "ends in the middle of a member"
                                                    : "byte 0 begins no member of a tar file")
        << size;
  const std::string cut = member("a.cls", "1") + picture;
  EXPECT_PRED2(has, refused(cut.substr(0, cut.size() - 512)), "ends in the middle of a member");
  EXPECT_PRED2(has, refusal([&] { open_source("tar:" + folder_.path("no-*.tar"), {}); }),
               "there is no such file");
}

TEST_F(Tar, PackedPicturesAreThePictures) {
  for (int i = 0; i < 20; ++i) {
    folder_.write(fmt::format("in/cat/{:02}.png", i), png(4 + i, 8));
    folder_.write(fmt::format("in/dog/{:02}.jpg", i), jpeg(8, 4 + i));
  }
  const auto source = open_source("folder:" + folder_.path("in"), {.side = 4});
  std::int64_t last = 0;
  pack(*source, folder_.path("out"), 2, [&](std::int64_t done, std::int64_t total) {
    EXPECT_GT(done, last);
    EXPECT_EQ(total, 40);
    last = done;
  });
  EXPECT_EQ(last, 40);
  const auto packed = open_source(packed_name(folder_.path("out")), {});
  ASSERT_EQ(packed->count(), source->count());
  EXPECT_EQ(packed->form(), source->form());
  EXPECT_FALSE(packed->decodes());
  for (std::int64_t i = 0; i < source->count(); ++i) {
    std::int32_t label = -1, wanted = -1;
    EXPECT_EQ(read(*packed, i, &label), read(*source, i, &wanted));
    EXPECT_EQ(label, wanted);
  }
}

TEST_F(Tar, ADamagedPictureIsNamedAndNothingPacked) {
  folder_.write("in/cat/a.png", png(4, 4));
  folder_.write("in/cat/b.png", png(4, 4).substr(0, 40));
  const auto source = open_source("folder:" + folder_.path("in"), {.side = 4});
  EXPECT_PRED2(has, refusal([&] { pack(*source, folder_.path("out"), 1, {}); }),
               "picture 1: the PNG is damaged");
  for (const char *name : {"out.images.npy", "out.images.npy.part", "out.labels.npy"})
    EXPECT_FALSE(std::filesystem::exists(folder_.path(name))) << name;
}

} // namespace
} // namespace tilefuse::data
