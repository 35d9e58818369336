// SPDX-License-Identifier: Apache-2.0
#include "progress.h"

#include <unistd.h>

#include <cstdio>
#include <utility>

namespace tilefuse::tool {

Progress::Progress(std::string what)
    : what_(std::move(what)), is_terminal_(::isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (is_shown_)
    std::fputs("\r\x1b[K", stderr);
}

void Progress::show(int done, int total) {
  show(std::to_string(done) + "/" + std::to_string(total));
}

void Progress::show(const std::string &text) {
  if (!is_terminal_)
    return;
  is_shown_ = true;
  std::fprintf(stderr, "\r\x1b[K%s %s", what_.c_str(), text.c_str());
  std::fflush(stderr);
}

} // namespace tilefuse::tool
