// SPDX-License-Identifier: Apache-2.0
#include "program/rewrite/convolution.h"

#include <algorithm>

#include "base/index.h"
#include "program/rewrite/rewriter.h"

namespace tilefuse::program {
namespace {

std::optional<std::int64_t> whole(const Rational &value) {
  if (value.den() != 1)
    return {};
  return value.num();
}

std::optional<Window> window_of(const Affine &affine, int output, int tap) {
  const auto step = whole(affine.coeff[at(output)]);
  const auto dilation = whole(affine.coeff[at(tap)]);
  const auto constant = whole(affine.constant);
  if (!step || !dilation || !constant || *step < 1 || *dilation < 1 || *constant > 0)
    return {};
  return Window{*step, *dilation, -*constant};
}

// All subscripts are indices by themselves, each of its own; their numbers.
std::optional<std::vector<int>> all_plain(const std::vector<Affine> &subscripts) {
  std::vector<int> indices;
  for (const Affine &subscript : subscripts) {
    indices.push_back(plain_index(subscript));
    if (indices.back() < 0 || std::count(indices.begin(), indices.end(), indices.back()) > 1)
      return {};
  }
  return indices;
}

class Reading {
public:
  explicit Reading(const Contraction &body) : body_(body) {}

  std::optional<Convolution> run() {
    if (body_.agg != Agg::Sum || body_.comb != Comb::Mul || body_.init ||
        !body_.constraints.empty())
      return {};
    const Access &filter = body_.in[1];
    const auto out = all_plain(body_.out);
    const auto taps = all_plain(filter.subscripts);
    const std::size_t rank = body_.out.size();
    if (!out || !taps || rank < 3 || rank > 5 || taps->size() != rank ||
        body_.in[0].subscripts.size() != rank || body_.indices.size() != 2 * rank - 1)
      return {};
    out_ = *out;
    taps_ = *taps;
    conv_.data = body_.in[0].tensor;
    conv_.filter = filter.tensor;
    return read_data() && read_filter() ? std::optional<Convolution>(conv_) : std::nullopt;
  }

private:
  // The images, the channels, and a window for each of the others.
  bool read_data() {
    const std::vector<Affine> &subscripts = body_.in[0].subscripts;
    int images = 0, channels = 0;
    for (std::size_t d = 0; d < subscripts.size(); ++d) {
      const int index = plain_index(subscripts[d]);
      if (index < 0) {
        if (!read_window(subscripts[d], d))
          return false;
      } else if (place(out_, index)) {
        conv_.image = index;
        conv_.image_in_data = d;
        ++images;
      } else {
        conv_.channel = index;
        conv_.channel_in_data = d;
        ++channels;
      }
    }
    return images == 1 && channels == 1;
  }

  bool read_window(const Affine &subscript, std::size_t d) {
    Spatial found{.output = -1, .tap = -1, .in_data = d};
    for (std::size_t i = 0; i < subscript.coeff.size(); ++i)
      if (!subscript.coeff[i].is_zero()) {
        int &index = place(out_, static_cast<int>(i)) ? found.output : found.tap;
        if (index >= 0)
          return false;
        index = static_cast<int>(i);
      }
    if (found.output < 0 || found.tap < 0)
      return false;
    const std::optional<Window> window = window_of(subscript, found.output, found.tap);
    if (!window)
      return false;
    found.window = *window;
    conv_.spatial.push_back(found);
    return true;
  }

  // Features, channels and the taps of every window.
  bool read_filter() {
    const auto feature = std::find_if(out_.begin(), out_.end(), [&](int i) {
      return i != conv_.image &&
             std::none_of(conv_.spatial.begin(), conv_.spatial.end(),
                          [&](const Spatial &spatial) { return spatial.output == i; });
    });
    if (feature == out_.end())
      return false;
    conv_.feature = *feature;
    for (Spatial &spatial : conv_.spatial) {
      const auto found = place(taps_, spatial.tap);
      if (!found)
        return false;
      spatial.in_filter = *found;
    }
    const auto features = place(taps_, conv_.feature), channels = place(taps_, conv_.channel);
    conv_.feature_in_filter = features.value_or(0);
    conv_.channel_in_filter = channels.value_or(0);
    return features && channels;
  }

  static std::optional<std::size_t> place(const std::vector<int> &indices, int index) {
    const auto found = std::find(indices.begin(), indices.end(), index);
    if (found == indices.end())
      return {};
    return static_cast<std::size_t>(found - indices.begin());
  }

  const Contraction &body_;
  std::vector<int> out_;  // indices of the result's dimensions
  std::vector<int> taps_; // and of the filter's
  Convolution conv_;
};

} // namespace

bool suits_matrix_units(const Program &program, DType type) {
  return is_float(type) && (size_bytes(type) == 2 || (program.tf32 && type == DType::F32));
}

std::optional<Convolution> as_convolution(const Contraction &body) { return Reading(body).run(); }

} // namespace tilefuse::program
