// SPDX-License-Identifier: Apache-2.0
#include "data/jpeg.h"

#include <fmt/format.h>
#include <turbojpeg.h>

#include <memory>

#include "base/error.h"
#include "data/exif.h"

namespace tilefuse::data {
namespace {

struct Destroy {
  void operator()(void *handle) const { tjDestroy(handle); }
};
using Handle = std::unique_ptr<void, Destroy>;

[[noreturn]] void refuse(const Handle &handle, const std::string &file) {
  throw Error(ErrorCode::Io,
              fmt::format("the JPEG is damaged or truncated: {}", tjGetErrorStr2(handle.get())),
              file);
}

// Bytes between two segments, which some cameras leave and which lose nothing.
bool is_harmless(const Handle &handle) {
  return std::string_view(tjGetErrorStr2(handle.get())).find("extraneous") !=
         std::string_view::npos;
}

// Into rows of `format`.
void decompress(const Handle &handle, std::string_view bytes, TJPF format, const Image &image,
                std::uint8_t *to, const std::string &file) {
  const auto *data = reinterpret_cast<const unsigned char *>(bytes.data());
  const int flags = TJFLAG_ACCURATEDCT | TJFLAG_LIMITSCANS;
  const auto decode = [&](int more_flags) {
    return tjDecompress2(handle.get(), data, bytes.size(), to, image.width, 0, image.height, format,
                         flags | more_flags) == 0;
  };
  if (decode(TJFLAG_STOPONWARNING))
    return;
  if (!is_harmless(handle) || (!decode(0) && !is_harmless(handle)))
    refuse(handle, file);
}

// The printer's inks are stored as what is left of white.
void inks_to_rgb(const std::vector<std::uint8_t> &inks, std::vector<std::uint8_t> &rgb) {
  for (std::size_t i = 0; i < inks.size() / 4; ++i)
    for (std::size_t c = 0; c < 3; ++c)
      rgb[i * 3 + c] = static_cast<std::uint8_t>(inks[i * 4 + c] * inks[i * 4 + 3] / 255);
}

} // namespace

bool is_jpeg(std::string_view bytes) { return bytes.starts_with("\xff\xd8"); }

Image decode_jpeg(std::string_view bytes, const std::string &file, std::int64_t most_pixels) {
  const Handle handle(tjInitDecompress());
  if (!handle)
    throw Error(ErrorCode::Limit, "no memory to decode a JPEG", file);
  int width = 0;
  int height = 0;
  int subsampling = 0;
  int colours = 0;
  if (tjDecompressHeader3(handle.get(), reinterpret_cast<const unsigned char *>(bytes.data()),
                          bytes.size(), &width, &height, &subsampling, &colours) != 0 &&
      !is_harmless(handle))
    refuse(handle, file);
  Image image = blank_image(width, height, file, most_pixels);
  if (colours != TJCS_CMYK && colours != TJCS_YCCK) {
    decompress(handle, bytes, TJPF_RGB, image, image.rgb.data(), file);
    return upright(image, exif_orientation(bytes));
  }
  std::vector<std::uint8_t> inks(image.rgb.size() / 3 * 4);
  decompress(handle, bytes, TJPF_CMYK, image, inks.data(), file);
  inks_to_rgb(inks, image.rgb);
  return upright(image, exif_orientation(bytes));
}

} // namespace tilefuse::data
