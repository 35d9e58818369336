// SPDX-License-Identifier: Apache-2.0
#include "report/html/picture/pipe_picture.h"

#include <algorithm>

#include "report/html/picture/svg.h"

namespace tilefuse::report::html {
namespace {

constexpr double kRow = 26;
constexpr double kNames = 270;
constexpr double kWidest = 56; // of a bar

std::string_view class_of(TimelineBar::Kind kind) {
  switch (kind) {
  case TimelineBar::Kind::Copy:
    return "part";
  case TimelineBar::Kind::Compute:
    return "bound";
  case TimelineBar::Kind::Store:
    return "first";
  }
  return "";
}

} // namespace

void pipe_picture(Markup &out, const Timeline &timeline) {
  const double unit = std::min(kWidest, (kWidth - kNames - 10) / std::max(1.0, timeline.length));
  open_picture(out, kRow * static_cast<double>(timeline.rows.size()) + 20,
               "In which order copies, arithmetic and stores run");
  for (std::size_t r = 0; r < timeline.rows.size(); ++r)
    label(out, {kNames - 10, kRow * static_cast<double>(r) + 17},
          fitted(timeline.rows[r], kNames - 14), "end");
  for (const TimelineBar &bar : timeline.bars) {
    const double x = kNames + unit * bar.begin;
    const double y = kRow * static_cast<double>(bar.row);
    const double width = unit * (bar.end - bar.begin) - 2;
    box(out, {{x, y + 3}, width, kRow - 6}, class_of(bar.kind));
    label(out, {x + width / 2, y + 17}, bar.text, "mid");
  }
  label(out, {kNames, kRow * static_cast<double>(timeline.rows.size()) + 14},
        "time, in steps of the sum; numbers are steps, of stores tiles", "faint");
  out.close();
}

} // namespace tilefuse::report::html
