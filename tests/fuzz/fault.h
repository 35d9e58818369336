// SPDX-License-Identifier: Apache-2.0
// What faults of lowered kernels share: a copy of the kernel in which some places are wrong.
#pragma once

#include <optional>
#include <type_traits>
#include <variant>

#include "kernel/walk.h"

namespace tilefuse::fuzz {

using namespace kernel;

// Copies a kernel and counts the places that a fault took.
class Fault : public Rewriter {
public:
  Fault(const Kernel &from, Builder &to) : Rewriter(to), from_(from) {}
  int places() const { return places_; }

protected:
  const Kernel &from() const { return from_; }
  bool is_in(BufferId buffer, Space space) const { return from_[buffer].space == space; }
  // A place of the fault.
  void take() { ++places_; }
  ExprRef load(const Load &load, Type type, ExprRef index, ExprRef valid) {
    return to().load(load.buffer, index, type.lanes, load.lane_stride, valid, load.fill);
  }

  // The node of that kind, or null.
  template <typename Node> static const Node *as(StmtRef stmt) {
    if constexpr (std::is_constructible_v<Intrinsic, Node>)
      return stmt ? get_intrinsic<Node>(stmt) : nullptr;
    else
      return stmt ? std::get_if<Node>(&stmt->node) : nullptr;
  }

private:
  const Kernel &from_;
  int places_ = 0;
};

template <typename SomeFault> std::optional<Kernel> plant(const Kernel &kernel) {
  Kernel result = copy_shell(kernel);
  Builder builder(result);
  SomeFault fault(kernel, builder);
  result.body = fault.stmt(kernel.body);
  if (fault.places() == 0 || !result.body)
    return {};
  return result;
}

} // namespace tilefuse::fuzz
