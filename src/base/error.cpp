// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace tilefuse {

std::string_view to_string(ErrorCode code) {
  switch (code) {
  case ErrorCode::Syntax:
    return "syntax error";
  case ErrorCode::Type:
    return "type error";
  case ErrorCode::Shape:
    return "shape error";
  case ErrorCode::Unsupported:
    return "unsupported";
  case ErrorCode::Limit:
    return "limit exceeded";
  case ErrorCode::Device:
    return "device error";
  case ErrorCode::Io:
    return "input/output error";
  case ErrorCode::Cancelled:
    return "cancelled";
  }
  return "error";
}

Error::Error(ErrorCode code, std::string message, std::string where, std::vector<std::string> notes)
    : code_(code), message_(std::move(message)), where_(std::move(where)),
      notes_(std::move(notes)) {
  if (!where_.empty())
    text_ = where_ + ": ";
  text_ += "error: " + message_;
  for (const std::string &note : notes_)
    text_ += "\nnote: " + note;
}

void internal_error(std::string_view what, const char *file, int line) {
  std::fprintf(stderr, "tilefuse: internal error: %.*s (%s:%d)\n", static_cast<int>(what.size()),
               what.data(), file, line);
  std::abort();
}

} // namespace tilefuse
