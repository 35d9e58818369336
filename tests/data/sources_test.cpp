// SPDX-License-Identifier: Apache-2.0
// Data sets in files that the tests write, whole and damaged.
#include <gtest/gtest.h>

#include "data/npy.h"
#include "data/open.h"
#include "data/written.h"

namespace tilefuse::data {
namespace {

class Sources : public testing::Test {
protected:
  std::unique_ptr<Source> open(const std::string &text, const OpenOptions &options = {}) {
    return open_source(text, options);
  }
  std::string refused(const std::string &text, const OpenOptions &options = {}) {
    return refusal([&] { open(text, options); });
  }
  std::string written(const std::string &name, const std::string &bytes) {
    return folder_.write(name, bytes);
  }
  std::string mnist(const std::string &images, const std::string &labels) {
    return "mnist:" + written("images", images) + "," + written("labels", labels);
  }
  std::string npy(const std::string &images, const std::string &labels) {
    return "npy:" + written("images.npy", images) + "," + written("labels.npy", labels);
  }

  WrittenFolder folder_;
};

std::string tensor(DType type, program::Shape shape, int step = 1) {
  program::HostTensor values = program::make_host_tensor({}, type, std::move(shape));
  for (std::int64_t i = 0; i < program::elems(values.shape); ++i)
    program::set(values, i, static_cast<double>(i * step));
  return to_npy(values);
}

TEST_F(Sources, CifarPlanesBecomePixels) {
  const std::string records = cifar_record(3, 0) + cifar_record(9, 1) + cifar_record(0, 2);
  for (const std::string &bytes : {records, gzipped(records)}) {
    const auto source = open("cifar:" + written("a.bin", bytes));
    EXPECT_EQ(source->count(), 3);
    EXPECT_EQ(source->form(), (PictureForm{32, 32, 3}));
    EXPECT_EQ(source->classes(), 10);
    std::int32_t label = -1;
    const std::vector<std::uint8_t> pixels = read(*source, 1, &label);
    EXPECT_EQ(label, 9);
    for (int i : {0, 1, 33, 1023})
      for (int channel = 0; channel < 3; ++channel)
        EXPECT_EQ(pixels[static_cast<std::size_t>(i * 3 + channel)], cifar_byte(1, channel, i));
  }
}

TEST_F(Sources, CifarFilesJoin) {
  const std::string a = written("a.bin", cifar_record(1, 0) + cifar_record(2, 1));
  const std::string b = written("b.bin.gz", gzipped(cifar_record(4, 2)));
  const auto source = open("cifar:" + a + "," + b + "," + a);
  EXPECT_EQ(source->count(), 5);
  EXPECT_EQ(source->classes(), 5);
  for (const auto &[number, wanted] : std::vector<std::pair<int, int>>{{1, 2}, {2, 4}, {3, 1}}) {
    std::int32_t label = -1;
    EXPECT_EQ(read(*source, number, &label)[0], cifar_byte(number == 3 ? 0 : number, 0, 0));
    EXPECT_EQ(label, wanted);
  }
}

TEST_F(Sources, CifarDamage) {
  const std::string record = cifar_record(7, 0);
  const auto cifar = [&](const std::string &bytes, OpenOptions options = {}) {
    return refused("cifar:" + written("a.bin", bytes), options);
  };
  EXPECT_PRED2(has, cifar(""), "input/output error: 0 bytes are no whole number");
  EXPECT_PRED2(has, cifar(record + "x"), "input/output error: 3074 bytes are no whole number");
  EXPECT_PRED2(has, cifar(gzipped(record).substr(0, 90)),
               "input/output error: the file is damaged or truncated");
  std::string flipped = gzipped(record + record);
  flipped[flipped.size() - 6] ^= 1; // of its check sum
  EXPECT_PRED2(has, cifar(flipped), "input/output error: the file is damaged or truncated");
  EXPECT_PRED2(has, cifar(record, {.classes = 7}),
               "shape error: picture 0 has label 7, need 0 to 6");
  EXPECT_EQ(cifar(record, {.classes = 8}), "");
  EXPECT_PRED2(has, refused("cifar:" + folder_.path("none")),
               "input/output error: there is no such file");
  EXPECT_PRED2(has, refused("cifar:" + folder_.path("")), "input/output error: not a regular file");
}

// 64 MiB of zeros in 64 KiB.
TEST_F(Sources, UnpackingEndsAtTheLimit) {
  const std::string bomb = gzipped(std::string(std::size_t{64} << 20, '\0'));
  EXPECT_LT(bomb.size(), std::size_t{1} << 17);
  EXPECT_PRED2(has, refused("cifar:" + written("a.bin", bomb), {.most_bytes = 1 << 20}),
               "limit exceeded: more than 1048576 bytes");
}

TEST_F(Sources, Mnist) {
  const std::string images = idx(0x803, {2, 2, 3}, "abcdefABCDEF");
  const std::string labels = idx(0x801, {2}, std::string("\5\1", 2));
  for (const bool packed : {false, true}) {
    const auto source =
        open(mnist(packed ? gzipped(images) : images, packed ? gzipped(labels) : labels));
    EXPECT_EQ(source->count(), 2);
    EXPECT_EQ(source->form(), (PictureForm{2, 3, 1}));
    EXPECT_EQ(source->classes(), 6);
    std::int32_t label = -1;
    const std::vector<std::uint8_t> pixels = read(*source, 1, &label);
    EXPECT_EQ(std::string(pixels.begin(), pixels.end()), "ABCDEF");
    EXPECT_EQ(label, 1);
  }
}

TEST_F(Sources, MnistDamage) {
  const std::string labels = idx(0x801, {2}, std::string("\5\1", 2));
  const auto with = [&](unsigned count, unsigned height, unsigned width, std::size_t bytes) {
    return refused(mnist(idx(0x803, {count, height, width}, std::string(bytes, 'x')), labels));
  };
  EXPECT_EQ(with(2, 2, 3, 12), "");
  EXPECT_PRED2(has, with(2, 2, 3, 11),
               "input/output error: the file is truncated: 11 bytes where 12 must follow");
  EXPECT_PRED2(has, with(2, 2, 3, 13), "input/output error: the file goes on");
  EXPECT_PRED2(has, with(3, 2, 3, 18), "shape error: 2 labels for 3 pictures");
  EXPECT_PRED2(has, with(0, 2, 3, 0), "input/output error: the file has no pictures");
  EXPECT_PRED2(has, with(2, 0, 3, 0), "input/output error: the file has no pictures");
  EXPECT_PRED2(has, with(0xffffffff, 0xffffffff, 0xffffffff, 9),
               "limit exceeded: 4294967295 pictures");
  EXPECT_PRED2(has, with(0xffffffff, 0x4000, 0x4000, 9), "limit exceeded: 4294967295 pictures");
  EXPECT_PRED2(has, refused(mnist(labels, labels)),
               "input/output error: not an idx file of pictures: it begins "
               "with 00000801, need 00000803");
  EXPECT_PRED2(has, refused(mnist("", labels)), "input/output error: the file is truncated");
  const std::string images = idx(0x803, {2, 1, 1}, "ab");
  EXPECT_PRED2(has, refused(mnist(images, images)),
               "input/output error: not an idx file of labels");
  EXPECT_PRED2(has, refused(mnist(images, labels.substr(0, 9))),
               "input/output error: the file is truncated");
  EXPECT_PRED2(has, refused(mnist(images, labels), {.classes = 5}),
               "shape error: picture 0 has label 5");
}

TEST_F(Sources, NpyOfEitherRankAndEveryLabel) {
  for (const bool colours : {false, true})
    for (const DType type : {DType::U8, DType::I8, DType::I32, DType::I64}) {
      const program::Shape shape = colours ? program::Shape{4, 2, 3, 3} : program::Shape{4, 2, 9};
      const auto source = open(npy(tensor(DType::U8, shape), tensor(type, {4}, 2)));
      EXPECT_EQ(source->count(), 4);
      EXPECT_EQ(source->form(), (colours ? PictureForm{2, 3, 3} : PictureForm{2, 9, 1}));
      EXPECT_EQ(source->classes(), 7);
      std::int32_t label = -1;
      EXPECT_EQ(read(*source, 3, &label)[17], 71);
      EXPECT_EQ(label, 6);
    }
}

TEST_F(Sources, NpyDamage) {
  const std::string images = tensor(DType::U8, {3, 2, 2, 3});
  const std::string labels = tensor(DType::I64, {3});
  const auto with = [&](const std::string &first, const std::string &second) {
    return refused(npy(first, second));
  };
  EXPECT_EQ(with(images, tensor(DType::I64, {3, 1})), "");
  EXPECT_PRED2(has, with(images.substr(0, images.size() - 1), labels),
               "input/output error: not a valid .npy file");
  EXPECT_PRED2(has, with(images + "x", labels), "input/output error: not a valid .npy file");
  EXPECT_PRED2(has, with("", labels), "input/output error: not a valid .npy file");
  EXPECT_PRED2(has, with(tensor(DType::F32, {3, 2, 2, 3}), labels),
               "shape error: elements are f32[3, 2, 2, 3]");
  EXPECT_PRED2(has, with(tensor(DType::U8, {3, 2}), labels), "shape error: elements are u8[3, 2]");
  EXPECT_PRED2(has, with(tensor(DType::U8, {3, 3, 2, 17}), labels),
               "shape error: pictures have 17 channels");
  EXPECT_PRED2(has, with(tensor(DType::U8, {0, 2, 2, 3}), labels),
               "input/output error: the file has no pictures");
  EXPECT_PRED2(has, with(images, tensor(DType::I64, {4})),
               "shape error: labels of shape [4] for 3 pictures");
  EXPECT_PRED2(has, with(images, tensor(DType::I64, {1, 3})),
               "shape error: labels of shape [1, 3]");
  EXPECT_PRED2(has, with(images, tensor(DType::F32, {3})), "type error: labels are f32");
  EXPECT_PRED2(has, with(images, tensor(DType::I64, {3}, -1)),
               "shape error: picture 1 has label -1");
  EXPECT_PRED2(has, with(images, tensor(DType::I64, {3}, 2147483647)),
               "shape error: picture 1 has label");
  EXPECT_PRED2(has, refused(npy(images, labels), {.classes = 2}),
               "shape error: picture 2 has label 2");
}

TEST_F(Sources, NpyThatIsCutWhileItIsRead) {
  const auto source = open(npy(tensor(DType::U8, {3, 2, 2, 3}), tensor(DType::I64, {3})));
  std::filesystem::resize_file(folder_.path("images.npy"), 150);
  EXPECT_PRED2(has, refusal([&] { read(*source, 2); }),
               "input/output error: the file has become shorter");
}

TEST_F(Sources, KindsThatAreNone) {
  for (const char *text : {"", "cifar", "cifar:", "zip:x", "a.bin"})
    EXPECT_PRED2(has, refused(text), "names no data");
  EXPECT_PRED2(has, refused("mnist:x"), "names 1 files, need mnist:PICTURES,LABELS");
  EXPECT_PRED2(has, refused("npy:x,y,z"), "names 3 files, need npy:PICTURES,LABELS");
}

} // namespace
} // namespace tilefuse::data
