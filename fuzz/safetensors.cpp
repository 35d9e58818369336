// SPDX-License-Identifier: Apache-2.0
// Bytes → tensors: whatever a file holds, it is read or refused, and what is read has all its elements.
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>

#include "base/error.h"
#include "train/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  using namespace tilefuse;
  std::istringstream in(std::string(reinterpret_cast<const char *>(data), size));
  try {
    const train::TensorFile file =
        train::read_sealed(in, static_cast<std::int64_t>(size), "fuzz.safetensors").content;
    for (const auto &[name, tensor] : file.tensors)
      TILEFUSE_CHECK(tensor.name == name &&
                         static_cast<std::int64_t>(tensor.data.size()) ==
                             program::elems(tensor.shape) * size_bytes(tensor.type),
                     "a tensor without all its elements");
  } catch (const Error &) {
  }
  return 0;
}
