// SPDX-License-Identifier: Apache-2.0
// Small programs built by hand for the tests of nests: tensors, windows and typed memory, small
// integers as values.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/index.h"
#include "nest/evaluate/evaluate.h"
#include "nest/flatten/flat_statement.h"
#include "program/program.h"
#include "program/storage/storage.h"

namespace tilefuse::test {

// Terms (index position, coefficient) and a constant over `count` indices.
inline program::Affine affine(std::size_t count,
                              std::initializer_list<std::pair<std::size_t, std::int64_t>> terms,
                              std::int64_t constant = 0) {
  program::Affine form;
  form.coeff.resize(count);
  for (const auto &[index, value] : terms)
    form.coeff[index] = value;
  form.constant = constant;
  return form;
}

inline program::TensorId add_tensor(program::Program &program, DType type, program::Shape shape,
                                    program::Role role = program::Role::Temporary) {
  program::Tensor tensor;
  tensor.name = fmt::format("t{}", program.tensors.size());
  tensor.type = type;
  tensor.shape = std::move(shape);
  tensor.role = role;
  return program.add(std::move(tensor));
}

// A constant of small integers in [-span, span], or these times `unit`.
inline program::TensorId add_constant(program::Program &program, DType type, program::Shape shape,
                                      std::mt19937 &random, int span = 4, double unit = 1,
                                      double least = -1e9) {
  const program::TensorId id = add_tensor(program, type, std::move(shape), program::Role::Constant);
  const std::int64_t count = program::elems(program[id].shape);
  program::Bytes data(static_cast<std::size_t>(count * size_bytes(type)));
  std::uniform_int_distribution<int> pick(-span, span);
  for (std::int64_t i = 0; i < count; ++i)
    store_element(data.data(), type, i, std::max(least, pick(random) * unit));
  program[id].data = std::make_shared<const program::Bytes>(std::move(data));
  return id;
}

inline program::StoredProgram row_major_storage(const program::Program &program) {
  program::StoredProgram stored;
  stored.program = program;
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    const program::Tensor &tensor = program.tensors[i];
    const program::BufferId buffer{static_cast<int>(i)};
    stored.windows.push_back({buffer, 0, program::row_major(tensor.shape)});
    stored.buffers.push_back({tensor.type, program::elems(tensor.shape), tensor.role});
  }
  return stored;
}

// Buffers of a stored program, zeros.
class Memory {
public:
  explicit Memory(const program::StoredProgram &stored) : stored_(stored) {
    for (const program::Buffer &buffer : stored.buffers)
      bytes_.emplace_back(static_cast<std::size_t>(buffer.elems * size_bytes(buffer.type)));
  }

  double get(program::TensorId id, const program::Shape &at) const {
    const auto [buffer, position] = locate(id, at);
    return load_element(bytes_[buffer].data(), stored_.buffers[buffer].type, position);
  }
  void set(program::TensorId id, const program::Shape &at, double value) {
    const auto [buffer, position] = locate(id, at);
    store_element(bytes_[buffer].data(), stored_.buffers[buffer].type, position, value);
  }

  // Fills buffers that promise no zeros with values that spoil every sum.
  void poison() {
    for (std::size_t b = 0; b < bytes_.size(); ++b)
      if (!stored_.buffers[b].needs_zero)
        for (std::int64_t i = 0; i < stored_.buffers[b].elems; ++i)
          store_element(bytes_[b].data(), stored_.buffers[b].type, i, 1e6);
  }

  void run(const nest::FlatStatement &flat, const nest::Nest &nest) {
    std::vector<std::span<std::byte>> slots;
    for (program::BufferId buffer : flat.buffers)
      slots.emplace_back(bytes_[at(buffer)]);
    nest::evaluate(nest, slots);
  }
  void run(const nest::FlatStatement &flat) { run(flat, flat.nest); }

  const std::vector<program::Bytes> &bytes() const { return bytes_; }

private:
  std::pair<std::size_t, std::int64_t> locate(program::TensorId id,
                                              const program::Shape &at) const {
    const program::Window &window = stored_.windows[static_cast<std::size_t>(id)];
    std::int64_t position = window.offset;
    for (std::size_t d = 0; d < at.size(); ++d)
      position += at[d] * window.strides[d];
    return {static_cast<std::size_t>(to_int(window.buffer)), position};
  }

  const program::StoredProgram &stored_;
  std::vector<program::Bytes> bytes_;
};

// Calls `visit` with every point of the box [0, shape).
template <class F> void for_each_point(const program::Shape &shape, F visit) {
  program::Shape point(shape.size(), 0);
  for (std::int64_t i = 0; i < program::elems(shape); ++i) {
    visit(point);
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (++point[d] < shape[d])
        break;
      point[d] = 0;
    }
  }
}

} // namespace tilefuse::test
