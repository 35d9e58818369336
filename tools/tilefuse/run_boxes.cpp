// SPDX-License-Identifier: Apache-2.0
#include "run_boxes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "base/read_file.h"
#include "data/decode_image.h"
#include "data/encode_png.h"
#include "labels.h"
#include "paint.h"
#include "preprocess.h"
#include "run_outputs.h"

namespace tilefuse::tool {
namespace {

constexpr int kLineShare = 300;   // of a picture's shorter side: a frame's line
constexpr int kTextShare = 400;   // and a letter's dot
constexpr double kFarthest = 1e6; // pixels, of a point outside of the picture

data::Image decode(const std::string &file) { return data::decode_image(read_file(file), file); }

Box in_picture(Box box, const Placement &place, const data::Image &image) {
  const auto x = [&](double value) { return (value - place.shift_x) / place.scale_x; };
  const auto y = [&](double value) { return (value - place.shift_y) / place.scale_y; };
  box.left = std::clamp(x(box.left), 0.0, double(image.width));
  box.right = std::clamp(x(box.right), 0.0, double(image.width));
  box.top = std::clamp(y(box.top), 0.0, double(image.height));
  box.bottom = std::clamp(y(box.bottom), 0.0, double(image.height));
  for (Pair &point : box.points)
    point = {x(point[0]), y(point[1])};
  return box;
}

int pixel(double value) {
  return static_cast<int>(std::lround(std::clamp(value, -kFarthest, kFarthest)));
}

// The picture with its boxes, their points, classes and scores.
data::Image draw_boxes(const Found &found, const std::vector<std::string> &labels) {
  data::Image image = decode(found.file);
  const int side = std::min(image.width, image.height);
  const int line = std::max(1, side / kLineShare);
  const int scale = std::max(1, side / kTextShare);
  // The best last, on top.
  for (auto box = found.boxes.rbegin(); box != found.boxes.rend(); ++box) {
    const Colour colour = class_colour(box->label + 1);
    const Frame frame{pixel(box->left), pixel(box->top), pixel(box->right), pixel(box->bottom)};
    draw_frame(image, frame, line, colour);
    for (const Pair &point : box->points)
      draw_disc(image, pixel(point[0]), pixel(point[1]), 2 * line + 1, colour);
    draw_label(image, frame.left, frame.top, scale,
               fmt::format("{} {:.2f}", label_of(box->label, labels), box->score), colour);
  }
  return image;
}

} // namespace

std::vector<Found> find_boxes(const PictureSettings &settings,
                              const std::vector<std::string> &files,
                              const program::HostTensor &input,
                              const std::vector<program::HostTensor> &outputs) {
  const ImageShape shape = image_shape(input, settings.preprocess);
  std::vector<Found> all;
  for (std::size_t n = 0; n < files.size(); ++n) {
    const data::Image image = decode(files[n]);
    const Placement place = placement(image, settings.preprocess, shape);
    all.push_back(
        {files[n], detect(*settings.detect, outputs, static_cast<std::int64_t>(n),
                          static_cast<std::int64_t>(files.size()), shape.width, shape.height)});
    for (Box &box : all.back().boxes)
      box = in_picture(box, place, image);
  }
  return all;
}

report::Table box_table(const std::vector<Found> &found, const std::vector<std::string> &labels) {
  report::Table table{.columns = {{"input", "input", false, report::Column::Fit::Cut},
                                  {"label", "label"},
                                  {"class", "class", true, report::Column::Fit::Wide},
                                  {"score", "score", true},
                                  {"left", "left", true},
                                  {"top", "top", true},
                                  {"right", "right", true},
                                  {"bottom", "bottom", true}},
                      .rows = {},
                      .sums = {}};
  std::size_t points = 0;
  for (const Found &picture : found)
    for (const Box &box : picture.boxes)
      points = std::max(points, box.points.size());
  for (std::size_t p = 0; p < points; ++p)
    for (const char *axis : {"x", "y"}) {
      const std::string name = fmt::format("{}{}", axis, p);
      table.columns.push_back({name, name, true, report::Column::Fit::Wide});
    }
  for (const Found &picture : found)
    for (const Box &box : picture.boxes) {
      table.rows.push_back({report::cell(picture.file), report::cell(label_of(box.label, labels)),
                            report::cell(box.label), report::cell(box.score, 3),
                            report::cell(box.left, 1), report::cell(box.top, 1),
                            report::cell(box.right, 1), report::cell(box.bottom, 1)});
      for (const Pair &point : box.points)
        for (const double value : point)
          table.rows.back().push_back(report::cell(value, 1));
    }
  return table;
}

void check_box_place(std::size_t pictures, std::size_t outputs, const std::string &where) {
  const Place place = output_place(where);
  if (place == Place::Array)
    check_output_place(outputs, where);
  if (place == Place::Picture && pictures != 1)
    throw Error(ErrorCode::Shape,
                fmt::format("--output is one file, there are {} pictures", pictures), where,
                {"name a folder: each picture becomes NAME.png in it"});
}

std::vector<OutputFile> box_files(const std::vector<Found> &found,
                                  const std::vector<std::string> &labels,
                                  const std::vector<program::HostTensor> &outputs,
                                  const std::string &where) {
  const Place place = output_place(where);
  if (place == Place::Picture)
    return {{where, data::encode_png(draw_boxes(found[0], labels))}};
  std::vector<OutputFile> files = output_files(outputs, where);
  std::set<std::string> taken;
  for (std::size_t n = 0; n < found.size() && place == Place::Folder; ++n) {
    const std::string name =
        free_name(std::filesystem::path(found[n].file).stem().string(), n, taken);
    files.push_back({(std::filesystem::path(where) / (name + ".png")).string(),
                     data::encode_png(draw_boxes(found[n], labels))});
  }
  return files;
}

} // namespace tilefuse::tool
