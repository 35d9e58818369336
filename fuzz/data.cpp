// SPDX-License-Identifier: Apache-2.0
// Bytes → files of a data set → reader → pictures. The first byte says which kind, two more how
// long the first file is; the rest are the files.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/decode_image.h"
#include "data/open.h"
#include "scratch_folder.h"

namespace {

using namespace tilefuse;

constexpr std::size_t kHead = 3;
constexpr std::int64_t kMostPictures = 3; // read of a source, from either end
// Kept small, so that a limit is met before the memory and the time of the machine.
constexpr std::int64_t kMostPixels = 1 << 18;
constexpr data::OpenOptions kOptions = {.side = 8, .classes = 0, .most_bytes = 1 << 24};

void read_some(const data::Source &source) {
  TILEFUSE_CHECK(source.count() > 0, "a source without pictures");
  std::vector<std::uint8_t> pixels(data::picture_bytes(source.form()));
  for (std::int64_t i = 0; i < std::min(kMostPictures, source.count()); ++i)
    for (const std::int64_t number : {i, source.count() - 1 - i}) {
      const std::int32_t label = source.read(number, pixels);
      TILEFUSE_CHECK(label >= 0 && label < source.classes(), "a label that is no class");
    }
}

void decode(std::string_view bytes) {
  const data::Image image = data::decode_image(bytes, "picture", kMostPixels);
  data::crop_center(data::resize_shorter(image, kOptions.side, kMostPixels), kOptions.side,
                    kOptions.side);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *bytes, std::size_t size) {
  static const fuzz::ScratchFolder folder;
  constexpr std::array<const char *, 5> kKinds = {"cifar", "mnist", "npy", "list", "picture"};
  if (size < kHead)
    return 0;
  const std::string kind = kKinds.at(bytes[0] % kKinds.size());
  const std::string_view text(reinterpret_cast<const char *>(bytes) + kHead, size - kHead);
  const std::size_t length = std::min<std::size_t>(bytes[1] + 256U * bytes[2], text.size());
  try {
    if (kind == "picture") {
      decode(text);
      return 0;
    }
    std::string files = kind + ":" + folder.write("first", text.substr(0, length));
    if (kind != "list")
      files += "," + folder.write("second", text.substr(length));
    read_some(*data::open_source(files, kOptions));
  } catch (const Error &error) {
    TILEFUSE_CHECK(!error.message().empty(), "an error without a message");
  }
  return 0;
}
