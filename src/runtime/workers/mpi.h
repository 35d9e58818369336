// SPDX-License-Identifier: Apache-2.0
// Processes that mpirun or srun started, as MPI knows them.
#pragma once

#include <string>

#include "runtime/workers/host_workers.h"
#include "runtime/workers/mpi_module.h"

namespace tilefuse::runtime {

class Mpi {
public:
  // Starts MPI. Error{Device} where it cannot be had.
  Mpi();
  // Ends it, but while an exception is under way: others may not come to the end.
  ~Mpi();
  Mpi(const Mpi &) = delete;
  Mpi &operator=(const Mpi &) = delete;

  int rank() const { return rank_; }
  int count() const { return count_; }
  // The text of rank 0, at every worker; of at most kMostText bytes.
  std::string broadcast(const std::string &own) const;
  // Parts are whole rows of kMpiRow bytes. Outlived by this.
  HostTransport transport() const;

  static constexpr int kMostText = 1024;

private:
  void check(int code, const char *call) const;

  const MpiModule *module_;
  int rank_ = 0;
  int count_ = 1;
};

} // namespace tilefuse::runtime
