// SPDX-License-Identifier: Apache-2.0
#include "search/network/layout_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "base/error.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/thread_pool.h"
#include "cost/group_model.h"
#include "cost/roofline.h"
#include "poly/post_ops.h"
#include "program/rewrite/block_channels.h"
#include "program/storage/padded_storage.h"
#include "search/groups.h"
#include "search/network/tile_sums.h"

namespace tilefuse::search {
namespace {

using program::Layout;
using program::Program;

// Of the time in NHWC, what another layout must reach: kernels with lanes over pixels are priced up
// to 1.7 times too fast beside those with lanes over channels.
constexpr double kClearly = 0.6;
// The same where kernels in NHWC use matrix units, to which multiply-adds in another layout do not
// come near. Of timm's networks that take copies, four that multiply along pixels and along channels
// are predicted at 0.72 to 0.75 of NHWC, all others at 0.99 or more.
constexpr double kOnUnits = 0.85;
// The same of padded rows, whose kernels have the lanes of those in NHWC.
constexpr double kPadded = 0.98;
// Of the time over the least time in the best layout, what another layout's kernels are thought to
// reach at best.
constexpr double kHope = 0.8;
constexpr std::int64_t kBlockOfWorkItems = 32;

constexpr std::string_view kPaddedName = "padded"; // NHWC with rows at whole vectors

// What is chosen: an order of dimensions, and whether rows are padded.
struct Arrangement {
  Layout layout = Layout::Nhwc;
  bool pads_rows = false;
  friend bool operator==(const Arrangement &, const Arrangement &) = default;
};

std::string_view to_string(const Arrangement &arrangement) {
  return arrangement.pads_rows ? kPaddedName : program::to_string(arrangement.layout);
}

std::optional<Arrangement> parse_arrangement(std::string_view name) {
  if (name == kPaddedName)
    return Arrangement{.pads_rows = true};
  const std::optional<Layout> layout = program::parse_layout(name);
  return layout ? std::optional(Arrangement{.layout = *layout}) : std::nullopt;
}

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
    if (options_.layout != "auto")
      return split(place(asked()));
    LaidOut first = place({});
    if (first.groups.empty() || !options_.split.algorithm.empty())
      return split(std::move(first));
    const std::string question =
        fmt::format("layout {} {}", options_.split.split, content_hash(texts(first)));
    const poly::Group subject = first.groups.front().group;
    if (const std::optional<std::string> text = kept_.find(question, subject))
      if (const auto kept = parse_arrangement(text->substr(0, text->find('\n')))) {
        LaidOut laid = *kept == Arrangement{} ? std::move(first) : place(*kept);
        laid.weighed = text->substr(text->find('\n') + 1);
        return split(std::move(laid));
      }
    std::vector<LaidOut> others = other_arrangements(first);
    if (others.empty())
      return split(std::move(first));
    LaidOut best = weigh(std::move(first), std::move(others));
    kept_.keep(question, subject, fmt::format("{}\n{}", layout_name(best), best.weighed));
    return split(std::move(best));
  }

private:
  Arrangement asked() const {
    if (const std::optional<Arrangement> named = parse_arrangement(options_.layout))
      return *named;
    throw Error(ErrorCode::Unsupported, fmt::format("'{}' is no layout", options_.layout), {},
                {fmt::format("there are {}", fmt::join(layout_names(), ", "))});
  }

  LaidOut place(const Arrangement &as) const { return place(as, options_.fusion); }

  LaidOut place(const Arrangement &as, const FusionSettings &fusion) const {
    LaidOut laid;
    laid.layout = as.layout;
    laid.pads_rows = as.pads_rows;
    if (as.pads_rows)
      laid.stored = program::assign_padded_storage(program_, as.layout);
    else
      laid.stored = program::assign_storage(
          as.layout == Layout::Blocked ? program::block_channels(program_, channel_block(target_))
                                       : program_,
          as.layout);
    laid.conversions = program::conversions(laid.stored);
    laid.groups = make_groups(laid.stored, fusion, target_, nullptr, &kept_);
    return laid;
  }

  // Most that a fusion which is not judged does.
  FusionSettings unjudged() const {
    FusionSettings fusion = options_.fusion;
    fusion.level = std::min(fusion.level, poly::FuseLevel::Pointwise);
    return fusion;
  }
  bool is_judged() const { return unjudged().level != options_.fusion.level; }

  // Those with other kernels than NHWC, told and left before a fusion is judged. Vectors of a CPU
  // begin anywhere: there nothing is gained by padding.
  std::vector<LaidOut> other_arrangements(const LaidOut &judged) const {
    std::vector<Arrangement> known;
    if (target_.lanes == LaneKind::WorkItem)
      known.push_back({.pads_rows = true});
    known.push_back({.layout = Layout::Nchw});
    known.push_back({.layout = Layout::Blocked});
    std::string first = is_judged() ? "" : texts(judged);
    std::vector<LaidOut> found(known.size());
    ThreadPool pool(std::min(available_threads(), static_cast<int>(known.size()) + 1));
    pool.parallel_for(static_cast<std::int64_t>(known.size()) + 1, [&](int, std::int64_t i) {
      if (at(i) < known.size())
        found[at(i)] = place(known[at(i)], unjudged());
      else if (is_judged())
        first = texts(place({}, unjudged()));
    });
    std::erase_if(found, [&](const LaidOut &other) { return texts(other) == first; });
    return found;
  }

  static std::string texts(const LaidOut &laid) {
    std::string all;
    for (const poly::PlacedGroup &placed : laid.groups)
      all += poly::to_text(placed.group);
    return all;
  }

  LaidOut split(LaidOut laid) const {
    laid.groups = sum_tiles(std::move(laid.groups), laid.stored, target_, options_.split, kept_);
    const std::size_t buffers = laid.stored.buffers.size();
    laid.groups =
        split_groups(std::move(laid.groups), laid.stored, target_, options_.split, &kept_);
    laid.groups =
        feed_parts(std::move(laid.groups), laid.stored, buffers, options_.fusion, target_, &kept_);
    return laid;
  }

  std::string name_of(const Arrangement &as) const {
    return as.layout == Layout::Blocked
               ? fmt::format("layout blocked by {}", channel_block(target_))
               : fmt::format("layout {}", to_string(as));
  }

  // Of the least time so far, what another arrangement must reach.
  double needed(const LaidOut &best, const Arrangement &other) const {
    if (other.pads_rows)
      return kPadded;
    if (best.layout != Layout::Nhwc)
      return 1;
    return uses_units() ? kOnUnits : kClearly;
  }

  bool uses_units() const { return unit_.core.op != nullptr; }

  // Matrix units read channels last. Where that takes copies, as between products along pixels and
  // along channels, tensors may lie in the order of their dimensions.
  bool is_priced(const LaidOut &best, const Arrangement &other) const {
    return other.pads_rows || !uses_units() ||
           (other.layout == Layout::Nchw && best.conversions > 0);
  }

  LaidOut weigh(LaidOut best, std::vector<LaidOut> others) {
    std::string text;
    weigh_splits(groups_of(distinct(best)), target_, options_.split, kept_);
    double least = price(best, std::numeric_limits<double>::infinity(), text).value();
    for (LaidOut &other : others) {
      const Arrangement as{other.layout, other.pads_rows};
      if (!is_priced(best, as)) {
        text += name_of(as) + ": not priced, matrix units read channels last\n";
        continue;
      }
      LaidOut laid = is_judged() ? place(as) : std::move(other);
      if (const auto seconds = price(laid, least * needed(best, as), text)) {
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
    const std::string name = name_of({laid.layout, laid.pads_rows});
    if (seconds > limit) {
      text += fmt::format("{}: given up at {:.1f} us ({} of {} kernels; limit {:.1f})\n", name,
                          seconds * 1e6, done, kernels.size(), limit * 1e6);
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

  // Stops where it comes to more than the limit, or would whatever the next kernel takes.
  double price(const std::vector<Priced> &kernels, double limit, int &done) {
    double rest = least_of(kernels), seconds = 0;
    ThreadPool pool(available_threads());
    const std::size_t side_by_side = static_cast<std::size_t>(pool.threads());
    std::vector<Launched> launched;
    const auto hoped = [&] { return seconds + hope_ * rest; };
    for (const Priced &one : kernels) {
      rest -= one.launches * one.least_seconds;
      if (hoped() > limit)
        return hoped();
      if (at(done) == launched.size()) {
        launched.resize(std::min(kernels.size(), at(done) + side_by_side));
        pool.parallel_for(static_cast<std::int64_t>(launched.size()) - done,
                          [&](int, std::int64_t i) {
                            launched[at(done + i)] = price(*kernels[at(done + i)].group);
                          });
      }
      const Launched &priced = launched[at(done)];
      if (priced.op != nullptr)
        unit_.core.op = priced.op;
      seconds += one.launches * priced.seconds;
      ++done;
      if (hoped() > limit)
        return hoped();
    }
    return seconds;
  }

  // What a group takes with its split, and the last of its parts' matrix instructions.
  struct Launched {
    double seconds = 0;
    const CoreOp *op = nullptr;
  };

  Launched price(const poly::Group &whole) const {
    Launched launched;
    for (const poly::Group &group : split_group(whole, target_, options_.split, nullptr, &kept_)) {
      const schedule::Schedule schedule =
          kept_.schedule(kPick, group, [&] { return search::pick(group, target_); });
      if (schedule.core.op != nullptr)
        launched.op = schedule.core.op;
      launched.seconds += cost::predict(group, schedule, target_).seconds;
    }
    return launched;
  }

  const Program &program_;
  const Target &target_;
  const LayoutOptions &options_;
  KeptChoices &kept_;
  double hope_ = 1;         // times the least time, that the rest of a layout's kernels take
  schedule::Schedule unit_; // of the fastest arithmetic that a kernel was found to use
};

} // namespace

std::string_view layout_name(const LaidOut &laid) {
  return to_string({.layout = laid.layout, .pads_rows = laid.pads_rows});
}

std::vector<std::string> layout_names() {
  std::vector<std::string> names = {"auto"};
  for (const Layout layout : {Layout::Nhwc, Layout::Nchw, Layout::Blocked})
    names.emplace_back(program::to_string(layout));
  names.emplace_back(kPaddedName);
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
