// SPDX-License-Identifier: Apache-2.0
// An output as a picture: of three channels in colour, of one as grey, of integers or of more
// channels as a map of classes in the colours of PASCAL VOC.
#pragma once

#include "data/image.h"
#include "program/host_tensor.h"

namespace tilefuse::tool {

// Of [H, W], [C, H, W] and [H, W, C], where C is 3 or less than H and W, also behind dimensions of
// 1. Values of colours and greys
// that lie in 0..1 are stretched to 0..255, those in 0..255 are taken as they are, and others are
// stretched from the least to the most. Error{Shape} where the tensor is no picture.
data::Image output_picture(const program::HostTensor &output);

} // namespace tilefuse::tool
