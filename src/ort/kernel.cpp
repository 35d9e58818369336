// SPDX-License-Identifier: Apache-2.0
#include "ort/kernel.h"

#include <algorithm>
#include <utility>

#include "ort/calls.h"
#include "ort/element_types.h"
#include "ort/onnx_model.h"

namespace tilefuse::ort {
namespace {

DLTensor to_dltensor(void *data, DLDataType type, Shape &shape) {
  DLTensor tensor{};
  tensor.data = data;
  tensor.device = {kDLCPU, 0};
  tensor.ndim = static_cast<std::int32_t>(shape.size());
  tensor.dtype = type;
  tensor.shape = shape.data();
  return tensor;
}

Shape shape_of(const c::Value *value) {
  c::TensorInfo *made = nullptr;
  check(api().GetTensorTypeAndShape(value, &made));
  const std::unique_ptr<c::TensorInfo, void (*)(c::TensorInfo *)> info(
      made, api().ReleaseTensorTypeAndShapeInfo);
  return list<std::int64_t, c::TensorInfo>(api().GetDimensionsCount, api().GetDimensions, made);
}

void *data_of(const c::Value *value) {
  void *data = nullptr;
  check(api().GetTensorMutableData(const_cast<c::Value *>(value), &data));
  return data;
}

std::size_t position_of(const std::vector<std::string> &names, const std::string &name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    throw Refused("the node has no input or output '" + name + "'");
  return static_cast<std::size_t>(found - names.begin());
}

} // namespace

Kernel::Kernel(const Graph &graph, const c::Node *fused, const Device &device,
               const Options &options)
    : c::NodeComputeInfo{} {
  ort_version_supported = c::kApiVersion;
  CreateState = [](c::NodeComputeInfo *self, c::ComputeContext *, void **state) -> c::Status * {
    *state = self;
    return nullptr;
  };
  Compute = [](c::NodeComputeInfo *self, void *, c::KernelContext *context) {
    return guarded([&] { static_cast<Kernel *>(self)->compute(context); });
  };
  ReleaseState = [](c::NodeComputeInfo *, void *) {};

  const std::vector<std::string> reads = input_names(fused);
  const std::vector<std::string> makes = output_names(fused);
  Border edge{{}, makes};
  for (const std::string &name : reads)
    if (graph.tensors.contains(name) && !graph.tensors.at(name).constant)
      edge.inputs.push_back(name);
  const std::string bytes = to_onnx(
      graph, whole(graph), edge, [&](const std::string &name) { return known_sizes(graph, name); });
  compiled_ = std::make_unique<Compiled>(Model::parse(bytes.data(), bytes.size()), device, options);
  for (const tf_tensor_info &input : compiled_->inputs())
    inputs_.push_back({position_of(reads, input.name), input.type});
  for (const std::string &name : makes)
    outputs_.push_back({position_of(makes, name), *to_dl(graph.tensors.at(name).type)});
}

std::unique_ptr<Kernel::Lane> Kernel::take_lane() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty())
    return std::make_unique<Lane>(*compiled_);
  std::unique_ptr<Lane> lane = std::move(idle_.back());
  idle_.pop_back();
  return lane;
}

void Kernel::give_back(std::unique_ptr<Lane> lane) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(lane));
}

void Kernel::bind_inputs(c::KernelContext *context, Lane &lane) const {
  lane.inputs.resize(inputs_.size());
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const c::Value *value = nullptr;
    check(api().KernelContext_GetInput(context, inputs_[i].position, &value));
    Shape shape = shape_of(value);
    if (shape != lane.inputs[i])
      lane.outputs.clear();
    lane.inputs[i] = std::move(shape);
    const DLTensor tensor = to_dltensor(data_of(value), inputs_[i].type, lane.inputs[i]);
    tilefuse::check(tf_run_input(lane.run.get(), i, &tensor));
  }
  if (!lane.outputs.empty())
    return;
  lane.run.prepare();
  for (std::size_t o = 0; o < outputs_.size(); ++o)
    lane.outputs.push_back(lane.run.output(o).shape());
}

void Kernel::bind_outputs(c::KernelContext *context, Lane &lane) const {
  for (std::size_t o = 0; o < outputs_.size(); ++o) {
    Shape &shape = lane.outputs[o];
    c::Value *value = nullptr;
    check(api().KernelContext_GetOutput(context, outputs_[o].position, shape.data(), shape.size(),
                                        &value));
    const DLTensor tensor = to_dltensor(data_of(value), outputs_[o].type, shape);
    tilefuse::check(tf_run_bind_output(lane.run.get(), o, &tensor));
  }
}

// A lane that failed is not used again.
void Kernel::compute(c::KernelContext *context) {
  std::unique_ptr<Lane> lane = take_lane();
  bind_inputs(context, *lane);
  bind_outputs(context, *lane);
  lane->run.execute();
  give_back(std::move(lane));
}

} // namespace tilefuse::ort
