// SPDX-License-Identifier: Apache-2.0
#include "data/mix.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/random.h"
#include "base/threefry.h"

namespace tilefuse::data {
namespace {

constexpr std::uint64_t kStream = std::uint64_t{1} << 32; // apart from the draws of epochs

double above_zero(Random &random) { return 1 - random.unit(); }

// The logarithm of a number of Gamma(shape, 1) (Marsaglia, Tsang 2000; below 1 by their section 6).
double log_gamma_draw(double shape, Random &random) {
  const double boost = shape < 1 ? std::log(above_zero(random)) / shape : 0;
  const double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double radius = std::sqrt(-2 * std::log(above_zero(random)));
    const double normal = radius * std::cos(2 * std::numbers::pi * random.unit());
    const double root = 1 + c * normal;
    const double v = root * root * root;
    if (root > 0 &&
        std::log(above_zero(random)) < 0.5 * normal * normal + d - d * v + d * std::log(v))
      return std::log(d * v) + boost;
  }
}

// Of Beta(alpha, alpha).
double beta_draw(double alpha, Random &random) {
  const double one = log_gamma_draw(alpha, random);
  return 1 / (1 + std::exp(log_gamma_draw(alpha, random) - one));
}

// A side of the box: `length` pixels around a drawn centre, cut off at the picture's edges.
void draw_side(std::vector<float> &to, int size, double length, Random &random) {
  const auto centre = static_cast<int>(random.between(0, size - 1));
  const int half = static_cast<int>(length / 2);
  for (int i = 0; i < size; ++i)
    to.push_back(i >= centre - half && i < centre + half ? 1.0F : 0.0F);
}

} // namespace

std::vector<float> draw_mix(const Mixing &mixing, const PictureForm &form, std::uint64_t seed,
                            std::int64_t number) {
  std::vector<float> mix;
  if (!mixing.is_on())
    return mix;
  Random random(
      to_bits(threefry(to_words(seed), to_words(kStream + static_cast<std::uint64_t>(number)))));
  const bool is_drawn = mixing.mixup > 0 && mixing.cutmix > 0;
  const bool is_box = is_drawn ? random.unit() < 0.5 : mixing.cutmix > 0;
  const double taken = 1 - beta_draw(is_box ? mixing.cutmix : mixing.mixup, random);
  if (is_box) {
    draw_side(mix, form.height, std::sqrt(taken) * form.height, random);
    draw_side(mix, form.width, std::sqrt(taken) * form.width, random);
  } else {
    mix.assign(static_cast<std::size_t>(form.height), static_cast<float>(taken));
    mix.resize(mix.size() + static_cast<std::size_t>(form.width), 1);
  }
  return mix;
}

} // namespace tilefuse::data
