// SPDX-License-Identifier: Apache-2.0
// Bytes → file → reader → check → importer → verifier. The file lies in a folder of its own, beside
// 256 bytes that external tensors may name.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/error.h"
#include "model_mutator.h"
#include "onnx/import.h"
#include "program/program.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t *data, std::size_t size, std::size_t most);

namespace {

using namespace tilefuse;
namespace fs = std::filesystem;

// Kept small, so that a limit is met before the memory of the machine.
constexpr std::int64_t kMadeBytes = std::int64_t{1} << 26;

class Folder {
public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "tilefuse_fuzz_XXXXXX").string();
    TILEFUSE_CHECK(mkdtemp(pattern.data()) != nullptr, "no temporary folder");
    path_ = pattern;
    write("weights.bin", std::string(256, '?'));
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder &) = delete;
  Folder &operator=(const Folder &) = delete;

  std::string write(const char *name, const std::string &bytes) const {
    const std::string path = (path_ / name).string();
    std::ofstream(path, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return path;
  }

private:
  fs::path path_;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  static const Folder folder;
  static const tile::Library library = tile::read_library(TILEFUSE_OPS);
  const std::string path =
      folder.write("model.onnx", std::string(reinterpret_cast<const char *>(data), size));
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
