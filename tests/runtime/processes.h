// SPDX-License-Identifier: Apache-2.0
// Other processes that use the same file, for tests of what several processes share.
#pragma once

#include <array>
#include <csignal>
#include <functional>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace tilefuse::runtime {

// Runs body(0), body(1)… in processes of their own that begin together. True when each gave true.
inline bool all_succeed(int count, const std::function<bool(int)> &body) {
  std::array<int, 2> gate{}; // processes wait until its writing end is closed
  if (pipe(gate.data()) != 0)
    return false;
  std::vector<pid_t> children;
  for (int number = 0; number < count; ++number) {
    children.push_back(fork());
    if (children.back() != 0)
      continue;
    close(gate[1]);
    char none = 0;
    _exit(read(gate[0], &none, 1) == 0 && body(number) ? 0 : 1);
  }
  close(gate[0]);
  close(gate[1]);
  bool succeeded = true;
  for (const pid_t child : children) {
    int status = -1;
    succeeded = child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
                WEXITSTATUS(status) == 0 && succeeded;
  }
  return succeeded;
}

// A process calls `write_row` for 0, 1… until it is killed, `microseconds` after the first row.
// Gives the number of rows that it had finished, 0 when `write_row` gave false at once.
inline int killed_writer(unsigned microseconds, const std::function<bool(int)> &write_row) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0)
    return 0;
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    for (int number = 0; write_row(number); ++number)
      if (write(ends[1], &number, sizeof number) != sizeof number)
        break;
    _exit(1);
  }
  close(ends[1]);
  int last = -1;
  int number = 0;
  if (read(ends[0], &number, sizeof number) == sizeof number)
    last = number;
  usleep(microseconds);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  while (read(ends[0], &number, sizeof number) == sizeof number)
    last = number;
  close(ends[0]);
  return last + 1;
}

} // namespace tilefuse::runtime
