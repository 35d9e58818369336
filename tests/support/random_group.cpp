// SPDX-License-Identifier: Apache-2.0
#include "support/random_group.h"

#include <fmt/format.h>

#include "base/error.h"

namespace tilefuse::model {
namespace {

using program::BufferId;

// A tensor of channels, rows and columns.
struct Image {
  BufferId buffer{};
  std::int64_t c = 1;
  std::int64_t h = 1;
  std::int64_t w = 1;
  const char *type = "f32";
  bool channels_last = false;

  std::int64_t elems() const { return c * h * w; }
  // Dimensions with these subscripts; a mark where they may leave.
  std::string dims(const std::string &cs, const std::string &ys, const std::string &xs,
                   const char *mark = "") const {
    return channels_last ? fmt::format("[{}:{}*1, {}:{}{}*{}, {}:{}{}*{}]", cs, c, ys, h, mark,
                                       w * c, xs, w, mark, c)
                         : fmt::format("[{}:{}*{}, {}:{}{}*{}, {}:{}{}*1]", cs, c, h * w, ys, h,
                                       mark, w, xs, w, mark);
  }
};

class ChainMaker {
public:
  explicit ChainMaker(Random &random) : random_(random) {
    image_ = {.buffer = buffer(),
              .c = random.between(1, 6),
              .h = random.between(1, 9),
              .w = random.between(1, 9)};
    image_.channels_last = random_.chance(50);
  }

  std::vector<poly::PlacedGroup> run() {
    const std::int64_t nests = random_.between(2, 4);
    if (random_.chance(30))
      add_map();
    while (static_cast<std::int64_t>(chain_.size()) < nests)
      random_.chance(35) ? add_mix() : add_window();
    return std::move(chain_);
  }

private:
  BufferId buffer() { return BufferId{buffers_++}; }

  // The tensor that a nest writes, of its own type and layout.
  Image result(std::int64_t c, std::int64_t h, std::int64_t w) {
    Image made{.buffer = buffer(), .c = c, .h = h, .w = w};
    made.type = random_.chance(15) ? "f16" : "f32";
    made.channels_last = random_.chance(50);
    return made;
  }

  void add(const std::string &text, std::vector<BufferId> buffers, const Image &made) {
    chain_.push_back({{nest::parse_nest(text), {}}, std::move(buffers), "", {}});
    image_ = made;
  }

  std::string post() { return random_.of({"acc", "max(acc, 0)", "acc + 1"}); }

  void add_map() {
    const Image from = image_;
    const Image made = result(from.c, from.h, from.w);
    const BufferId scale = buffer();
    const BufferId other = buffer();
    add(fmt::format(
            "nest map {{ index c {}, y {}, x {}\n slot 0 f32 {}, 1 f32 {}, 2 f32 {}, 3 {} "
            "{}\n acc f32 = assign\n out 3 + 0 {}\n extra 0 + 0 {}\n extra 1 + 0 [c:{}*1]\n "
            "extra 2 + 0 {}\n post {}({})\n }}",
            from.c, from.h, from.w, from.elems(), from.c, from.elems(), made.type, made.elems(),
            made.dims("c", "y", "x"), from.dims("c", "y", "x"), from.c, from.dims("c", "y", "x"),
            made.type, random_.of({"max($0 * $1 + $2, 1)", "$0 * $1 - $2 + 2"})),
        {from.buffer, scale, other, made.buffer}, made);
  }

  void add_mix() {
    const Image from = image_;
    const Image made = result(random_.between(1, 7), from.h, from.w);
    const BufferId weights = buffer();
    add(fmt::format(
            "nest mix {{ index m {}, y {}, x {} | c {}\n slot 0 {} {}, 1 f32 {}, 2 {} {}\n "
            "acc f32 = sum mul\n in 0 + 0 {}\n in 1 + 0 const [m:{}*{}, c:{}*1]\n out 2 + 0 "
            "{}\n post {}({})\n }}",
            made.c, made.h, made.w, from.c, from.type, from.elems(), made.c * from.c, made.type,
            made.elems(), from.dims("c", "y", "x"), made.c, from.c, from.c,
            made.dims("m", "y", "x"), made.type, post()),
        {from.buffer, weights, made.buffer}, made);
  }

  // A window of taps: depthwise, over all channels, or the maximum.
  void add_window() {
    const Image from = image_;
    const std::int64_t taps = random_.of<std::int64_t>({3, 2, 5, 1});
    const std::int64_t step = random_.of<std::int64_t>({1, 2, 1, 3});
    const int kind = static_cast<int>(random_.between(0, 2));
    const std::int64_t gap = kind == 2 ? 1 : random_.of<std::int64_t>({1, 1, 2});
    const std::int64_t pad = random_.between(0, taps / 2 * gap);
    const auto size = [&](std::int64_t in) {
      return std::max<std::int64_t>(1, (in + 2 * pad - (taps - 1) * gap - 1) / step + 1);
    };
    const std::string ys = fmt::format("{}*y + {}*r - {}", step, gap, pad);
    const std::string xs = fmt::format("{}*x + {}*s - {}", step, gap, pad);
    const Image made =
        result(kind == 1 ? random_.between(1, 5) : from.c, size(from.h), size(from.w));
    const std::string channel =
        kind == 1 ? fmt::format("m {}", made.c) : fmt::format("c {}", made.c);
    const std::string reduced =
        fmt::format("{}r {}, s {}", kind == 1 ? fmt::format("c {}, ", from.c) : "", taps, taps);
    const std::int64_t weights = kind == 1 ? made.c * from.c * taps * taps : made.c * taps * taps;
    const std::string filter =
        kind == 1 ? fmt::format("in 1 + 0 const [m:{}*{}, c:{}*{}, r:{}*{}, s:{}*1]\n", made.c,
                                from.c * taps * taps, from.c, taps * taps, taps, taps, taps)
                  : fmt::format("in 1 + 0 const [c:{}*{}, r:{}*{}, s:{}*1]\n", made.c, taps * taps,
                                taps, taps, taps);
    add(fmt::format(
            "nest {} {{ index {}, y {}, x {} | {}\n slot 0 {} {}, 1 f32 {}, 2 {} {}\n acc f32 "
            "= {}\n in 0 + 0 {}\n {}out 2 + 0 {}\n post {}({})\n }}",
            kind == 2 ? "maxpool" : "conv", channel, made.h, made.w, reduced, from.type,
            from.elems(), weights, made.type, made.elems(), kind == 2 ? "max" : "sum mul",
            from.dims("c", ys, xs, "?"), kind == 2 ? "" : filter,
            made.dims(kind == 1 ? "m" : "c", "y", "x"), made.type, post()),
        {from.buffer, buffer(), made.buffer}, made);
  }

  Random &random_;
  int buffers_ = 0;
  Image image_;
  std::vector<poly::PlacedGroup> chain_;
};

} // namespace

std::vector<poly::PlacedGroup> random_chain(Random &random) { return ChainMaker(random).run(); }

poly::PlacedGroup fuse_chain(const std::vector<poly::PlacedGroup> &chain) {
  poly::PlacedGroup fused = chain.back();
  for (std::size_t k = chain.size() - 1; k-- > 0;) {
    const auto member = static_cast<poly::MemberId>(fused.group.producers.size());
    std::string why;
    std::optional<poly::PlacedGroup> next = attach(fused, member, 0, chain[k], &why);
    if (!next)
      throw Error(ErrorCode::Shape, why);
    fused = std::move(*next);
  }
  return fused;
}

} // namespace tilefuse::model
