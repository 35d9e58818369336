// SPDX-License-Identifier: Apache-2.0
#include "layers.h"

#include <fmt/format.h>

#include "base/error.h"

namespace tilefuse::bench {
namespace {

std::vector<Layer> squeezenet() {
  return {{"conv1", 3, 224, 224, 64, 3, 2, 0},         {"fire2_squeeze", 64, 55, 55, 16, 1, 1, 0},
          {"fire2_expand1", 16, 55, 55, 64, 1, 1, 0},  {"fire2_expand3", 16, 55, 55, 64, 3, 1, 1},
          {"fire3_squeeze", 128, 55, 55, 16, 1, 1, 0}, {"fire4_squeeze", 128, 27, 27, 32, 1, 1, 0},
          {"fire4_expand1", 32, 27, 27, 128, 1, 1, 0}, {"fire4_expand3", 32, 27, 27, 128, 3, 1, 1},
          {"fire5_squeeze", 256, 27, 27, 32, 1, 1, 0}, {"fire6_squeeze", 256, 13, 13, 48, 1, 1, 0},
          {"fire6_expand1", 48, 13, 13, 192, 1, 1, 0}, {"fire6_expand3", 48, 13, 13, 192, 3, 1, 1},
          {"fire7_squeeze", 384, 13, 13, 48, 1, 1, 0}, {"fire8_squeeze", 384, 13, 13, 64, 1, 1, 0},
          {"fire8_expand1", 64, 13, 13, 256, 1, 1, 0}, {"fire8_expand3", 64, 13, 13, 256, 3, 1, 1},
          {"fire9_squeeze", 512, 13, 13, 64, 1, 1, 0}, {"conv10", 512, 13, 13, 1000, 1, 1, 0}};
}

std::vector<Layer> resnet50() {
  return {{"conv1", 3, 224, 224, 64, 7, 2, 3},       {"res2_1x1a", 64, 56, 56, 64, 1, 1, 0},
          {"res2_3x3", 64, 56, 56, 64, 3, 1, 1},     {"res2_1x1c", 64, 56, 56, 256, 1, 1, 0},
          {"res2_1x1b", 256, 56, 56, 64, 1, 1, 0},   {"res3_down", 256, 56, 56, 512, 1, 2, 0},
          {"res3_1x1a", 256, 56, 56, 128, 1, 1, 0},  {"res3_3x3s2", 128, 56, 56, 128, 3, 2, 1},
          {"res3_1x1c", 128, 28, 28, 512, 1, 1, 0},  {"res3_1x1b", 512, 28, 28, 128, 1, 1, 0},
          {"res3_3x3", 128, 28, 28, 128, 3, 1, 1},   {"res4_down", 512, 28, 28, 1024, 1, 2, 0},
          {"res4_1x1a", 512, 28, 28, 256, 1, 1, 0},  {"res4_3x3s2", 256, 28, 28, 256, 3, 2, 1},
          {"res4_1x1c", 256, 14, 14, 1024, 1, 1, 0}, {"res4_1x1b", 1024, 14, 14, 256, 1, 1, 0},
          {"res4_3x3", 256, 14, 14, 256, 3, 1, 1},   {"res5_down", 1024, 14, 14, 2048, 1, 2, 0},
          {"res5_1x1a", 1024, 14, 14, 512, 1, 1, 0}, {"res5_3x3s2", 512, 14, 14, 512, 3, 2, 1},
          {"res5_1x1c", 512, 7, 7, 2048, 1, 1, 0},   {"res5_1x1b", 2048, 7, 7, 512, 1, 1, 0},
          {"res5_3x3", 512, 7, 7, 512, 3, 1, 1}};
}

Layer depthwise(const std::string &name, std::int64_t channels, std::int64_t size,
                std::int64_t stride) {
  return {name, channels, size, size, channels, 3, stride, 1, LayerKind::Depthwise};
}

// Of version 1; version 2 has layers alike with other channel counts.
std::vector<Layer> mobilenet_depthwise() {
  return {depthwise("dw2_32", 32, 112, 1),    depthwise("dw3_64s2", 64, 112, 2),
          depthwise("dw4_128", 128, 56, 1),   depthwise("dw5_128s2", 128, 56, 2),
          depthwise("dw6_256", 256, 28, 1),   depthwise("dw7_256s2", 256, 28, 2),
          depthwise("dw8_512", 512, 14, 1),   depthwise("dw13_512s2", 512, 14, 2),
          depthwise("dw14_1024", 1024, 7, 1), depthwise("v2_96s2", 96, 112, 2),
          depthwise("v2_144", 144, 56, 1),    depthwise("v2_576", 576, 14, 1)};
}

std::vector<Layer> first_layers() {
  return {{"resnet_7x7s2", 3, 224, 224, 64, 7, 2, 3},
          {"squeezenet_3x3s2", 3, 224, 224, 64, 3, 2, 0},
          {"mobilenet_3x3s2", 3, 224, 224, 32, 3, 2, 1},
          {"vgg_3x3", 3, 224, 224, 64, 3, 1, 1}};
}

std::vector<Layer> kinds() {
  return {{"conv3x3_64", 64, 56, 56, 64, 3, 1, 1},
          {"conv3x3_256", 256, 14, 14, 256, 3, 1, 1},
          {"conv3x3_512s2", 512, 14, 14, 512, 3, 2, 1},
          {"expand3x3_16", 16, 55, 55, 64, 3, 1, 1},
          {"conv1x1_256", 256, 56, 56, 64, 1, 1, 0},
          {"squeeze1x1_512", 512, 13, 13, 64, 1, 1, 0},
          {"down1x1s2_256", 256, 56, 56, 512, 1, 2, 0},
          {"first7x7s2", 3, 224, 224, 64, 7, 2, 3},
          {"first3x3s2", 3, 224, 224, 32, 3, 2, 1},
          depthwise("depthwise_144", 144, 56, 1),
          depthwise("depthwise_512s2", 512, 14, 2),
          {"dense_2048", 2048, 1, 1, 1000, 1, 1, 0, LayerKind::Dense},
          {"maxpool3s2_64", 64, 112, 112, 64, 3, 2, 1, LayerKind::MaxPool},
          {"add_channel_256", 256, 56, 56, 256, 1, 1, 0, LayerKind::AddChannel}};
}

} // namespace

std::vector<Layer> layers_of(const std::string &network) {
  if (network == "squeezenet")
    return squeezenet();
  if (network == "resnet50")
    return resnet50();
  if (network == "mobilenet_depthwise")
    return mobilenet_depthwise();
  if (network == "first_layers")
    return first_layers();
  if (network == "kinds")
    return kinds();
  if (network == "held_out")
    return held_out_layers();
  throw Error(ErrorCode::Unsupported,
              fmt::format("no layers are listed for '{}'; there are squeezenet, resnet50, "
                          "mobilenet_depthwise, first_layers, kinds and held_out",
                          network));
}

} // namespace tilefuse::bench
