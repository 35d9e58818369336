// SPDX-License-Identifier: Apache-2.0
// A file read from its beginning to its end, unpacked on the way where it is gzip's. Memory grows
// with the bytes that are really there, never with what a file promises.
//
//   PackedFile file("train-images-idx3-ubyte.gz");
//   const std::vector<std::uint8_t> head = file.take(16);
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

struct gzFile_s;

namespace tilefuse::data {

class PackedFile {
public:
  // Error{Io} when there is no such regular file.
  explicit PackedFile(const std::string &path);

  // The next `bytes`. Error{Io} when the file ends before them or is damaged.
  std::vector<std::uint8_t> take(std::int64_t bytes);
  // Everything that is left. Error{Limit} when that is more than `most_bytes`.
  std::vector<std::uint8_t> rest(std::int64_t most_bytes);
  // Error{Io} unless everything was read.
  void expect_end();

private:
  std::vector<std::uint8_t> read_up_to(std::int64_t bytes);

  struct Close {
    void operator()(gzFile_s *file) const;
  };
  std::string path_;
  std::unique_ptr<gzFile_s, Close> file_;
};

} // namespace tilefuse::data
