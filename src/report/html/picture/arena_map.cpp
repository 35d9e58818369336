// SPDX-License-Identifier: Apache-2.0
#include "report/html/picture/arena_map.h"

#include <algorithm>

#include <fmt/format.h>

#include "report/html/picture/svg.h"

namespace tilefuse::report::html {
namespace {

constexpr double kHeight = 300;
constexpr double kLeft = 80;
constexpr double kTop = 20;
constexpr double kBottom = kHeight - 36;
constexpr std::size_t kTicks = 20; // of launches, at most
constexpr int kColours = 6;

struct Frame {
  double launches = 1;
  double bytes = 1;
  double x(double launch) const { return kLeft + launch / launches * (kWidth - kLeft - 6); }
  double y(double address) const { return kTop + address / bytes * (kBottom - kTop); }
};

void axes(Markup &out, const Frame &frame, std::span<const model::KernelReport> kernels) {
  constexpr int kLines = 4;
  for (int i = 0; i <= kLines; ++i) {
    const double address = frame.bytes * i / kLines;
    line(out, {kLeft, frame.y(address)}, {kWidth - 6, frame.y(address)}, "grid");
    label(out, {kLeft - 6, frame.y(address) + 4}, bytes_text(address), "end small");
  }
  const std::size_t step = kernels.size() / kTicks + 1;
  for (std::size_t l = 0; l < kernels.size(); l += step)
    label(out, {frame.x(static_cast<double>(l) + 0.5), kBottom + 16},
          fmt::format("{}", kernels[l].number), "mid small");
  label(out, {(kLeft + kWidth) / 2, kHeight - 4}, "kernels in the order in which they run",
        "mid faint");
}

// Bytes alive while each launch runs; where they are the most.
std::pair<std::size_t, double> peak_of(const model::Plan &plan, std::size_t launches) {
  std::pair<std::size_t, double> peak = {0, 0};
  for (std::size_t l = 0; l < launches; ++l) {
    double alive = 0;
    for (const model::PlacedBuffer &buffer : plan.buffers)
      if (buffer.is_used && (!buffer.is_shared || (buffer.first_launch <= static_cast<int>(l) &&
                                                   static_cast<int>(l) <= buffer.last_launch)))
        alive += static_cast<double>(buffer.bytes);
    if (alive > peak.second)
      peak = {l, alive};
  }
  return peak;
}

} // namespace

void arena_map(Markup &out, const model::Plan &plan, std::span<const model::KernelReport> kernels) {
  if (kernels.empty() || plan.activation_bytes == 0)
    return;
  const Frame frame{static_cast<double>(kernels.size()),
                    static_cast<double>(plan.activation_bytes)};
  open_picture(out, kHeight, "Where tensors lie in memory, and how long");
  axes(out, frame, kernels);
  const int last = static_cast<int>(kernels.size()) - 1;
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    const model::PlacedBuffer &buffer = plan.buffers[b];
    if (!buffer.is_used)
      continue;
    const int first_launch = buffer.is_shared ? buffer.first_launch : 0;
    const int last_launch = buffer.is_shared ? std::min(buffer.last_launch, last) : last;
    const double x = frame.x(first_launch);
    const double y = frame.y(static_cast<double>(buffer.offset));
    box(out,
        {{x + 0.5, y},
         frame.x(last_launch + 1) - x - 1,
         std::max(1.0, frame.y(static_cast<double>(buffer.offset + buffer.bytes)) - y)},
        buffer.is_shared ? fmt::format("t{}", b % kColours) : "own",
        fmt::format("tensor {}: {} at {}, kernels {} to {}{}", b,
                    bytes_text(static_cast<double>(buffer.bytes)),
                    bytes_text(static_cast<double>(buffer.offset)),
                    kernels[static_cast<std::size_t>(first_launch)].number,
                    kernels[static_cast<std::size_t>(last_launch)].number,
                    buffer.is_shared ? "" : "; an input or output, or zeros that stay"));
  }
  const auto [peak, bytes] = peak_of(plan, kernels.size());
  const double x = frame.x(static_cast<double>(peak) + 0.5);
  line(out, {x, kTop - 4}, {x, kBottom}, "mark");
  const bool is_left = x < kWidth / 2;
  label(out, {x + (is_left ? 6 : -6), kTop - 7},
        fmt::format("most alive: {} in kernel {}", bytes_text(bytes), kernels[peak].number),
        is_left ? "" : "end");
  out.close();
}

} // namespace tilefuse::report::html
