// SPDX-License-Identifier: Apache-2.0
// Which of the workers this process is, as whoever started it says in its environment: torchrun, Open
// MPI, MPICH and others by PMI, Slurm, or `tilefuse train --workers`, which says it as torchrun does.
// place.cpp has one table of their variables. Several may speak, as Slurm does around MPICH.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace tilefuse::runtime {

struct WorkerPlace {
  int rank = 0;
  int count = 1;
  std::optional<int> local; // among those of this host: the number of its device; nobody may say it
  std::string address;      // that rank 0 listens at; empty: it is told by MPI
  int port = 0;
  std::string token;        // that who comes must know
  bool has_mpi = false;     // started so that MPI connects them
  bool is_one_host = false; // known to be
};

// The value of a variable, null where it is not set.
using Environment = std::function<const char *(const char *name)>;

// In the order above, the first that speaks; what it leaves open of this host is asked of the others.
// One worker where none does. Error{Syntax} names the variable that is not as it must be.
WorkerPlace worker_place(const Environment &environment);

} // namespace tilefuse::runtime
