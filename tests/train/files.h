// SPDX-License-Identifier: Apache-2.0
// What tests of files share: a folder for one test, bytes of files, errors, tensors of numbers.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "base/error.h"
#include "program/host_tensor.h"

namespace tilefuse::train {

// A fresh folder, removed at the end.
class Folder {
public:
  Folder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "tilefuse_train_XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr)
      throw Error(ErrorCode::Io, "no temporary folder");
    path_ = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder &) = delete;
  Folder &operator=(const Folder &) = delete;
  std::string operator/(const std::string &name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }

private:
  std::filesystem::path path_;
};

inline std::string bytes_of_file(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << in.rdbuf();
  return bytes.str();
}

inline void write_bytes(const std::string &path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// What an error prints; a failed test where there is none.
inline std::string error_of(const std::function<void()> &action) {
  try {
    action();
  } catch (const Error &error) {
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

// Elements first, first + 0.25, …
inline program::HostTensor tensor_of(const std::string &name, DType type,
                                     const program::Shape &shape, double first = 0) {
  program::HostTensor tensor = program::make_host_tensor(name, type, shape);
  for (std::int64_t i = 0; i < program::elems(shape); ++i)
    program::set(tensor, i, first + static_cast<double>(i) / 4);
  return tensor;
}

} // namespace tilefuse::train
