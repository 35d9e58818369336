// SPDX-License-Identifier: Apache-2.0
#include "preprocess.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace tilefuse::tool {
namespace {

using data::Image;
using program::HostTensor;

TEST(Preprocess, LayoutsOrdersAndScales) {
  const Image image{1, 1, {10, 20, 40}};
  Preprocess settings =
      to_preprocess({.order = "bgr", .scale = "1/10", .mean = "1,2,3", .std = "2"});
  for (const bool nhwc : {false, true}) {
    const program::Shape shape = nhwc ? program::Shape{2, 1, 1, 3} : program::Shape{2, 3, 1, 1};
    HostTensor input = program::make_host_tensor("x", DType::F16, shape);
    settings.nhwc = nhwc;
    fill_input(image, settings, 1, input, "i.png");
    EXPECT_EQ(program::get(input, 0), 0);
    EXPECT_EQ(program::get(input, 3), 1.5);
    EXPECT_EQ(program::get(input, 4), 0);
    EXPECT_EQ(program::get(input, 5), -1);
  }
}

TEST(Preprocess, OneChannelGetsLuma) {
  HostTensor input = program::make_host_tensor("x", DType::F32, {1, 1, 1, 1});
  fill_input(Image{1, 1, {255, 0, 0}}, to_preprocess({}), 0, input, "i.png");
  EXPECT_EQ(program::get(input, 0), 76);
}

TEST(Preprocess, PaddedPicturesKeepTheirProportions) {
  const Image wide = data::resize(Image{1, 1, {90, 90, 90}}, 8, 4);
  const Preprocess settings = to_preprocess({.pad = "7"});
  HostTensor input = program::make_host_tensor("x", DType::F32, {1, 3, 4, 4});
  fill_input(wide, settings, 0, input, "i.png");
  for (std::int64_t p = 0; p < 16; ++p)
    EXPECT_EQ(program::get(input, p), p < 8 ? 90 : 7) << p;
  const Placement place = placement(wide, settings, image_shape(input, settings));
  EXPECT_EQ(place.scale_x, 0.5);
  EXPECT_EQ(place.scale_y, 0.5);
}

TEST(Preprocess, PlacesOfCroppedPictures) {
  const Image wide = data::resize(Image{1, 1, {90, 90, 90}}, 40, 20);
  const Preprocess settings = to_preprocess({.resize_shorter = "10", .crop = "8"});
  const Placement place = placement(wide, settings, {1, 3, 8, 8, false});
  EXPECT_EQ(place.scale_x, 0.5);
  EXPECT_EQ(place.shift_x, -6);
  EXPECT_EQ(place.shift_y, -1);
}

TEST(Preprocess, ShapesThatTakeNoImage) {
  const auto shape_of = [](program::Shape shape) {
    return image_shape({"x", DType::F32, std::move(shape), {}}, {});
  };
  EXPECT_FALSE(shape_of({1, 3, 8, 9}).nhwc);
  EXPECT_TRUE(shape_of({1, 8, 9, 3}).nhwc);
  EXPECT_EQ(shape_of({1, 8, 9, 3}).width, 9);
  EXPECT_THROW(shape_of({1, 4, 8, 8}), Error);
  EXPECT_THROW(shape_of({3, 8, 8}), Error);
  EXPECT_THROW(shape_of({1, 3, std::int64_t{1} << 40, 8}), Error);
}

} // namespace
} // namespace tilefuse::tool
