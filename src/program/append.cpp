// SPDX-License-Identifier: Apache-2.0
#include "program/append.h"

#include <algorithm>

#include "base/error.h"
#include "program/renaming.h"

namespace tilefuse::program {

std::vector<TensorId> append(Program &to, const Program &from, std::span<const TensorId> inputs) {
  TILEFUSE_CHECK(inputs.size() == from.inputs.size(), "a program without some of its inputs");
  std::vector<TensorId> renamed(from.tensors.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Tensor &own = from[from.inputs[i]], &given = to[inputs[i]];
    TILEFUSE_CHECK(own.type == given.type && own.shape == given.shape,
                   "an input of another type or shape");
    renamed[at(from.inputs[i])] = inputs[i];
  }
  for (std::size_t t = 0; t < from.tensors.size(); ++t)
    if (from.tensors[t].role != Role::Input)
      renamed[t] = to.add(from.tensors[t]);
  const Renaming rename(std::move(renamed));
  for (const Statement &statement : from.statements) {
    to.statements.push_back(statement);
    rename(to.statements.back());
  }
  std::vector<TensorId> outputs = from.outputs;
  std::for_each(outputs.begin(), outputs.end(), rename);
  return outputs;
}

} // namespace tilefuse::program
