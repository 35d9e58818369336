// SPDX-License-Identifier: Apache-2.0
// What the library tells of itself, as JSON.
#pragma once

#include <span>
#include <string>

#include "api/engine.h"
#include "api/network.h"
#include "api/training.h"
#include "api/work.h"

namespace tilefuse::api {

// [{"device": "cpu", "name": …, "state": …, "usable": true}, …]
std::string to_json(std::span<const FoundDevice> devices);
// [{"name": "precision", "of": "compile", "help": …}, …]
std::string to_json(std::span<const OptionRow> rows);
// [{"node": "Loop_7", "why": "operator 'Loop' of opset 13"}, …]
std::string to_json(std::span<const onnx_import::Gap> gaps);
// {"device": "cpu", "name": …, "driver": …, "target": …, "alignment": 64}
std::string to_json(const Engine &engine);
// {"kernels": 31, "compiled": 0, "weight_bytes": …, …}; `kept`: shapes that are compiled.
std::string to_json(const Loaded &loaded, std::size_t kept);
// {"seconds": {"median": …, "p10": …, "p90": …}, "runs": …, "kernels": [{"name": …, …}, …]}
std::string to_json(const Timing &timing);
// {"step": 120, "steps": 1580, "epoch": 2, "made": 10, "loss": …, "top1": …, …}
std::string to_json(const StepSummary &steps);
// {"count": 2000, "hits": 1627, "top1": 0.8135, "loss": …}
std::string to_json(const train::Evaluation &evaluation);
// {"step": 1580, "complete": true, "best_epoch": 19, "before": {…}, "last": {…}, "best": {…}}
std::string to_json(const train::RunResult &result);
// {"step": 0, "steps": 1580, "steps_per_epoch": 79, "memory": {"activations": …, …}, "text": …}
std::string to_json(const Trainer::Info &info);

} // namespace tilefuse::api
