// SPDX-License-Identifier: Apache-2.0
// Changes an ONNX model as a message, so that what comes out still parses: a number becomes an
// edge, a string one that the model or the table of operators knows, an element of a list goes,
// doubles or changes places. libFuzzer's own mutator knows bytes alone and rarely leaves a readable
// file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tilefuse::fuzz {

// A model's bytes after one to four changes that follow from them and `seed`; empty when they are
// no model.
std::string mutate_model(std::string_view bytes, std::uint32_t seed);

} // namespace tilefuse::fuzz
