// SPDX-License-Identifier: Apache-2.0
// MNIST's idx files, plain or packed by gzip: pictures (idx3) and their labels (idx1). Numbers are
// big-endian:
//
//   00 00 08 03  count  height  width  pixels…        00 00 08 01  count  labels…
#pragma once

#include <memory>
#include <string>

#include "data/source.h"

namespace tilefuse::data {

// Reads both files into memory. Error{Io} for damage and a wrong magic number, Error{Limit} past
// most_bytes, Error{Shape} where counts differ and for labels out of range.
std::unique_ptr<Source> open_mnist(const std::string &images, const std::string &labels,
                                   const OpenOptions &options);

} // namespace tilefuse::data
