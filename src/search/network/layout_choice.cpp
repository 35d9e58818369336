// SPDX-License-Identifier: Apache-2.0
#include "search/network/layout_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "base/error.h"
#include "base/hash.h"
#include "cost/group_model.h"
#include "cost/roofline.h"
#include "poly/post_ops.h"
#include "program/rewrite/block_channels.h"
#include "search/groups.h"

namespace tilefuse::search {
namespace {

using program::Layout;
using program::Program;

// Of the time in NHWC, what another layout must reach: kernels with lanes over pixels are priced up
// to 1.7 times too fast beside those with lanes over channels.
constexpr double kClearly = 0.6;
// Of the time over the least time in the best layout, what another layout's kernels are thought to
// reach at best.
constexpr double kHope = 0.8;
constexpr std::int64_t kBlockOfWorkItems = 32;

// Equal groups of a network, and the least time that one can take.
struct Priced {
  const poly::Group *group = nullptr;
  int launches = 0;
  double least_seconds = 0;
};

double bytes_of(const poly::Group &group) {
  double bytes = 0;
  for (const nest::Slot &slot : group.anchor.slots)
    bytes += static_cast<double>(slot.elems * size_bytes(slot.type));
  return bytes;
}

class Choosing {
public:
  Choosing(const Program &program, const Target &target, const LayoutOptions &options,
           KeptChoices &kept)
      : program_(program), target_(target), options_(options), kept_(kept) {}

  LaidOut run() {
    LaidOut first = place(Layout::Nhwc);
    if (options_.layout != "auto")
      return split(asked() == Layout::Nhwc ? std::move(first) : place(asked()));
    if (first.groups.empty() || !options_.split.algorithm.empty())
      return split(std::move(first));
    const std::string question =
        fmt::format("layout {} {}", options_.split.split, content_hash(texts(first)));
    const poly::Group subject = first.groups.front().group;
    if (const std::optional<std::string> text = kept_.find(question, subject))
      if (const auto layout = program::parse_layout(text->substr(0, text->find('\n')))) {
        LaidOut laid = *layout == Layout::Nhwc ? std::move(first) : place(*layout);
        laid.weighed = text->substr(text->find('\n') + 1);
        return split(std::move(laid));
      }
    const std::vector<Layout> others = other_layouts();
    if (others.empty())
      return split(std::move(first));
    LaidOut best = weigh(std::move(first), others);
    kept_.keep(question, subject, fmt::format("{}\n{}", to_string(best.layout), best.weighed));
    return split(std::move(best));
  }

private:
  Layout asked() const {
    if (const std::optional<Layout> layout = program::parse_layout(options_.layout))
      return *layout;
    throw Error(ErrorCode::Unsupported, fmt::format("'{}' is no layout", options_.layout), {},
                {fmt::format("there are {}", fmt::join(layout_names(), ", "))});
  }

  LaidOut place(Layout layout) const { return place(layout, options_.fusion); }

  LaidOut place(Layout layout, const FusionSettings &fusion) const {
    LaidOut laid;
    laid.layout = layout;
    laid.stored = program::assign_storage(
        layout == Layout::Blocked ? program::block_channels(program_, channel_block(target_))
                                  : program_,
        layout);
    laid.conversions = program::conversions(laid.stored);
    laid.groups = make_groups(laid.stored, fusion, target_, nullptr, &kept_);
    return laid;
  }

  // Those with other kernels than NHWC, told before a fusion is judged.
  std::vector<Layout> other_layouts() const {
    FusionSettings unjudged = options_.fusion;
    unjudged.level = std::min(unjudged.level, poly::FuseLevel::Pointwise);
    const std::string first = texts(place(Layout::Nhwc, unjudged));
    std::vector<Layout> others;
    for (const Layout layout : {Layout::Nchw, Layout::Blocked})
      if (texts(place(layout, unjudged)) != first)
        others.push_back(layout);
    return others;
  }

  static std::string texts(const LaidOut &laid) {
    std::string all;
    for (const poly::PlacedGroup &placed : laid.groups)
      all += poly::to_text(placed.group);
    return all;
  }

  LaidOut split(LaidOut laid) const {
    const std::size_t buffers = laid.stored.buffers.size();
    laid.groups =
        split_groups(std::move(laid.groups), laid.stored, target_, options_.split, &kept_);
    laid.groups =
        feed_parts(std::move(laid.groups), laid.stored, buffers, options_.fusion, target_, &kept_);
    return laid;
  }

  std::string name_of(Layout layout) const {
    return layout == Layout::Blocked ? fmt::format("layout blocked by {}", channel_block(target_))
                                     : fmt::format("layout {}", to_string(layout));
  }

  LaidOut weigh(LaidOut best, const std::vector<Layout> &others) {
    std::string text;
    weigh_splits(groups_of(distinct(best)), target_, options_.split, kept_);
    double least = price(best, std::numeric_limits<double>::infinity(), text).value();
    for (const Layout layout : others) {
      if (unit_.core.op != nullptr) {
        text += name_of(layout) + ": not priced, matrix units read channels last\n";
        continue;
      }
      LaidOut laid = place(layout);
      const double limit = least * (best.layout == Layout::Nhwc ? kClearly : 1);
      if (const std::optional<double> seconds = price(laid, limit, text)) {
        least = *seconds;
        best = std::move(laid);
      }
    }
    best.weighed = std::move(text);
    return best;
  }

  // Seconds of all its kernels, and what is said of them; nothing above the limit.
  std::optional<double> price(const LaidOut &laid, double limit, std::string &text) {
    int done = 0;
    const std::vector<Priced> kernels = distinct(laid);
    const double seconds = price(kernels, limit, done);
    const std::string name = name_of(laid.layout);
    if (seconds > limit) {
      text += fmt::format("{}: more than {:.1f} us after {} of {} kernels\n", name, limit * 1e6,
                          done, kernels.size());
      return std::nullopt;
    }
    text += fmt::format("{}: {:.1f} us, {} copies\n", name, seconds * 1e6, laid.conversions);
    hope_ = std::max(1.0, kHope * seconds / least_of(kernels));
    return seconds;
  }

  // Those with the most to do first.
  std::vector<Priced> distinct(const LaidOut &laid) const {
    std::map<std::string, Priced> known;
    for (const poly::PlacedGroup &placed : laid.groups) {
      Priced &one = known[poly::to_text(placed.group)];
      one.group = &placed.group;
      ++one.launches;
    }
    std::vector<Priced> all;
    for (auto &[text, one] : known) {
      one.least_seconds =
          cost::roofline(nest::flops(one.group->anchor), bytes_of(*one.group), unit_, target_)
              .seconds();
      all.push_back(one);
    }
    std::stable_sort(all.begin(), all.end(), [](const Priced &a, const Priced &b) {
      return a.launches * a.least_seconds > b.launches * b.least_seconds;
    });
    return all;
  }

  static std::vector<const poly::Group *> groups_of(const std::vector<Priced> &kernels) {
    std::vector<const poly::Group *> groups;
    for (const Priced &one : kernels)
      groups.push_back(one.group);
    return groups;
  }

  static double least_of(const std::vector<Priced> &kernels) {
    double seconds = 0;
    for (const Priced &one : kernels)
      seconds += one.launches * one.least_seconds;
    return seconds;
  }

  // Stops above the limit.
  double price(const std::vector<Priced> &kernels, double limit, int &done) {
    double rest = least_of(kernels), seconds = 0;
    for (const Priced &one : kernels) {
      rest -= one.launches * one.least_seconds;
      seconds += one.launches * price(*one.group);
      ++done;
      if (seconds + hope_ * rest > limit)
        return seconds + hope_ * rest;
    }
    return seconds;
  }

  double price(const poly::Group &whole) {
    double seconds = 0;
    for (const poly::Group &group : split_group(whole, target_, options_.split, nullptr, &kept_)) {
      const schedule::Schedule schedule =
          kept_.schedule(kPick, group, [&] { return search::pick(group, target_); });
      if (schedule.core.op != nullptr)
        unit_.core.op = schedule.core.op;
      seconds += cost::predict(group, schedule, target_).seconds;
    }
    return seconds;
  }

  const Program &program_;
  const Target &target_;
  const LayoutOptions &options_;
  KeptChoices &kept_;
  double hope_ = 1;         // times the least time, that the rest of a layout's kernels take
  schedule::Schedule unit_; // of the fastest arithmetic that a kernel was found to use
};

} // namespace

std::vector<std::string> layout_names() {
  std::vector<std::string> names = {"auto"};
  for (const Layout layout : {Layout::Nhwc, Layout::Nchw, Layout::Blocked})
    names.emplace_back(to_string(layout));
  return names;
}

std::int64_t channel_block(const Target &target) {
  return target.lanes == LaneKind::Vector ? std::max(target.vector_f32, 2) : kBlockOfWorkItems;
}

LaidOut lay_out(const Program &program, const Target &target, const LayoutOptions &options,
                KeptChoices *kept) {
  KeptChoices none(nullptr, target);
  return Choosing(program, target, options, kept == nullptr ? none : *kept).run();
}

} // namespace tilefuse::search
