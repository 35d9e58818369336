// SPDX-License-Identifier: Apache-2.0
#include "settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/toml.h"
#include "files.h"

namespace tilefuse::tool {
namespace {

constexpr int kMaxSide = 1 << 16;
constexpr std::int64_t kTomlLimit = 1 << 20;

struct Setting {
  std::string_view key;
  std::string PreprocessText::*text;
};
constexpr std::array<Setting, 11> kSettings = {{{"preset", &PreprocessText::preset},
                                                {"size", &PreprocessText::size},
                                                {"pad", &PreprocessText::pad},
                                                {"resize_shorter", &PreprocessText::resize_shorter},
                                                {"crop", &PreprocessText::crop},
                                                {"order", &PreprocessText::order},
                                                {"scale", &PreprocessText::scale},
                                                {"mean", &PreprocessText::mean},
                                                {"std", &PreprocessText::std},
                                                {"layout", &PreprocessText::layout},
                                                {"labels", &PreprocessText::labels}}};

struct Preset {
  std::string_view name;
  PreprocessText text;
};

// Caffe's networks take BGR minus a mean, torchvision's RGB in 0..1 normalised.
const std::array<Preset, 2> &presets() {
  static const std::array<Preset, 2> kPresets = {
      {{"imagenet-caffe",
        {.resize_shorter = "256", .crop = "224", .order = "bgr", .mean = "103.939,116.779,123.68"}},
       {"imagenet-torch",
        {.resize_shorter = "256",
         .crop = "224",
         .order = "rgb",
         .scale = "1/255",
         .mean = "0.485,0.456,0.406",
         .std = "0.229,0.224,0.225"}}}};
  return kPresets;
}

[[noreturn]] void wrong(std::string_view setting, const std::string &got, std::string_view need) {
  throw Error(ErrorCode::Syntax,
              fmt::format("preprocessing: {} is '{}', need {}", setting, got, need));
}

std::optional<double> plain_number(std::string_view text) {
  double value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return {};
  return value;
}

// "0.5" or "1/255".
std::optional<double> number(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos)
    return plain_number(text);
  const std::optional<double> top = plain_number(text.substr(0, slash));
  const std::optional<double> bottom = plain_number(text.substr(slash + 1));
  if (!top || !bottom || *bottom == 0)
    return {};
  return *top / *bottom;
}

// One number for all channels, or three.
std::array<double, 3> numbers(std::string_view setting, const std::string &text) {
  std::vector<double> values;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::optional<double> value = number(std::string_view(text).substr(begin, end - begin));
    if (!value)
      wrong(setting, text, "one number, or three with commas between");
    values.push_back(*value);
    begin = end + 1;
  }
  if (values.size() == 1)
    return {values[0], values[0], values[0]};
  if (values.size() != 3)
    wrong(setting, text, "one number, or three with commas between");
  return {values[0], values[1], values[2]};
}

int side(std::string_view setting, const std::string &whole, std::string_view text) {
  int value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size() || value < 1 || value > kMaxSide)
    wrong(setting, whole, fmt::format("pixels in 1..{}", kMaxSide));
  return value;
}

int grey(const std::string &text) {
  int value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size() || value < 0 || value > 255)
    wrong("pad", text, "a grey in 0..255");
  return value;
}

// "224" or "320x240".
std::array<int, 2> sides(std::string_view setting, const std::string &text) {
  const std::size_t cross = text.find('x');
  if (cross == std::string::npos)
    return {side(setting, text, text), side(setting, text, text)};
  const std::string_view whole(text);
  return {side(setting, text, whole.substr(0, cross)),
          side(setting, text, whole.substr(cross + 1))};
}

// True for the second of two words.
bool second_of(std::string_view setting, const std::string &text, std::string_view first,
               std::string_view second) {
  if (text != first && text != second)
    wrong(setting, text, fmt::format("{} or {}", first, second));
  return text == second;
}

std::optional<std::string> scalar_text(const toml::node &node) {
  if (const auto *text = node.as_string())
    return text->get();
  if (const auto *integer = node.as_integer())
    return fmt::format("{}", integer->get());
  if (const auto *real = node.as_floating_point())
    return fmt::format("{}", real->get());
  return {};
}

// A TOML value as the option's text: arrays become comma-separated.
std::string value_text(const toml::node &node, std::string_view key, const std::string &file) {
  if (const std::optional<std::string> text = scalar_text(node))
    return *text;
  std::string joined;
  const toml::array *array = node.as_array();
  for (std::size_t i = 0; array != nullptr && i < array->size(); ++i) {
    const std::optional<std::string> text = scalar_text(*array->get(i));
    if (!text)
      array = nullptr;
    if (text)
      joined += (joined.empty() ? "" : ",") + *text;
  }
  if (array == nullptr || joined.empty())
    throw Error(ErrorCode::Syntax,
                fmt::format("'{}' must be a text, a number or numbers in brackets", key),
                fmt::format("{}:{}", file, node.source().begin.line));
  return joined;
}

PreprocessText from_table(const toml::table &table, const std::string &file) {
  PreprocessText text;
  for (const auto &[key, node] : table) {
    const std::string_view name = key.str();
    if (name == "detect" && node.is_table())
      continue;
    const auto row = std::find_if(kSettings.begin(), kSettings.end(),
                                  [&](const Setting &s) { return s.key == name; });
    if (row == kSettings.end()) {
      std::string keys;
      for (const Setting &setting : kSettings)
        keys += fmt::format("{}{}", keys.empty() ? "" : ", ", setting.key);
      throw Error(ErrorCode::Syntax, fmt::format("'{}' is not a setting of preprocessing", name),
                  fmt::format("{}:{}", file, key.source().begin.line), {"settings are " + keys});
    }
    text.*(row->text) = value_text(node, name, file);
  }
  return text;
}

bool is_finite_float(double value) { return std::isfinite(static_cast<float>(value)); }

// Inputs are f32 at most: what would not be finite there makes no input.
void check_numbers(const PreprocessText &text, const Preprocess &settings) {
  for (const double deviation : settings.std)
    if (deviation == 0)
      wrong("std", text.std, "numbers other than 0");
  const auto all_finite = [](const std::array<double, 3> &values) {
    return std::all_of(values.begin(), values.end(), is_finite_float);
  };
  if (!all_finite(settings.scale))
    wrong("scale", text.scale, "numbers that are finite in f32");
  if (!all_finite(settings.mean))
    wrong("mean", text.mean, "numbers that are finite in f32");
  for (std::size_t c = 0; c < 3; ++c) {
    const double deviation = settings.std[c];
    if (!is_finite_float(deviation) || !is_finite_float(1 / deviation))
      wrong("std", text.std, "numbers that are finite in f32, as 1/std is");
    for (const double pixel : {0.0, 255.0})
      if (!is_finite_float((pixel * settings.scale[c] - settings.mean[c]) / deviation))
        wrong("std", text.std, "numbers that keep (pixel * scale - mean) / std finite in f32");
  }
}

} // namespace

PreprocessText read_preprocess(const std::string &toml_file) {
  PreprocessText text =
      from_table(parse_toml(read_file(toml_file, kTomlLimit), toml_file), toml_file);
  if (!text.labels.empty())
    text.labels = (std::filesystem::path(toml_file).parent_path() / text.labels).string();
  return text;
}

PreprocessText merge(PreprocessText base, const PreprocessText &over) {
  if (!over.preset.empty())
    base = {.labels = base.labels};
  if (!over.size.empty())
    base.resize_shorter = base.crop = "";
  if (!over.resize_shorter.empty())
    base.size = base.pad = "";
  if (!over.crop.empty())
    base.pad = "";
  if (!over.pad.empty())
    base.resize_shorter = base.crop = "";
  for (const Setting &setting : kSettings)
    if (!(over.*(setting.text)).empty())
      base.*(setting.text) = over.*(setting.text);
  return base;
}

PreprocessText settings_for(const std::string &model, std::string file, const PreprocessText &said,
                            std::string &note) {
  if (file.empty()) {
    std::error_code failure;
    const std::filesystem::path beside = std::filesystem::path(model).replace_extension(".toml");
    if (std::filesystem::exists(beside, failure))
      file = beside.string();
  }
  if (file.empty())
    return merge({}, said);
  note = file;
  return merge(read_preprocess(file), said);
}

Preprocess to_preprocess(const PreprocessText &said) {
  PreprocessText text = said;
  if (!said.preset.empty()) {
    const auto row = std::find_if(presets().begin(), presets().end(),
                                  [&](const Preset &preset) { return preset.name == said.preset; });
    if (row == presets().end())
      wrong("preset", said.preset, "imagenet-caffe or imagenet-torch");
    text.preset.clear();
    text = merge(row->text, text);
  }
  if (!text.size.empty() && !text.resize_shorter.empty())
    wrong("size", text.size, "either size or resize_shorter, not both");
  if (!text.pad.empty() && !(text.resize_shorter.empty() && text.crop.empty()))
    wrong("pad", text.pad, "no resize_shorter and no crop beside it");
  Preprocess result;
  if (!text.pad.empty())
    result.pad = grey(text.pad);
  if (!text.size.empty())
    result.size = sides("size", text.size);
  if (!text.resize_shorter.empty())
    result.resize_shorter = side("resize_shorter", text.resize_shorter, text.resize_shorter);
  if (!text.crop.empty())
    result.crop = sides("crop", text.crop);
  if (!text.order.empty())
    result.bgr = second_of("order", text.order, "rgb", "bgr");
  if (!text.layout.empty())
    result.nhwc = second_of("layout", text.layout, "nchw", "nhwc");
  if (!text.scale.empty())
    result.scale = numbers("scale", text.scale);
  if (!text.mean.empty())
    result.mean = numbers("mean", text.mean);
  if (!text.std.empty())
    result.std = numbers("std", text.std);
  check_numbers(text, result);
  return result;
}

} // namespace tilefuse::tool
