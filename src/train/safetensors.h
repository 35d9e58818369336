// SPDX-License-Identifier: Apache-2.0
// Named tensors in a file that NumPy, PyTorch and others read as well (github.com/huggingface/safetensors): the number
// of bytes of a header, little-endian in 8 bytes, the header, a JSON object, and the elements, row-major:
//
//   {"__metadata__": {"tilefuse.step": "500"}, "conv1.weight": {"dtype": "F32", "shape": [16, 3, 3, 3],
//    "data_offsets": [0, 1728]}, …}
//
// Offsets count from the end of the header; tensors lie without gaps, those of the widest elements first. What is
// written here also holds a hash of the whole file in its metadata; where a file has one it must be right, so that a
// file that was torn or changed is not taken for whole.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>

#include "program/host_tensor.h"

namespace tilefuse::train {

using TensorMap = std::map<std::string, program::HostTensor>;
using Metadata = std::map<std::string, std::string>;

struct TensorFile {
  TensorMap tensors; // a tensor's name is its key; what it says itself is not written
  Metadata metadata; // without the hash
};

// All or nothing (base/durable_file.h). Error{Io} when the disk takes no more, or for names and metadata that are not UTF-8.
void write_safetensors(const std::string &path, const TensorFile &file);
void write_safetensors(const std::string &path, const TensorMap &tensors, const Metadata &metadata);

// Every size is checked before memory is taken for it. Error{Io} says what is wrong with a file, Error{Unsupported}
// names an element type that tilefuse lacks.
TensorFile read_safetensors(const std::string &path);

// The same, and whether the file holds a hash, by which it then has been found whole.
struct SealedFile {
  TensorFile content;
  bool is_sealed = false;
};
SealedFile read_sealed(const std::string &path);
// The same of `bytes` bytes of a stream; `file` names it in errors.
SealedFile read_sealed(std::istream &in, std::int64_t bytes, const std::string &file);

} // namespace tilefuse::train
