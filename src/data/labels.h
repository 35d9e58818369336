// SPDX-License-Identifier: Apache-2.0
// Labels of pictures: numbers of classes, from 0.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace tilefuse::data {

// Largest label + 1. Error{Shape} names the first picture whose label is negative, or is not below
// `classes` where that is not 0; `file` is where the labels come from.
int count_classes(std::span<const std::int32_t> labels, int classes, const std::string &file);

} // namespace tilefuse::data
