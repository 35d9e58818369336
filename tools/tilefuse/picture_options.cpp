// SPDX-License-Identifier: Apache-2.0
#include "picture_options.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/error.h"

namespace tilefuse::tool {
namespace {

struct Row {
  const char *name;
  std::string PreprocessText::*text;
  const char *help;
  const char *type;
};
constexpr Row kRows[] = {
    {"--preset", &PreprocessText::preset, "imagenet-caffe or imagenet-torch", "NAME"},
    {"--size", &PreprocessText::size, "Resize straight to this size", "WxH"},
    {"--pad", &PreprocessText::pad, "Keep the proportions; this grey fills what is left", "0..255"},
    {"--resize-shorter", &PreprocessText::resize_shorter,
     "Resize so that the shorter side has this many pixels", "N"},
    {"--crop", &PreprocessText::crop, "Then keep the middle", "N|WxH"},
    {"--order", &PreprocessText::order, "Channel order of the model: rgb (default) or bgr",
     "ORDER"},
    {"--scale", &PreprocessText::scale, "One number or fraction, or one per channel", "S|A,B,C"},
    {"--mean", &PreprocessText::mean, "As --scale, in the model's channel order", "S|A,B,C"},
    {"--std", &PreprocessText::std, "As --mean", "S|A,B,C"},
    {"--layout", &PreprocessText::layout, "nchw or nhwc; found from the input's shape if not given",
     "LAYOUT"}};

} // namespace

void add_picture_options(CLI::App &verb, PictureOptions &options) {
  verb.add_option("--preprocess", options.file,
                  "TOML file with the settings below, and [detect]; MODEL.toml beside the model if "
                  "not given")
      ->type_name("FILE");
  for (const Row &row : kRows)
    verb.add_option(row.name, options.said.*(row.text), row.help)->type_name(row.type);
}

PictureSettings picture_settings(const std::string &model, const PictureOptions &options) {
  PictureSettings settings;
  const PreprocessText text = settings_for(model, options.file, options.said, settings.note);
  settings.preprocess = to_preprocess(text);
  settings.labels = text.labels;
  if (!settings.note.empty())
    settings.detect = read_detect(settings.note);
  const bool is_preset = !text.preset.empty();
  settings.is_scaled = is_preset || !settings.note.empty() || !text.scale.empty() ||
                       !text.mean.empty() || !text.std.empty();
  settings.is_shaped = is_preset || !text.size.empty() || !text.pad.empty() ||
                       !text.resize_shorter.empty() || !text.crop.empty();
  return settings;
}

void check_no_picture_options(const PictureOptions &options) {
  for (const Row &row : kRows)
    if (!(options.said.*(row.text)).empty())
      throw Error(ErrorCode::Unsupported,
                  fmt::format("{} is for pictures, and no picture is given", row.name), {},
                  {"--image FILE gives one"});
  if (!options.file.empty())
    throw Error(ErrorCode::Unsupported, "--preprocess is for pictures, and no picture is given", {},
                {"--image FILE gives one"});
}

} // namespace tilefuse::tool
