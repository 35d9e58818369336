// SPDX-License-Identifier: Apache-2.0
#include "ort/element_types.h"

namespace tilefuse::ort {

std::optional<DLDataType> to_dl(int onnx_type) {
  static constexpr struct {
    int onnx;
    DLDataType dl;
  } kRows[] = {
      {1, {kDLFloat, 32, 1}},   {2, {kDLUInt, 8, 1}},   {3, {kDLInt, 8, 1}},
      {4, {kDLUInt, 16, 1}},    {5, {kDLInt, 16, 1}},   {6, {kDLInt, 32, 1}},
      {7, {kDLInt, 64, 1}},     {9, {kDLBool, 8, 1}},   {10, {kDLFloat, 16, 1}},
      {11, {kDLFloat, 64, 1}},  {12, {kDLUInt, 32, 1}}, {13, {kDLUInt, 64, 1}},
      {16, {kDLBfloat, 16, 1}},
  };
  for (const auto &row : kRows)
    if (row.onnx == onnx_type)
      return row.dl;
  return std::nullopt;
}

bool is_float(int onnx_type) {
  const std::optional<DLDataType> type = to_dl(onnx_type);
  return type && (type->code == kDLFloat || type->code == kDLBfloat);
}

} // namespace tilefuse::ort
