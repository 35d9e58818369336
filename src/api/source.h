// SPDX-License-Identifier: Apache-2.0
// Where programs come from: an ONNX model or a Tile function, read once; one program for each set
// of shapes.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "api/options.h"
#include "onnx/import.h"
#include "program/program.h"
#include "target/dtype.h"

namespace tilefuse::api {

// Of what values have, by name.
using Ranges = std::map<std::string, program::Range>;
// Type and shape by name of an input.
using Given = std::map<std::string, std::pair<DType, program::Shape>>;

class Source {
public:
  // An ONNX file.
  static Source read(const std::string &path);
  // The bytes of one, whose external data lie in `folder`.
  static Source parse(std::string_view bytes, const std::string &folder);
  // A function of a Tile text, the last where `function` is empty; `file` names it in messages.
  static Source tile(std::string text, std::string file, std::string function);

  // As the file declares them, less those that options give values for. Inputs of a Tile function
  // have no type and no shape until they are given.
  std::vector<onnx_import::Declared> inputs(const Options &options) const;
  const std::vector<onnx_import::Declared> &outputs() const { return outputs_; }

  // Binds what `given` and the options say, the options first; differentiated where they ask for it.
  program::Program program(const Options &options, const Given &given) const;
  // What of the model is not supported at the sizes that options bind; none of a Tile function,
  // whose mistakes are thrown.
  std::vector<onnx_import::Gap> gaps(const Options &options) const;

  // With weights stored and batch normalisations inside products (onnx/fold_weights.h, fold_norms.h),
  // what of that is rounded, and the model so (onnx/quantize.h). Error{Unsupported} of a Tile
  // function, which rounds by itself.
  Source with_folded_weights() const;
  onnx_import::RoundingPlan plan_rounding(const std::set<std::string> &keep) const;
  Source quantized(const onnx_import::RoundingPlan &plan, const Ranges &ranges) const;
  // Writes the model to an ONNX file.
  void write(const std::string &path) const;

private:
  const onnx_import::Model &model_to_quantize() const;

  struct TileText {
    std::string text;
    std::string file;
    std::string function;
  };
  using From = std::variant<std::shared_ptr<const onnx_import::Model>, TileText>;
  explicit Source(From from);

  program::Program undifferentiated(const Options &options, const Given &given) const;

  From from_;
  std::vector<onnx_import::Declared> inputs_;
  std::vector<onnx_import::Declared> outputs_;
};

} // namespace tilefuse::api
