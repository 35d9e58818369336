// SPDX-License-Identifier: Apache-2.0
#include "ort/onnx_model.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <set>

#include "ort/calls.h"
#include "ort/wire.h"

namespace tilefuse::ort {
namespace {

// Fields of the messages of onnx.proto, and what AttributeProto::type is of each kind.
namespace model_proto {
enum { kIrVersion = 1, kGraph = 7, kOpsets = 8 };
}
namespace opset_proto {
enum { kDomain = 1, kVersion = 2 };
}
namespace graph_proto {
enum { kNodes = 1, kName = 2, kInitializers = 5, kInputs = 11, kOutputs = 12 };
}
namespace node_proto {
enum { kInputs = 1, kOutputs = 2, kName = 3, kType = 4, kAttributes = 5, kDomain = 7 };
}
namespace attribute_proto {
enum { kName = 1, kF = 2, kI = 3, kS = 4, kT = 5, kFs = 7, kIs = 8, kSs = 9, kType = 20 };
}
namespace attribute_type {
enum { kFloat = 1, kInt = 2, kString = 3, kTensor = 4, kFloats = 6, kInts = 7, kStrings = 8 };
}
namespace tensor_proto {
enum { kDims = 1, kType = 2, kName = 8, kRaw = 9 };
}
namespace value_proto {
enum { kName = 1, kType = 2 };
}
namespace type_proto {
enum { kTensor = 1, kElements = 1, kShape = 2, kDims = 1, kSize = 1 };
}

struct ReleaseValue {
  void operator()(c::Value *value) const { api().ReleaseValue(value); }
};
struct ReleaseInfo {
  void operator()(c::TensorInfo *info) const { api().ReleaseTensorTypeAndShapeInfo(info); }
};

Message tensor_message(const c::Value *value, const std::string &name) {
  c::TensorInfo *made = nullptr;
  check(api().GetTensorTypeAndShape(value, &made));
  const std::unique_ptr<c::TensorInfo, ReleaseInfo> info(made);
  int type = 0;
  check(api().GetTensorElementType(info.get(), &type));
  Message message;
  for (const std::int64_t size :
       list<std::int64_t, c::TensorInfo>(api().GetDimensionsCount, api().GetDimensions, info.get()))
    message.add_int(tensor_proto::kDims, size);
  message.add_int(tensor_proto::kType, type);
  message.add_bytes(tensor_proto::kName, name);
  void *data = nullptr;
  std::size_t bytes = 0;
  check(api().GetTensorMutableData(const_cast<c::Value *>(value), &data));
  check(api().GetTensorSizeInBytes(value, &bytes));
  message.add_bytes(tensor_proto::kRaw, {static_cast<const char *>(data), bytes});
  return message;
}

// The elements of an attribute; none where it is empty.
template <class Item> std::vector<Item> read(const c::OpAttr *attribute, c::AttributeKind kind) {
  std::size_t bytes = 0;
  if (c::Status *status = api().ReadOpAttr(attribute, kind, nullptr, 0, &bytes)) // too short
    api().ReleaseStatus(status);
  std::vector<Item> items(bytes / sizeof(Item));
  if (!items.empty())
    check(api().ReadOpAttr(attribute, kind, items.data(), bytes, &bytes));
  return items;
}

// Texts that end in a zero each, one behind the other.
std::vector<std::string> split(const std::vector<char> &texts) {
  std::vector<std::string> all;
  for (auto at = texts.begin(); at != texts.end();) {
    const auto end = std::find(at, texts.end(), '\0');
    all.emplace_back(at, end);
    at = end == texts.end() ? end : end + 1;
  }
  return all;
}

Message attribute_message(const c::OpAttr *attribute) {
  namespace field = attribute_proto;
  namespace type = attribute_type;
  const std::string name = text(api().OpAttr_GetName, attribute);
  int kind = 0;
  check(api().OpAttr_GetType(attribute, &kind));
  Message message;
  message.add_bytes(field::kName, name);
  const auto number = [&](int of) { message.add_int(field::kType, of); };
  switch (kind) {
  case c::kInt:
    number(type::kInt);
    message.add_int(field::kI, read<std::int64_t>(attribute, c::kInt).at(0));
    break;
  case c::kInts:
    number(type::kInts);
    for (const std::int64_t value : read<std::int64_t>(attribute, c::kInts))
      message.add_int(field::kIs, value);
    break;
  case c::kFloat:
    number(type::kFloat);
    message.add_float(field::kF, read<float>(attribute, c::kFloat).at(0));
    break;
  case c::kFloats:
    number(type::kFloats);
    for (const float value : read<float>(attribute, c::kFloats))
      message.add_float(field::kFs, value);
    break;
  case c::kString: {
    number(type::kString);
    const std::vector<char> value = read<char>(attribute, c::kString);
    message.add_bytes(field::kS, {value.data(), value.size()});
    break;
  }
  case c::kStrings:
    number(type::kStrings);
    for (const std::string &value : split(read<char>(attribute, c::kStrings)))
      message.add_bytes(field::kSs, value);
    break;
  case c::kTensor: {
    number(type::kTensor);
    c::Value *value = nullptr;
    check(api().OpAttr_GetTensorAttributeAsOrtValue(attribute, &value));
    const std::unique_ptr<c::Value, ReleaseValue> owner(value);
    message.add(field::kT, tensor_message(value, name));
    break;
  }
  default:
    throw Refused("attribute " + name + " is of a kind that onnxruntime does not give");
  }
  return message;
}

Message node_message(const Node &node) {
  Message message;
  for (const std::string &input : node.inputs)
    message.add_bytes(node_proto::kInputs, input);
  for (const std::string &output : node.outputs)
    message.add_bytes(node_proto::kOutputs, output);
  message.add_bytes(node_proto::kName, node.name);
  message.add_bytes(node_proto::kType, node.type);
  message.add_bytes(node_proto::kDomain, node.domain);
  for (const c::OpAttr *attribute : list<const c::OpAttr *, c::Node>(
           api().Node_GetNumAttributes, api().Node_GetAttributes, node.handle))
    message.add(node_proto::kAttributes, attribute_message(attribute));
  return message;
}

Message value_message(const std::string &name, int type, const std::optional<Shape> &shape) {
  Message tensor;
  tensor.add_int(type_proto::kElements, type);
  if (shape) {
    Message sizes;
    for (const std::int64_t size : *shape) {
      Message dim;
      if (size >= 0)
        dim.add_int(type_proto::kSize, size);
      sizes.add(type_proto::kDims, dim);
    }
    tensor.add(type_proto::kShape, sizes);
  }
  Message of;
  of.add(type_proto::kTensor, tensor);
  Message message;
  message.add_bytes(value_proto::kName, name);
  message.add(value_proto::kType, of);
  return message;
}

Message graph_message(const Graph &graph, const Group &group, const Border &border,
                      const Sizes &sizes) {
  Message message;
  std::set<std::string> added;
  for (const std::size_t n : group) {
    message.add(graph_proto::kNodes, node_message(graph.nodes[n]));
    for (const std::string &name : graph.nodes[n].inputs)
      if (!name.empty() && graph.tensors.at(name).constant && added.insert(name).second)
        message.add(graph_proto::kInitializers,
                    tensor_message(graph.tensors.at(name).constant, name));
  }
  message.add_bytes(graph_proto::kName, "part");
  for (const std::string &name : border.inputs)
    message.add(graph_proto::kInputs,
                value_message(name, graph.tensors.at(name).type, sizes(name)));
  for (const std::string &name : border.outputs)
    message.add(graph_proto::kOutputs, value_message(name, graph.tensors.at(name).type, {}));
  return message;
}

} // namespace

Shape known_sizes(const Graph &graph, const std::string &input) {
  return graph.tensors.at(input).shape.value_or(Shape());
}

std::string to_onnx(const Graph &graph, const Group &group, const Border &border,
                    const Sizes &sizes) {
  Message model;
  model.add_int(model_proto::kIrVersion, graph.ir_version);
  for (const auto &[domain, version] : graph.opsets) {
    Message opset;
    opset.add_bytes(opset_proto::kDomain, domain);
    opset.add_int(opset_proto::kVersion, version);
    model.add(model_proto::kOpsets, opset);
  }
  model.add(model_proto::kGraph, graph_message(graph, group, border, sizes));
  if (model.bytes().size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    throw Refused("a group of nodes has more than 2 GiB of weights");
  return model.bytes();
}

} // namespace tilefuse::ort
