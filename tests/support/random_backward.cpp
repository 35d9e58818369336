// SPDX-License-Identifier: Apache-2.0
#include "support/random_backward.h"

#include <fmt/format.h>

#include "base/error.h"

namespace tilefuse::model {
namespace {

using program::BufferId;

// Images, their channels, rows and columns, in the order in which they lie in memory.
struct Image {
  std::int64_t n, c, h, w;
  bool channels_last;
  const char *type;

  std::int64_t elems() const { return n * c * h * w; }
  std::string dims(const std::string &cs, const std::string &ys, const std::string &xs) const {
    return channels_last ? fmt::format("[n:{}*{}, {}:{}*{}, {}:{}*{}, {}:{}*1]", n, c * h * w, ys,
                                       mark(h, ys), w * c, xs, mark(w, xs), c, cs, c)
                         : fmt::format("[n:{}*{}, {}:{}*{}, {}:{}*{}, {}:{}*1]", n, c * h * w, cs,
                                       c, h * w, ys, mark(h, ys), w, xs, mark(w, xs));
  }

private:
  // A subscript of several terms may leave.
  static std::string mark(std::int64_t size, const std::string &subscript) {
    return fmt::format("{}{}", size, subscript.size() > 1 ? "?" : "");
  }
};

class BackwardMaker {
public:
  explicit BackwardMaker(Random &random) : random_(random) {}

  poly::PlacedGroup run() {
    stride_ = random_.between(1, 2);
    taps_ = random_.between(1, 3);
    pad_ = random_.between(0, taps_ / 2);
    grad_ = image(random_.between(1, 5), random_.between(1, 6), random_.between(1, 6));
    input_ = image(random_.between(1, 5), size_of(grad_.h), size_of(grad_.w));
    const bool by_filter = random_.chance(60);
    poly::PlacedGroup group = by_filter ? filter_gradient() : input_gradient();
    group = with_map(group, 0, grad_, "select($1 > 0, $0, 0)");
    if (by_filter && random_.chance(70))
      group = with_map(group, 1, input_, "max($0 * 2 + $1, 0)");
    return group;
  }

private:
  Image image(std::int64_t c, std::int64_t h, std::int64_t w) {
    if (images_ == 0)
      images_ = random_.between(1, 2);
    return {images_, c, h, w, random_.chance(50), random_.chance(15) ? "f16" : "f32"};
  }
  std::int64_t size_of(std::int64_t made) const {
    return std::max<std::int64_t>(1, (made - 1) * stride_ + taps_ - 2 * pad_);
  }
  std::string slots(const Image &second, std::int64_t out) const {
    return fmt::format(" slot 0 {} {}, 1 {} {}, 2 f32 {}\n acc f32 = sum mul\n", grad_.type,
                       grad_.elems(), second.type, second.elems(), out);
  }

  poly::PlacedGroup filter_gradient() const {
    const std::int64_t t = taps_ * taps_;
    const std::string text = fmt::format(
        "nest conv {{ index m {}, c {}, r {}, s {} | n {}, y {}, x {}\n{} in 0 + 0 {}\n in 1 + 0 "
        "{}\n out 2 + 0 [m:{}*{}, c:{}*{}, r:{}*{}, s:{}*1]\n post f32(acc) }}",
        grad_.c, input_.c, taps_, taps_, grad_.n, grad_.h, grad_.w,
        slots(input_, grad_.c * input_.c * t), grad_.dims("m", "y", "x"),
        input_.dims("c", fmt::format("{}*y + r - {}", stride_, pad_),
                    fmt::format("{}*x + s - {}", stride_, pad_)),
        grad_.c, input_.c * t, input_.c, t, taps_, taps_, taps_);
    return {{nest::parse_nest(text), {}}, {BufferId{0}, BufferId{1}, BufferId{2}}, "", {}};
  }

  // Rows and columns of one residue class, the taps that reach them.
  poly::PlacedGroup input_gradient() {
    const std::int64_t rows = (input_.h + stride_ - 1) / stride_;
    const std::int64_t columns = (input_.w + stride_ - 1) / stride_;
    const std::int64_t first = random_.between(0, 1);
    const Image weights{grad_.n, 1,    1, grad_.c * input_.c * taps_ * taps_ / grad_.n + grad_.n,
                        false,   "f32"};
    const std::int64_t row = columns * stride_ * input_.c;
    const std::int64_t elems = rows * stride_ * row;
    const std::string text = fmt::format(
        "nest conv {{ index n {}, y {}, x {}, c {} | m {}, r {}, s {}\n{} in 0 + 0 {}\n in 1 + 0 "
        "const [m:{}*{}, c:{}*{}, r:{}*{}, s:{}*1]\n out 2 + 0 [n:{}*{}, {}*y:{}*{}, {}*x:{}*{}, "
        "c:{}*1]\n post f32(acc) }}",
        grad_.n, rows, columns, input_.c, grad_.c, taps_, taps_, slots(weights, grad_.n * elems),
        grad_.dims("m", fmt::format("y - r + {}", first), fmt::format("x - s + {}", first)),
        grad_.c, input_.c * taps_ * taps_, input_.c, taps_ * taps_, taps_, taps_, taps_, grad_.n,
        elems, stride_, rows * stride_, row, stride_, columns * stride_, input_.c, input_.c);
    return {{nest::parse_nest(text), {}}, {BufferId{0}, BufferId{1}, BufferId{2}}, "", {}};
  }

  // Element by element of two tensors, which lie in memory as the result does, or of a tensor and a
  // number per channel.
  poly::PlacedGroup with_map(const poly::PlacedGroup &group, int input, const Image &of,
                             const char *post) {
    const bool by_channel = input == 1;
    const std::string text = fmt::format(
        "nest map {{ index n {}, m {}, y {}, x {}\n slot 0 f32 {}, 1 f32 {}, 2 {} {}\n acc {} = "
        "assign\n out 2 + 0 {}\n extra 0 + 0 {}\n extra 1 + 0 {}\n post {}({}) }}",
        of.n, of.c, of.h, of.w, of.elems(), by_channel ? of.c : of.elems(), of.type, of.elems(),
        of.type, of.dims("m", "y", "x"), of.dims("m", "y", "x"),
        by_channel ? fmt::format("[m:{}*1]", of.c) : of.dims("m", "y", "x"), of.type, post);
    const poly::PlacedGroup map{
        {nest::parse_nest(text), {}},
        {BufferId{10 + 2 * input}, BufferId{11 + 2 * input}, BufferId{input}},
        "",
        {}};
    std::string why;
    std::optional<poly::PlacedGroup> made = attach(group, poly::kAnchor, input, map, &why);
    if (!made)
      throw Error(ErrorCode::Shape, why);
    made->group.producers.back().stored = random_.chance(50);
    return std::move(*made);
  }

  Random &random_;
  std::int64_t images_ = 0;
  std::int64_t stride_ = 1;
  std::int64_t taps_ = 1;
  std::int64_t pad_ = 0;
  Image grad_{};
  Image input_{};
};

} // namespace

poly::PlacedGroup random_backward_group(Random &random) { return BackwardMaker(random).run(); }

} // namespace tilefuse::model
