// SPDX-License-Identifier: Apache-2.0
// A model on an engine: compiled for each set of input shapes when that is first used. A bounded
// number stays compiled; what was not used for longest goes. Where all sizes are known the model is
// compiled when the network is made.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/engine.h"
#include "api/int8.h"
#include "api/options.h"
#include "api/source.h"
#include "base/lru.h"
#include "model/precision.h"
#include "model/resident.h"

namespace tilefuse::api {

// Compiled for one set of shapes.
struct Loaded {
  std::string precision; // what was asked for and done; a line, or empty
  model::Resident resident;
};

// Type and shape of each input, in order.
using InputTypes = std::vector<std::pair<DType, program::Shape>>;

class Network {
public:
  // Of `calibration`, int8 takes its scales.
  Network(std::shared_ptr<Engine> engine, std::shared_ptr<const Source> source, Options options,
          model::CalibrationInputs calibration, const Progress &progress);
  ~Network();
  Network(const Network &) = delete;
  Network &operator=(const Network &) = delete;

  Engine &engine() const { return *engine_; }
  const Options &options() const { return options_; }
  // Sizes are -1 where they vary.
  const std::vector<onnx_import::Declared> &inputs() const { return inputs_; }
  const std::vector<onnx_import::Declared> &outputs() const { return outputs_; }
  // Whether every input has one shape.
  bool is_fixed() const { return is_fixed_; }
  // The types of all inputs of a fixed network.
  const InputTypes &fixed_types() const { return fixed_types_; }

  // The rest is for who holds the engine's mutex.

  // The program of these shapes in the arithmetic asked for.
  model::AppliedPrecision prepare(const InputTypes &types) const;
  // Compiles what is not at hand, and says how long that took.
  std::shared_ptr<const Loaded> at(const InputTypes &types, const Progress &progress);
  // Forgets what is compiled: tuning made better schedules.
  void forget();
  // Grows when what is compiled was forgotten.
  int edition() const { return edition_; }
  std::size_t compiled() const { return loaded_.size(); }

private:
  Given given(const InputTypes &types) const;
  std::shared_ptr<const Loaded> load(const program::Program &program, const InputTypes &types,
                                     const Progress &progress);
  void fix(const program::Program &program);

  std::shared_ptr<Engine> engine_;
  std::shared_ptr<const Source> source_;
  Options options_;
  model::CalibrationInputs calibration_;
  std::vector<onnx_import::Declared> inputs_;
  std::vector<onnx_import::Declared> outputs_;
  bool is_fixed_ = false;
  InputTypes fixed_types_;
  int edition_ = 0;
  Lru<InputTypes, std::shared_ptr<const Loaded>> loaded_;
};

// "images f32[1, 3, 320, 320]", by name.
std::string to_text(const std::vector<onnx_import::Declared> &inputs, const InputTypes &types);

} // namespace tilefuse::api
