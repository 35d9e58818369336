// SPDX-License-Identifier: Apache-2.0
// A group of nodes as one node of onnxruntime: compiled by the library, run in the memory of
// onnxruntime's tensors. Several threads may run it; each has a run of its own, which is kept.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ort/graph.h"
#include "ort/ort_api.h"
#include "tilefuse/tilefuse.hpp"

namespace tilefuse::ort {

class Kernel : public c::NodeComputeInfo {
public:
  // `graph` is the group and `fused` the node that takes its place. Where all sizes are known it is
  // compiled now, else for each set of shapes at its first run.
  Kernel(const Graph &graph, const c::Node *fused, const Device &device, const Options &options);

private:
  // An input or output of the library's model: which of the node's it is.
  struct Port {
    std::size_t position = 0;
    DLDataType type{};
  };
  // A run with what its ports are bound to.
  struct Lane {
    explicit Lane(const Compiled &compiled) : run(compiled) {}
    Run run;
    std::vector<Shape> inputs;
    std::vector<Shape> outputs; // of these inputs; none before the first run
  };

  void compute(c::KernelContext *context);
  void bind_inputs(c::KernelContext *context, Lane &lane) const;
  void bind_outputs(c::KernelContext *context, Lane &lane) const;
  std::unique_ptr<Lane> take_lane();
  void give_back(std::unique_ptr<Lane> lane);

  std::unique_ptr<Compiled> compiled_;
  std::vector<Port> inputs_;
  std::vector<Port> outputs_;
  std::mutex mutex_; // of `idle_`
  std::vector<std::unique_ptr<Lane>> idle_;
};

} // namespace tilefuse::ort
