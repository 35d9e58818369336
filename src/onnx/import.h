// SPDX-License-Identifier: Apache-2.0
// ONNX model → program. Every operator is a Tile function of ops/; a table row binds its
// attributes. What is made of constants alone is evaluated here; Dropout and Identity vanish.
//
// The bodies of the model's own functions, and the branch of an If whose condition is known, take
// the place of the node. One Error{Unsupported} lists every operator, attribute, type or node that
// is not supported, with node names. Bad files are Error{Io}, bad shapes Error{Shape}, overflowing
// sizes Error{Limit}.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "onnx/gap.h"
#include "onnx/options.h"
#include "onnx/parameters.h"
#include "onnx/rounding_plan.h"
#include "program/host_tensor.h"
#include "program/precision/linear_scale.h"
#include "program/program.h"
#include "tile/tile.h"

namespace tilefuse::onnx_import {

// An input or output as the file declares it.
struct Declared {
  std::string name;
  DType type = DType::F32;
  std::vector<std::int64_t> dims;   // -1: left open
  std::vector<std::string> symbols; // by dimension; "" where it has no name
  bool is_typed = true;             // else it may be of any type
  bool is_shaped = true;            // else it may be of any shape
};

// A model that is read and checked once; programs for several shapes come of it.
class Model {
public:
  // External data must lie inside the file's folder.
  explicit Model(const std::string &path);
  // The bytes of a file; external data must lie inside `folder`.
  Model(std::string_view bytes, const std::string &folder);
  // The same, which shares them: weights are read where they lie.
  Model(std::shared_ptr<const Buffer> bytes, const std::string &folder);
  ~Model();
  Model(Model &&) noexcept;
  Model &operator=(Model &&) noexcept;

  // Without those that the file itself has values for. An output may lack dimensions.
  const std::vector<Declared> &inputs() const;
  const std::vector<Declared> &outputs() const;
  // What can be trained.
  std::vector<Parameter> parameters() const;
  // Float initializers that cannot (parameters.h).
  std::vector<Parameter> left_as_they_are() const;
  bool is_quantized() const;
  // With computed weights stored (fold_weights.h) and batch normalisations inside products
  // (fold_norms.h), as the next two want it.
  Model with_folded_weights(const tile::Library &ops) const;
  // What quantized() rounds; `keep`: products that stay in f32 (rounding_plan.h).
  RoundingPlan plan_rounding(const std::set<std::string> &keep) const;
  // The model with its products in 8-bit integers (quantize.h).
  Model quantized(const RoundingPlan &plan,
                  const std::map<std::string, program::Range> &ranges) const;
  // Writes it (export.h). Error{Unsupported} where its opset lacks the quantised operators that it has.
  void write(const std::string &path) const;
  // The value of one of them, in its own type.
  program::HostTensor parameter(const std::string &name) const;
  // The same where it lies, while the model is there; none where its bytes have to be made.
  std::optional<std::span<const std::byte>> parameter_in_place(const std::string &name) const;
  // The tensor that a classifier's loss is computed of (parameters.h).
  std::string logits() const;
  program::Program program(const tile::Library &ops, const Options &options) const;
  // What keeps program() from working. What reads the result of a node with
  // a gap is not looked at. Throws what is no node's fault.
  std::vector<Gap> gaps(const tile::Library &ops, const Options &options) const;

private:
  struct State;
  explicit Model(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Reads `path`; external data must lie inside its folder.
program::Program import_model(const std::string &path, const tile::Library &ops,
                              const Options &options);

// A serialized TensorProto (.pb). Error{Io} when it is not one.
program::HostTensor read_tensor(const std::string &path);

} // namespace tilefuse::onnx_import
