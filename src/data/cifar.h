// SPDX-License-Identifier: Apache-2.0
// CIFAR-10's binary files: records of a label's byte and three planes, red, green, blue, of 32 x 32
// bytes. Plain or packed by gzip; several files count as one.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "data/source.h"

namespace tilefuse::data {

// Reads the files into memory. Error{Io} for damage and for no whole number of records, Error{Limit}
// past most_bytes, Error{Shape} for labels out of range.
std::unique_ptr<Source> open_cifar(std::span<const std::string> files, const OpenOptions &options);

} // namespace tilefuse::data
