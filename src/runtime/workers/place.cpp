// SPDX-License-Identifier: Apache-2.0
#include "runtime/workers/place.h"

#include <array>
#include <charconv>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "base/error.h"

namespace tilefuse::runtime {
namespace {

// The variables by which one kind of starter says who is who.
struct Names {
  const char *rank;
  const char *count;
  const char *local;
  const char *local_count;
  bool has_mpi;
};
constexpr auto kStarters = std::to_array<Names>({
    {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", false},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE", true},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", true},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE", true},
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

int number(const Environment &environment, const char *name, int most) {
  const char *text = environment(name);
  return text == nullptr ? 0 : number(name, text, most);
}

std::string text(const Environment &environment, const char *name) {
  const char *value = environment(name);
  return value == nullptr ? "" : value;
}

} // namespace

WorkerPlace worker_place(const Environment &environment) {
  WorkerPlace place;
  for (const Names &names : kStarters) {
    if (environment(names.rank) == nullptr || environment(names.count) == nullptr)
      continue;
    place.rank = number(environment, names.rank, kMostWorkers);
    place.count = number(environment, names.count, kMostWorkers);
    place.local = number(environment, names.local, kMostWorkers);
    place.has_mpi = names.has_mpi;
    place.is_one_host = number(environment, names.local_count, kMostWorkers) == place.count;
    if (place.rank >= place.count)
      throw Error(ErrorCode::Syntax,
                  fmt::format("the variables {} = {} and {} = {} contradict each "
                              "other",
                              names.rank, place.rank, names.count, place.count));
    break;
  }
  place.address = text(environment, "MASTER_ADDR");
  place.port = number(environment, "MASTER_PORT", kMostPort);
  // torchrun's own store listens at that port.
  if (text(environment, "TORCHELASTIC_USE_AGENT_STORE") == "True")
    place.port = place.port % kMostPort + 1;
  place.token = text(environment, "TILEFUSE_TOKEN");
  if (place.token.empty())
    place.token = text(environment, "TORCHELASTIC_RUN_ID");
  return place;
}

} // namespace tilefuse::runtime
