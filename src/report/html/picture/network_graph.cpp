// SPDX-License-Identifier: Apache-2.0
#include "report/html/picture/network_graph.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/html/picture/svg.h"

namespace tilefuse::report::html {
namespace {

constexpr double kRow = 44;    // from one row to the next
constexpr double kHeight = 34; // of a box
constexpr double kGap = 14;    // between boxes
constexpr double kTop = 26;    // of the first row, below the legend
constexpr double kNarrow = 250;
constexpr double kWide = 470;
constexpr double kLane = 90; // room at the right for flows that pass rows

struct Placed {
  Box box;
  double middle() const { return box.at.x + box.width / 2; }
};

class Layout {
public:
  Layout(std::span<const GraphNode> nodes, std::span<const Flow> flows)
      : nodes_(nodes), flows_(flows), rows_(rows_of(nodes.size(), flows)), placed_(nodes.size()) {
    for (const GraphNode &node : nodes)
      longest_ = std::max(longest_, node.kernel.seconds);
    std::size_t count = 0;
    for (const std::size_t row : rows_)
      count = std::max(count, row + 1);
    for (std::size_t row = 0; row < count; ++row)
      place(row);
    height_ = kTop + static_cast<double>(count) * kRow;
  }
  const Placed &operator[](std::size_t node) const { return placed_[node]; }
  bool is_next(const Flow &flow) const { return rows_[flow.to] == rows_[flow.from] + 1; }
  double height() const { return height_; }

private:
  double width_of(std::size_t node, double room) const {
    const double share = longest_ > 0 ? nodes_[node].kernel.seconds / longest_ : 0;
    return std::min(room, kNarrow + (kWide - kNarrow) * std::sqrt(share));
  }
  // Mean place of what it reads.
  double wanted(std::size_t node) const {
    double sum = 0;
    double count = 0;
    for (const Flow &flow : flows_)
      if (flow.to == node) {
        sum += placed_[flow.from].middle();
        ++count;
      }
    return count > 0 ? sum / count : 0;
  }
  void place(std::size_t row) {
    std::vector<std::size_t> members;
    for (std::size_t n = 0; n < rows_.size(); ++n)
      if (rows_[n] == row)
        members.push_back(n);
    std::stable_sort(members.begin(), members.end(),
                     [&](std::size_t a, std::size_t b) { return wanted(a) < wanted(b); });
    const auto count = static_cast<double>(members.size());
    const double room = (kWidth - kLane - (count - 1) * kGap) / count;
    double all = (count - 1) * kGap;
    for (const std::size_t n : members)
      all += width_of(n, room);
    double x = (kWidth - kLane - all) / 2;
    for (const std::size_t n : members) {
      placed_[n].box = {{x, kTop + static_cast<double>(row) * kRow}, width_of(n, room), kHeight};
      x += placed_[n].box.width + kGap;
    }
  }

  std::span<const GraphNode> nodes_;
  std::span<const Flow> flows_;
  std::vector<std::size_t> rows_;
  std::vector<Placed> placed_;
  double longest_ = 0;
  double height_ = 0;
};

// Straight down to the next row, else around at the right, the further the more rows it passes.
std::string path_of(const Layout &layout, const Flow &flow) {
  const Placed &from = layout[flow.from];
  const Placed &to = layout[flow.to];
  const double below = from.box.at.y + kHeight;
  if (layout.is_next(flow))
    return fmt::format("M{} {}C{} {} {} {} {} {}", number(from.middle()), number(below),
                       number(from.middle()), number(below + 6), number(to.middle()),
                       number(to.box.at.y - 6), number(to.middle()), number(to.box.at.y));
  const double rows = (to.box.at.y - from.box.at.y) / kRow;
  const double right = from.box.at.x + from.box.width;
  const double end = to.box.at.x + to.box.width;
  const double lane = std::min(std::max(right, end) + 16 + 9 * rows, kWidth - 4);
  const double y = from.box.at.y + kHeight / 2;
  const double to_y = to.box.at.y + kHeight / 2;
  return fmt::format("M{} {}C{} {} {} {} {} {}", number(right), number(y), number(lane), number(y),
                     number(lane), number(to_y), number(end), number(to_y));
}

std::string title_of(const GraphNode &node) {
  const model::KernelReport &kernel = node.kernel;
  return fmt::format("kernel {}: {}\n{}\n{}, {} of the roofline, which {} sets{}{}", kernel.number,
                     kernel.origin, kernel.name, time_text(kernel.seconds),
                     percent_text(kernel.roofline), kernel.limit, node.notes.empty() ? "" : "\n",
                     node.notes);
}

void node_box(Markup &out, const GraphNode &node, const Placed &placed, double all) {
  const model::KernelReport &kernel = node.kernel;
  const Point at = placed.box.at;
  out.open("a", {{"href", fmt::format("#k{}", kernel.number)}, {"data-k", kernel.number}});
  out.element("title", {}, title_of(node));
  box(out, placed.box, "node " + heat(kernel.roofline));
  label(out, {at.x + 8, at.y + 14},
        fitted(fmt::format("{}  {}", kernel.number, kernel.origin), placed.box.width - 16), "on");
  label(out, {at.x + 8, at.y + 28},
        fitted(fmt::format("{} · {} of time · {} of roofline{}", time_text(kernel.seconds),
                           percent_text(all > 0 ? kernel.seconds / all : 0),
                           percent_text(kernel.roofline), node.notes.empty() ? "" : " · *"),
               placed.box.width - 16),
        "on small");
  out.close();
}

} // namespace

std::vector<std::size_t> rows_of(std::size_t count, std::span<const Flow> flows) {
  std::vector<std::size_t> rows(count, 0);
  for (const Flow &flow : flows) // by `to`, and launches run in order
    rows[flow.to] = std::max(rows[flow.to], rows[flow.from] + 1);
  return rows;
}

void network_graph(Markup &out, std::span<const GraphNode> nodes, std::span<const Flow> flows) {
  const Layout layout(nodes, flows);
  double all = 0;
  for (const GraphNode &node : nodes)
    all += node.kernel.seconds;
  open_picture(out, layout.height(), "The model's kernels and what flows between them");
  heat_legend(out, {0, 0});
  for (const Flow &flow : flows) {
    out.open("path", {{"d", path_of(layout, flow)}, {"class", "flow"}});
    out.element("title", {},
                fmt::format("{} to {}: {}", nodes[flow.from].kernel.number,
                            nodes[flow.to].kernel.number,
                            bytes_text(static_cast<double>(flow.bytes))));
    out.close();
  }
  for (std::size_t n = 0; n < nodes.size(); ++n)
    node_box(out, nodes[n], layout[n], all);
  out.close();
}

} // namespace tilefuse::report::html
