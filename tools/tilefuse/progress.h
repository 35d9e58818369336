// SPDX-License-Identifier: Apache-2.0
// One line on the terminal that says how far long work has come. Nothing at all is written when
// stderr is not one.
#pragma once

#include <string>

namespace tilefuse::tool {

class Progress {
public:
  explicit Progress(std::string what);
  ~Progress(); // clears the line
  // Before anything else is printed.
  void clear();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  void show(int done, int total);
  void show(const std::string &text);

private:
  std::string what_;
  bool is_terminal_;
  bool is_shown_ = false;
};

} // namespace tilefuse::tool
