// SPDX-License-Identifier: Apache-2.0
// A .npy file (npy.h) that stays on disk and is read in parts, by any number of threads. Unlike a
// memory map it ends in an error where another program cuts the file meanwhile.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "data/npy.h"

namespace tilefuse::data {

class NpyFile {
public:
  // Errors as parse_npy_head.
  explicit NpyFile(const std::string &path);
  ~NpyFile();
  NpyFile(const NpyFile &) = delete;
  NpyFile &operator=(const NpyFile &) = delete;

  const std::string &path() const { return path_; }
  const NpyHead &head() const { return head_; }
  // Fills `bytes` with those from element bytes `begin` on. Error{Io}.
  void read(std::int64_t begin, std::span<std::uint8_t> bytes) const;

private:
  void read_at(std::int64_t place, std::span<std::uint8_t> bytes) const;

  std::string path_;
  int descriptor_ = -1;
  NpyHead head_;
};

} // namespace tilefuse::data
