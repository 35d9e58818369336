// SPDX-License-Identifier: Apache-2.0
#include "data/packed_file.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>

#include "base/error.h"
#include "base/read_file.h"

namespace tilefuse::data {
namespace {

constexpr std::int64_t kPieceBytes = 1 << 20;

} // namespace

void PackedFile::Close::operator()(gzFile_s *file) const { gzclose(file); }

PackedFile::PackedFile(const std::string &path) : path_(path) {
  file_bytes(path); // zlib would wait for a FIFO and open a folder
  file_.reset(gzopen(path.c_str(), "rb"));
  if (!file_)
    throw Error(ErrorCode::Io, "cannot read the file", path);
  gzbuffer(file_.get(), 1 << 17);
}

std::vector<std::uint8_t> PackedFile::read_up_to(std::int64_t bytes) {
  std::vector<std::uint8_t> result;
  std::int64_t have = 0;
  while (have < bytes) {
    const std::int64_t piece = std::min(bytes - have, std::max(have, kPieceBytes));
    const auto asked = static_cast<unsigned>(std::min(piece, std::int64_t{1} << 30));
    result.resize(static_cast<std::size_t>(have + asked));
    const int got = gzread(file_.get(), result.data() + have, asked);
    int failure = Z_OK;
    const char *why = gzerror(file_.get(), &failure);
    if (got < 0 || failure != Z_OK)
      throw Error(ErrorCode::Io, fmt::format("the file is damaged or truncated: {}", why), path_);
    have += got;
    if (got < static_cast<int>(asked))
      break;
  }
  result.resize(static_cast<std::size_t>(have));
  return result;
}

std::vector<std::uint8_t> PackedFile::take(std::int64_t bytes) {
  std::vector<std::uint8_t> result = read_up_to(bytes);
  if (static_cast<std::int64_t>(result.size()) < bytes)
    throw Error(
        ErrorCode::Io,
        fmt::format("the file is truncated: {} bytes where {} must follow", result.size(), bytes),
        path_);
  return result;
}

std::vector<std::uint8_t> PackedFile::rest(std::int64_t most_bytes) {
  std::vector<std::uint8_t> result = read_up_to(most_bytes);
  if (!read_up_to(1).empty())
    throw Error(ErrorCode::Limit,
                fmt::format("more than {} bytes of pictures, which are kept in memory", most_bytes),
                path_);
  return result;
}

void PackedFile::expect_end() {
  if (!read_up_to(1).empty())
    throw Error(ErrorCode::Io, "the file goes on behind the last item that its head promises",
                path_);
}

} // namespace tilefuse::data
