// SPDX-License-Identifier: Apache-2.0
// Layers with their tensors in every order of dimensions that networks have: a program per order,
// for tests and benches that hold that no order is a cliff.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "program/gradient/gradient.h"
#include "program/program.h"

namespace tilefuse::bench {

// A convolution; `groups` 1, or the channels of a depthwise one.
struct WalkedLayer {
  std::string_view name;
  int n = 1, c = 64, size = 28, m = 64, taps = 3, stride = 1;
  bool is_depthwise = false;
  int pad() const { return taps / 2; }
  int out() const { return (size + 2 * pad() - taps) / stride + 1; }
};

// What is computed of it.
enum class Walked { Forward, InputGradient, FilterGradient };
constexpr Walked kWalked[] = {Walked::Forward, Walked::InputGradient, Walked::FilterGradient};
inline const char *to_string(Walked what) {
  return what == Walked::Forward         ? "forward"
         : what == Walked::InputGradient ? "by_data"
                                         : "by_filter";
}

inline const std::vector<WalkedLayer> &walked_layers() {
  static const std::vector<WalkedLayer> all = {
      {.name = "res2_3x3", .c = 64, .size = 56, .m = 64},
      {.name = "res4_3x3", .n = 4, .c = 256, .size = 14, .m = 256},
      {.name = "small_3x3", .n = 8, .c = 32, .size = 16, .m = 32},
      {.name = "wide_3x3", .c = 128, .size = 45, .m = 64},
      {.name = "strided_3x3", .n = 4, .c = 128, .size = 28, .m = 128, .stride = 2},
      {.name = "res3_1x1", .n = 2, .c = 128, .size = 28, .m = 512, .taps = 1},
      {.name = "strided_1x1", .n = 2, .c = 256, .size = 28, .m = 512, .taps = 1, .stride = 2},
      {.name = "big_3x3", .n = 32, .c = 128, .size = 28, .m = 128},
      {.name = "depthwise", .n = 2, .c = 96, .size = 56, .m = 96, .is_depthwise = true},
  };
  return all;
}

// Dimensions by letter, outermost first: "nyxc" or "ncyx", "mrsc", "mcrs" or "rscm".
struct WalkedOrders {
  std::string data, filter, result;
  std::string text() const { return data + " " + filter + " " + result; }
};

// "[1, 64, 28, 28]" for "ncyx": `what` of every letter, in order.
template <class What> std::string in_order(const std::string &letters, What what) {
  std::string text;
  for (const char letter : letters)
    text += (text.empty() ? "[" : ", ") + std::string(what(letter));
  return text + "]";
}

// The letters without those of one.
inline std::string without(std::string letters, char letter) {
  std::erase(letters, letter);
  return letters;
}

inline program::Program walked_forward(const WalkedLayer &layer, const WalkedOrders &orders,
                                       std::string_view type) {
  const auto size = [&](bool is_result) {
    return [&layer, is_result](char letter) {
      switch (letter) {
      case 'n':
        return std::to_string(layer.n);
      case 'c':
        return std::to_string(layer.c);
      case 'm':
        return std::to_string(layer.m);
      case 'r':
      case 's':
        return std::to_string(layer.taps);
      default:
        return std::to_string(is_result ? layer.out() : layer.size);
      }
    };
  };
  const auto subscript = [&](char letter) {
    if (letter == 'y' || letter == 'x')
      return fmt::format("{}*{} + {} - {}", layer.stride, letter, letter == 'y' ? 'r' : 's',
                         layer.pad());
    return std::string(1, letter == 'c' && layer.is_depthwise ? 'm' : letter);
  };
  const auto plain = [](char letter) { return std::string(1, letter); };
  const std::string filter = layer.is_depthwise ? without(orders.filter, 'c') : orders.filter;
  const std::string reduced = layer.is_depthwise ? "r, s" : "r, s, c";
  return program::parse_program(
      fmt::format("program \"conv\" {{\n  input %0 \"I\" : {0}{1}\n  input %1 \"K\" : {0}{2}\n"
                  "  %2 \"T\" : {0}{3} = sum[n, y, x, m, {4}](%0{5} * %1{6}) -> {7} from \"test\"\n"
                  "  output %2\n}}\n",
                  type, in_order(orders.data, size(false)), in_order(filter, size(false)),
                  in_order(orders.result, size(true)), reduced, in_order(orders.data, subscript),
                  in_order(filter, plain), in_order(orders.result, plain)));
}

// The gradient by data lies as the data, that by the filter as the filter.
inline program::Program walked_program(const WalkedLayer &layer, Walked what,
                                       const WalkedOrders &orders, std::string_view type) {
  program::Program forward = walked_forward(layer, orders, type);
  if (what == Walked::Forward)
    return forward;
  const program::TensorId by = forward.inputs[what == Walked::InputGradient ? 0 : 1];
  return program::gradient(forward, {.by = {by}});
}

inline std::vector<WalkedOrders> all_walked_orders() {
  std::vector<WalkedOrders> all;
  for (const char *data : {"nyxc", "ncyx"})
    for (const char *filter : {"mrsc", "mcrs", "rscm"})
      for (const char *result : {"nyxm", "nmyx"})
        all.push_back({data, filter, result});
  return all;
}

} // namespace tilefuse::bench
