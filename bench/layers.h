// SPDX-License-Identifier: Apache-2.0
// Layers of known networks by name, and each as a program whose tensors lie in memory as
// they would inside a network: channels last.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "poly/group.h"
#include "program/program.h"
#include "target/target.h"
#include "tile/tile.h"

namespace tilefuse::bench {

enum class LayerKind { Conv, Depthwise, Dense, MaxPool, AddChannel };

struct Layer {
  std::string name;
  std::int64_t channels, height, width; // of the input
  std::int64_t outputs;                 // channels of the result
  std::int64_t kernel, stride, pad;
  LayerKind kind = LayerKind::Conv;
  std::int64_t batch = 1;

  std::int64_t out_height() const { return (height + 2 * pad - kernel) / stride + 1; }
  std::int64_t out_width() const { return (width + 2 * pad - kernel) / stride + 1; }
  double flops() const {
    const std::int64_t depth = kind == LayerKind::Conv || kind == LayerKind::Dense ? channels : 1;
    return 2.0 * static_cast<double>(batch * outputs * out_height() * out_width() * depth * kernel *
                                     kernel);
  }
};

// "squeezenet", "resnet50", "mobilenet_depthwise", "first_layers", "held_out", or "kinds": one or two
// layers of every kind. Error{Unsupported} for another name.
std::vector<Layer> layers_of(const std::string &network);
std::vector<Layer> held_out_layers();

// The operator library with what the layers' programs need beside it.
tile::Library bench_library();
// The rows of devices/.
std::vector<Target> bench_targets();

// relu(layer(x) + b), or the pooling or sum alone.
program::Program layer_program(const Layer &layer, const tile::Library &ops);

// The kernel of a layer's program that does its work; stored in `precision` (model/precision.h) where
// that is not empty.
poly::Group layer_group(const Layer &layer, const tile::Library &ops);
poly::Group layer_group(const Layer &layer, const tile::Library &ops, const std::string &precision,
                        const Target &target);

} // namespace tilefuse::bench
