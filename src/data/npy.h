// SPDX-License-Identifier: Apache-2.0
// NumPy's .npy files, formats 1.0 and 2.0, little-endian, C order:
//
//   "\x93NUMPY" major minor header_bytes  {'descr': '<f4', 'fortran_order': False, 'shape': (1, 3),
//   }  elements
//
// Types f2 f4 f8 i1 u1 i4 i8 b1. Everything else is refused with a sentence that says what would be
// read.
#pragma once

#include <string>
#include <string_view>

#include "program/host_tensor.h"

namespace tilefuse::data {

// What a file says before its elements.
struct NpyHead {
  DType type = DType::U8;
  program::Shape shape;
  std::int64_t begin = 0; // place of the first element
};

// Of a file of `file_bytes`, which begins with `bytes`. Errors as below.
NpyHead parse_npy_head(std::string_view bytes, std::int64_t file_bytes, const std::string &file);

// `file` names the bytes in errors: Error{Io} for damage, Error{Type} for an element type or order
// that is not read, Error{Limit} for sizes that overflow.
program::HostTensor parse_npy(std::string_view bytes, const std::string &file);

// What a file says before elements of a type that NumPy has.
std::string npy_head(DType type, const program::Shape &shape);

// bf16 is written as f4, which holds every value of it.
std::string to_npy(const program::HostTensor &tensor);

} // namespace tilefuse::data
