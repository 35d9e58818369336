// SPDX-License-Identifier: Apache-2.0
// Other numbers for a program's tensors: `to` by old number.
#pragma once

#include <utility>
#include <vector>

#include "program/program.h"

namespace tilefuse::program {

class Renaming {
public:
  explicit Renaming(std::vector<TensorId> to) : to_(std::move(to)) {}

  void operator()(TensorId &id) const { id = to_[at(id)]; }
  // What it makes and what it reads.
  void operator()(Statement &statement) const;

private:
  void rename(View &view) const;
  void rename(Map &map) const;
  void rename(Contraction &contraction) const;

  std::vector<TensorId> to_;
};

} // namespace tilefuse::program
