// SPDX-License-Identifier: Apache-2.0
#include "runtime/workers/place.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "base/error.h"

namespace tilefuse::runtime {
namespace {

// The variables by which one kind of starter says who is who; null: it has none.
struct Names {
  const char *rank;
  const char *count;
  const char *local;       // rank among the workers of a host
  const char *local_count; // of these
  const char *hosts;
  const char *mpi; // set where MPI connects them
};
constexpr auto kStarters = std::to_array<Names>({
    // torchrun, and `tilefuse train --workers`
    {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", nullptr, nullptr},
    // Open MPI
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE", nullptr, "OMPI_COMM_WORLD_RANK"},
    // PMI: MPICH and Intel MPI, of which Hydra has names for what is local, and Slurm has its own
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", nullptr, "PMI_RANK"},
    // Slurm, in a step of srun
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", nullptr, "SLURM_STEP_NUM_NODES",
     "PMIX_RANK"},
});
constexpr int kMostWorkers = 1 << 16;
constexpr int kMostPort = (1 << 16) - 1;

int number(const char *name, std::string_view text, int most) {
  int value = -1;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size() || value < 0 || value > most)
    throw Error(
        ErrorCode::Syntax,
        fmt::format("the variable {} is '{}', need a number from 0 to {}", name, text, most));
  return value;
}

std::optional<int> number(const Environment &environment, const char *name, int most) {
  const char *text = name == nullptr ? nullptr : environment(name);
  return text == nullptr ? std::nullopt : std::optional(number(name, text, most));
}

std::string text(const Environment &environment, const char *name) {
  const char *value = environment(name);
  return value == nullptr ? "" : value;
}

// Of this host.
void find_local(const Environment &environment, const Names &names, WorkerPlace &place) {
  if (!place.local)
    place.local = number(environment, names.local, kMostWorkers);
  place.is_one_host |= number(environment, names.local_count, kMostWorkers) == place.count ||
                       number(environment, names.hosts, kMostWorkers) == 1;
}

} // namespace

WorkerPlace worker_place(const Environment &environment) {
  WorkerPlace place;
  const auto speaks = [&](const Names &names) {
    return environment(names.rank) != nullptr && environment(names.count) != nullptr;
  };
  const auto found = std::find_if(kStarters.begin(), kStarters.end(), speaks);
  if (found != kStarters.end()) {
    place.rank = *number(environment, found->rank, kMostWorkers);
    place.count = *number(environment, found->count, kMostWorkers);
    place.has_mpi = found->mpi != nullptr && environment(found->mpi) != nullptr;
    if (place.rank >= place.count)
      throw Error(ErrorCode::Syntax,
                  fmt::format("the variables {} = {} and {} = {} contradict "
                              "each other",
                              found->rank, place.rank, found->count, place.count));
    find_local(environment, *found, place);
    for (const Names &names : kStarters)
      find_local(environment, names, place);
  }
  place.address = text(environment, "MASTER_ADDR");
  place.port = number(environment, "MASTER_PORT", kMostPort).value_or(0);
  // torchrun's own store listens at that port.
  if (text(environment, "TORCHELASTIC_USE_AGENT_STORE") == "True")
    place.port = place.port % kMostPort + 1;
  place.token = text(environment, "TILEFUSE_TOKEN");
  if (place.token.empty())
    place.token = text(environment, "TORCHELASTIC_RUN_ID");
  return place;
}

} // namespace tilefuse::runtime
