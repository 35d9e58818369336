// SPDX-License-Identifier: Apache-2.0
#include "report/html/picture/svg.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "report/table.h"
#include "report/text_width.h"

namespace tilefuse::report::html {
namespace {

constexpr std::array<double, 4> kHeats = {0.1, 0.25, 0.5, 0.75};

} // namespace

Markup &open_picture(Markup &out, double height, std::string_view says, double width) {
  return out.open("svg", {{"viewBox", fmt::format("0 0 {} {}", number(width), number(height))},
                          {"width", width},
                          {"height", height},
                          {"role", "img"},
                          {"aria-label", std::string(says)}});
}

Markup &label(Markup &out, Point at, std::string_view text, std::string_view css) {
  if (css.empty())
    return out.element("text", {{"x", at.x}, {"y", at.y}}, text);
  return out.element("text", {{"x", at.x}, {"y", at.y}, {"class", std::string(css)}}, text);
}

Markup &box(Markup &out, const Box &box, std::string_view css) {
  return out.leaf("rect", {{"x", box.at.x},
                           {"y", box.at.y},
                           {"width", std::max(box.width, 0.0)},
                           {"height", std::max(box.height, 0.0)},
                           {"class", std::string(css)}});
}

Markup &box(Markup &out, const Box &box, std::string_view css, std::string_view title) {
  out.open("rect", {{"x", box.at.x},
                    {"y", box.at.y},
                    {"width", std::max(box.width, 0.0)},
                    {"height", std::max(box.height, 0.0)},
                    {"class", std::string(css)}});
  return out.element("title", {}, title).close();
}

Markup &line(Markup &out, Point from, Point to, std::string_view css) {
  return out.leaf(
      "line",
      {{"x1", from.x}, {"y1", from.y}, {"x2", to.x}, {"y2", to.y}, {"class", std::string(css)}});
}

std::string fitted(std::string_view text, double width) {
  return cut(std::string(text), static_cast<std::size_t>(std::max(0.0, width / kCharacter)));
}

std::string heat(double share) {
  const auto above = std::upper_bound(kHeats.begin(), kHeats.end(), share);
  return fmt::format("h{}", above - kHeats.begin());
}

void heat_legend(Markup &out, Point at) {
  label(out, {at.x, at.y + 10}, "share of the roofline");
  at.x += 140;
  for (std::size_t step = 0; step <= kHeats.size(); ++step) {
    box(out, {at, 14, 12}, fmt::format("h{}", step));
    const std::string text = step == 0 ? fmt::format("under {:.0f} %", kHeats[0] * 100)
                                       : fmt::format("{:.0f} % on", kHeats[step - 1] * 100);
    label(out, {at.x + 19, at.y + 10}, text);
    at.x += 100;
  }
}

std::string time_text(double seconds) {
  if (seconds >= 1)
    return fmt::format("{:.2f} s", seconds);
  return seconds >= 1e-3 ? fmt::format("{:.2f} ms", seconds * 1e3)
                         : fmt::format("{:.1f} us", seconds * 1e6);
}

std::string bytes_text(double bytes) {
  if (bytes >= 1e6)
    return fmt::format("{:.1f} MB", bytes * 1e-6);
  return bytes >= 1e3 ? fmt::format("{:.1f} kB", bytes * 1e-3) : fmt::format("{:.0f} B", bytes);
}

std::string percent_text(double share) { return fmt::format("{:.0f} %", share * 100); }

} // namespace tilefuse::report::html
