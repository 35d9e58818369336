// SPDX-License-Identifier: Apache-2.0
// What pictures share: their frame, text that is cut to its room, colours by share of the roofline.
// Coordinates are CSS pixels of a picture kWidth wide, which shrinks with its window.
#pragma once

#include <string>
#include <string_view>

#include "report/html/markup.h"

namespace tilefuse::report::html {

constexpr double kWidth = 1060;
constexpr double kCharacter = 7; // of text of 12 pixels in DejaVu Sans, the widest of the fonts

// <svg>, until close(). What it shows is said to those who do not see it.
Markup &open_picture(Markup &out, double height, std::string_view says, double width = kWidth);
struct Point {
  double x = 0;
  double y = 0;
};
// Text at the baseline's left end; `css` names classes: "end" ends there, "mid" is centred.
Markup &label(Markup &out, Point at, std::string_view text, std::string_view css = "");
struct Box {
  Point at;
  double width = 0;
  double height = 0;
};
Markup &box(Markup &out, const Box &box, std::string_view css);
// The same with what hovering shows.
Markup &box(Markup &out, const Box &box, std::string_view css, std::string_view title);
Markup &line(Markup &out, Point from, Point to, std::string_view css);

// As much of it as fits `width` pixels.
std::string fitted(std::string_view text, double width);
// The class of a share of the roofline: "h0" up to 10 %, …, "h4" from 75 % on; and what they mean.
std::string heat(double share);
void heat_legend(Markup &out, Point at);

// "38.2 us", "3.90 ms"; "64 kB", "3.2 MB".
std::string time_text(double seconds);
std::string bytes_text(double bytes);
std::string percent_text(double share);

} // namespace tilefuse::report::html
