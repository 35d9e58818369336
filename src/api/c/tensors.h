// SPDX-License-Identifier: Apache-2.0
// DLTensors and descriptions of tensors, from and to our own.
#pragma once

#include <cstdint>
#include <vector>

#include "api/engine.h"
#include "api/run.h"
#include "onnx/import.h"
#include "program/host_tensor.h"
#include "tilefuse/tilefuse.h"

namespace tilefuse::api::c {

// A tensor of the caller's, of the host or of the engine's own device. Error{Type|Shape|Device|
// Unsupported} says what of it cannot be used; BadArgument for null pointers.
TensorPlace to_place(const DLTensor *tensor, const Engine &engine);
// The same as a view; its shape is that of `place`.
DLTensor to_dltensor(TensorPlace &place, const Engine &engine);
// A copy of a tensor of the host.
program::HostTensor to_host_tensor(const DLTensor &tensor, const std::string &name);

// What tf_model_inputs() and the like give: a list that owns what it points to.
class InfoList {
public:
  explicit InfoList(const std::vector<onnx_import::Declared> &tensors);
  InfoList(const InfoList &) = delete;
  InfoList &operator=(const InfoList &) = delete;
  const tf_tensor_info *data() const { return infos_.data(); }
  std::size_t size() const { return infos_.size(); }

private:
  std::vector<onnx_import::Declared> tensors_;
  std::vector<std::vector<const char *>> symbols_;
  std::vector<tf_tensor_info> infos_;
};

} // namespace tilefuse::api::c
