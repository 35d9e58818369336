// SPDX-License-Identifier: Apache-2.0
#include "terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>

namespace tilefuse::tool {
namespace {

constexpr std::size_t kPlain = 80; // of a terminal that does not say
constexpr std::size_t kLeast = 40;

std::optional<std::size_t> said_width() {
  const char *text = std::getenv("COLUMNS");
  std::size_t width = 0;
  if (text == nullptr || std::from_chars(text, text + std::strlen(text), width).ec != std::errc() ||
      width == 0)
    return std::nullopt;
  return width < kLeast ? kLeast : width;
}

std::size_t width_of_file(int file) {
  if (const auto said = said_width())
    return *said;
  if (::isatty(file) != 1)
    return 0;
  struct winsize size {};
  if (::ioctl(file, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
    return kPlain;
  return size.ws_col < kLeast ? kLeast : size.ws_col;
}

} // namespace

std::size_t output_width() { return width_of_file(STDOUT_FILENO); }

std::size_t error_width() { return width_of_file(STDERR_FILENO); }

bool has_colours() {
  const char *off = std::getenv("NO_COLOR");
  const char *kind = std::getenv("TERM");
  return ::isatty(STDOUT_FILENO) == 1 && (off == nullptr || *off == '\0') &&
         (kind == nullptr || std::string_view(kind) != "dumb");
}

} // namespace tilefuse::tool
