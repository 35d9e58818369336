// SPDX-License-Identifier: Apache-2.0
// From a picture to a model's input: resized and cropped as the settings say, then
// value = (pixel * scale - mean) / std per channel, in the input's type and layout.
#pragma once

#include <string>

#include "data/image.h"
#include "program/host_tensor.h"
#include "settings.h"

namespace tilefuse::tool {

// Shape of an image input: [N, C, H, W] or [N, H, W, C] with C of 1 or 3. Error{Shape} when it is
// neither.
struct ImageShape {
  std::int64_t batch = 1;
  int channels = 3;
  int height = 0;
  int width = 0;
  bool nhwc = false;
};
ImageShape image_shape(const program::HostTensor &input, const Preprocess &settings);

// Where a picture's pixels lie in the input: at x * scale_x + shift_x, y * scale_y + shift_y.
struct Placement {
  double scale_x = 1, scale_y = 1;
  double shift_x = 0, shift_y = 0;
};
Placement placement(const data::Image &image, const Preprocess &settings, const ImageShape &shape);

// Writes the picture into place `n` of the batch. Error{Shape} when the size made is not the one
// taken; `file` names it.
void fill_input(const data::Image &image, const Preprocess &settings, std::int64_t n,
                program::HostTensor &input, const std::string &file);

} // namespace tilefuse::tool
