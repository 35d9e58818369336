// SPDX-License-Identifier: Apache-2.0
// How a picture becomes a model's input. Settings come from a preset, a TOML file and options, each
// overriding the one before; value = (pixel * scale - mean) / std, pixel 0..255.
//
//   size = "32x32"            resize to it, width x height; the model's own size without any
//   pad = 114                 keep the proportions; this grey fills what is left, right and below
//   resize_shorter = 256      or: resize so that the shorter side has this many pixels
//   crop = "224"              then keep the middle: a side, or WxH
//   order = "rgb"             channel order the model takes: rgb or bgr; one channel gets luma
//   scale = "1/127.5"         a number, a fraction or one per channel
//   mean = [1, 1, 1]          in the model's channel order; one number serves all
//   std = [1, 1, 1]
//   layout = "nchw"           or nhwc; without it, the one that fits the input's shape
//   labels = "labels.txt"     beside the TOML file
//   preset = "imagenet-caffe" the settings start from this
//
// The table [detect] of the same file is detect_recipe.h's.
#pragma once

#include <array>
#include <optional>
#include <string>

namespace tilefuse::tool {

// As written by the user; an empty text means "not said".
struct PreprocessText {
  std::string preset, size, pad, resize_shorter, crop, order, scale, mean, std, layout, labels;
};

struct Preprocess {
  std::optional<std::array<int, 2>> size; // width, height
  std::optional<int> pad;                 // grey of what a picture of other proportions leaves
  std::optional<int> resize_shorter;
  std::optional<std::array<int, 2>> crop;
  bool bgr = false;
  std::optional<bool> nhwc;
  std::array<double, 3> scale = {1, 1, 1};
  std::array<double, 3> mean = {0, 0, 0};
  std::array<double, 3> std = {1, 1, 1};
};

// Error{Io|Syntax} names the key or line that is wrong. `labels` comes back relative to the file's
// folder.
PreprocessText read_preprocess(const std::string &toml_file);
// `over` wins where it says something: its preset replaces all of `base` but the labels, its size
// replaces other sizes.
PreprocessText merge(PreprocessText base, const PreprocessText &over);
// The settings in force for a model: those of `file`, or of MODEL.toml beside it, under what was
// said. `note` gets the file's name where one was found or named.
PreprocessText settings_for(const std::string &model, std::string file, const PreprocessText &said,
                            std::string &note);
// Presets resolved, texts checked: Error{Syntax} says which setting is wrong and what is needed.
Preprocess to_preprocess(const PreprocessText &text);

} // namespace tilefuse::tool
