// SPDX-License-Identifier: Apache-2.0
#include "progress.h"

#include <unistd.h>

#include <cstdio>
#include <utility>

#include "report/table.h"
#include "report/text_width.h"
#include "terminal.h"

namespace tilefuse::tool {

Progress::Progress(std::string what)
    : what_(std::move(what)), is_terminal_(::isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() { clear(); }

void Progress::clear() {
  if (is_shown_)
    std::fputs("\r\x1b[K", stderr);
  is_shown_ = false;
}

void Progress::show(int done, int total) {
  show(std::to_string(done) + "/" + std::to_string(total));
}

void Progress::show(const std::string &text) {
  if (!is_terminal_)
    return;
  is_shown_ = true;
  // The last column stays free: some terminals go on to the next line behind it.
  const std::string line = report::cut(report::printable(what_ + " " + text), error_width() - 1);
  std::fprintf(stderr, "\r\x1b[K%s", line.c_str());
  std::fflush(stderr);
}

} // namespace tilefuse::tool
