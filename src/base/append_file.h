// SPDX-License-Identifier: Apache-2.0
// A file that grows by whole pieces.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tilefuse {

class AppendFile {
public:
  // Makes the file, or cuts the one that is there off behind `kept` bytes. `what` it is, as "log", for
  // errors: Error{Io} when it cannot be written.
  AppendFile(std::string path, std::size_t kept, std::string what);
  ~AppendFile();
  AppendFile(const AppendFile &) = delete;
  AppendFile &operator=(const AppendFile &) = delete;

  bool is_empty() const { return is_empty_; }
  // All of it or, after Error{Io}, nothing.
  void append(std::string_view bytes);

private:
  [[noreturn]] void cannot_write(int number) const;

  std::string path_;
  std::string what_;
  int file_ = -1;
  bool is_empty_ = true;
};

} // namespace tilefuse
