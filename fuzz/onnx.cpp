// SPDX-License-Identifier: Apache-2.0
// Bytes → file → reader → check → importer → verifier. The file lies in a folder of its own, beside
// 256 bytes that external tensors may name.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/error.h"
#include "model_mutator.h"
#include "onnx/import.h"
#include "program/program.h"
#include "scratch_folder.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t *data, std::size_t size, std::size_t most);

namespace {

using namespace tilefuse;

// Kept small, so that a limit is met before the memory of the machine.
constexpr std::int64_t kMadeBytes = std::int64_t{1} << 26;

const fuzz::ScratchFolder &folder() {
  static const fuzz::ScratchFolder folder;
  static const std::string weights = folder.write("weights.bin", std::string(256, '?'));
  return folder;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  static const tile::Library library = tile::read_library(TILEFUSE_OPS);
  const std::string path =
      folder().write("model.onnx", std::string(reinterpret_cast<const char *>(data), size));
  try {
    const program::Program program =
        onnx_import::import_model(path, library, {.made_bytes = kMadeBytes});
    program::to_text(program);
  } catch (const Error &error) {
    TILEFUSE_CHECK(!error.message().empty(), "an error without a message");
  }
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t *data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  constexpr unsigned kBytesShare = 16; // one change in so many is of bytes
  std::string bytes;
  if (seed % kBytesShare != 0)
    bytes = fuzz::mutate_model({reinterpret_cast<const char *>(data), size}, seed);
  if (bytes.empty() || bytes.size() > most)
    return LLVMFuzzerMutate(data, size, most);
  std::memcpy(data, bytes.data(), bytes.size());
  return bytes.size();
}
