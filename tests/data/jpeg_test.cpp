// SPDX-License-Identifier: Apache-2.0
#include "data/jpeg.h"

#include <gtest/gtest.h>
#include <turbojpeg.h>

#include "data/decode_image.h"
#include "data/written.h"

namespace tilefuse::data {
namespace {

constexpr int kSide = 16;

// A file of 16 x 16 pixels that are all `pixel`.
std::string compressed(const std::vector<std::uint8_t> &pixel, TJPF format, int flags = 0) {
  std::vector<std::uint8_t> pixels;
  for (int i = 0; i < kSide * kSide; ++i)
    pixels.insert(pixels.end(), pixel.begin(), pixel.end());
  void *const handle = tjInitCompress();
  unsigned char *bytes = nullptr;
  unsigned long length = 0;
  const int subsampling = format == TJPF_GRAY ? TJSAMP_GRAY : TJSAMP_444;
  EXPECT_EQ(tjCompress2(handle, pixels.data(), kSide, 0, kSide, format, &bytes, &length,
                        subsampling, 100, flags),
            0);
  const std::string text(reinterpret_cast<const char *>(bytes), length);
  tjFree(bytes);
  tjDestroy(handle);
  return text;
}

void expect_colour(const std::string &bytes, const std::array<int, 3> &colour) {
  const Image image = decode_image(bytes, "x.jpg");
  ASSERT_EQ(image.rgb.size(), std::size_t{kSide * kSide * 3});
  for (std::size_t i = 0; i < image.rgb.size(); ++i)
    EXPECT_NEAR(image.rgb[i], colour.at(i % 3), 2) << i;
}

TEST(Jpeg, GreyColourAndInks) {
  expect_colour(compressed({200, 100, 50}, TJPF_RGB), {200, 100, 50});
  expect_colour(compressed({200, 100, 50}, TJPF_RGB, TJFLAG_PROGRESSIVE), {200, 100, 50});
  expect_colour(compressed({90}, TJPF_GRAY), {90, 90, 90});
  expect_colour(compressed({255, 128, 0, 127}, TJPF_CMYK), {127, 64, 0});
}

TEST(Jpeg, BytesBetweenSegmentsAreHarmless) {
  std::string bytes = compressed({200, 100, 50}, TJPF_RGB);
  bytes.insert(2, "left here");
  expect_colour(bytes, {200, 100, 50});
}

TEST(Jpeg, DamageIsRefused) {
  const std::string whole = compressed({200, 100, 50}, TJPF_RGB);
  const auto refused = [](const std::string &bytes) {
    return refusal([&] { decode_image(bytes, "x.jpg"); });
  };
  for (std::size_t length = 2; length < whole.size() - 2; ++length)
    EXPECT_PRED2(has, refused(whole.substr(0, length)), "input/output error: the JPEG is damaged")
        << length;
  std::string tables = whole; // 255 codes of one length, past what a table holds
  tables[tables.find("\xff\xc4") + 8] = '\xff';
  EXPECT_PRED2(has, refused(tables), "input/output error: the JPEG is damaged");
  EXPECT_PRED2(has, refusal([&] { decode_image(whole, "x.jpg", kSide * kSide - 1); }),
               "limit exceeded: the image would be 16 x 16");
}

} // namespace
} // namespace tilefuse::data
