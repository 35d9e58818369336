// SPDX-License-Identifier: Apache-2.0
// The workers of a run, met and connected: a star for what lies on the host and for watching each
// other (runtime/workers/star.h), and what exchanges device memory (runtime/workers.h): NCCL between
// CUDA devices, MPI where it started them, else the star.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "runtime/workers.h"
#include "runtime/workers/mpi.h"
#include "runtime/workers/star.h"

namespace tilefuse::train {

struct Rendezvous {
  // Waits for all, `patience` seconds at most. The device, which `selector` names, outlives the
  // result. Error{Device} where they do not meet.
  Rendezvous(runtime::WorkerPlace place, runtime::Device &device, const std::string &selector,
             double patience);

  std::unique_ptr<runtime::Mpi> mpi; // null: they were not started by it
  runtime::Star star;
  std::unique_ptr<runtime::Workers> workers;
};

// What must be the same at all workers, by name. Error{Unsupported}, at each of them, names two
// that differ, and in what.
void agree(runtime::Star &star, const std::map<std::string, std::string> &facts);

} // namespace tilefuse::train
