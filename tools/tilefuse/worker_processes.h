// SPDX-License-Identifier: Apache-2.0
// Processes of this program on this host, one per worker: `tilefuse train … --workers 2`. Each gets the
// variables by which torchrun says who is who, so that it need not know who started it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tilefuse::tool {

struct WorkerProcesses {
  std::vector<std::string> arguments; // of the program, without its name
  int count = 1;
};

struct WorkerEnds {
  std::vector<int> codes; // exit codes by rank; negative: the signal that ended it
  std::size_t first = 0;  // rank of who first ended otherwise than with code 0, where one has
};

// Starts them and waits for all: once one has ended otherwise than with code 0, the others have a
// second to say why. SIGTERM is passed on; a terminal gives them its SIGINT itself.
WorkerEnds run_workers(const WorkerProcesses &processes);

// The command line of this process, without the program's name.
std::vector<std::string> own_arguments();

} // namespace tilefuse::tool
