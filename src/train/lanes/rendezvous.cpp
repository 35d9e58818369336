// SPDX-License-Identifier: Apache-2.0
#include "train/lanes/rendezvous.h"

#include <unistd.h>

#include <array>
#include <optional>
#include <random>
#include <sstream>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "runtime/cuda/nccl_workers.h"

namespace tilefuse::train {
namespace {

using runtime::WorkerPlace;

std::string random_token() {
  std::random_device source;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", source(), source(), source(), source());
}

std::string own_address(bool is_one_host) {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return is_one_host ? "127.0.0.1" : host.data();
}

// Where rank 0 listens, if nobody has said it; MPI tells the others.
std::optional<runtime::Listener> settle(WorkerPlace &place, const runtime::Mpi *mpi) {
  if (!place.address.empty())
    return std::nullopt;
  if (mpi == nullptr)
    throw Error(ErrorCode::Device,
                fmt::format("rank {} of {} does not know where rank 0 is", place.rank, place.count),
                {}, {"the variables MASTER_ADDR and MASTER_PORT say it"});
  std::optional<runtime::Listener> listener;
  std::string said;
  if (place.rank == 0) {
    const std::string address = own_address(place.is_one_host);
    listener.emplace(address, 0);
    said = fmt::format("{} {} {}", address, listener->port(), random_token());
  }
  std::istringstream(mpi->broadcast(said)) >> place.address >> place.port >> place.token;
  return listener;
}

std::unique_ptr<runtime::Mpi> start_mpi(const WorkerPlace &place, bool is_cuda) {
  if (!place.has_mpi || (is_cuda && !place.address.empty()))
    return nullptr;
  auto mpi = std::make_unique<runtime::Mpi>();
  if (mpi->rank() != place.rank || mpi->count() != place.count)
    throw Error(ErrorCode::Device,
                fmt::format("rank {} of {} is rank {} of {} to MPI: it was started by another MPI "
                            "than this build was made with",
                            place.rank, place.count, mpi->rank(), mpi->count()));
  return mpi;
}

runtime::Star make_star(WorkerPlace place, const runtime::Mpi *mpi, const std::string &selector,
                        double patience) {
  std::optional<runtime::Listener> listener = settle(place, mpi);
  return runtime::Star({.place = place, .device = selector, .patience = patience},
                       std::move(listener));
}

std::unique_ptr<runtime::Workers> make_workers(Rendezvous &met, runtime::Device &device,
                                               bool is_cuda) {
  runtime::Star &star = met.star;
  if (is_cuda)
    return runtime::make_nccl_workers(
        {star.rank(), star.count(), [&](const std::string &own) { return star.broadcast(own); }},
        device);
  if (met.mpi)
    return runtime::make_host_workers(met.mpi->transport(), device);
  return runtime::make_host_workers(
      {.rank = star.rank(),
       .count = star.count(),
       .swap_parts = [&](auto from, auto to) { star.swap_parts(from, to); },
       .gather_parts = [&](auto all) { star.gather_parts(all); },
       .sum = [&](auto all) { star.sum(all); }},
      device);
}

// A line per fact.
std::string to_text(const std::map<std::string, std::string> &facts) {
  std::string text;
  for (const auto &[name, value] : facts)
    text += fmt::format("{}: {}\n", name, value);
  return text;
}

} // namespace

Rendezvous::Rendezvous(WorkerPlace place, runtime::Device &device, const std::string &selector,
                       double patience)
    : mpi(start_mpi(place, selector.starts_with("cuda"))),
      star(make_star(std::move(place), mpi.get(), selector, patience)),
      workers(make_workers(*this, device, selector.starts_with("cuda"))) {}

void agree(runtime::Star &star, const std::map<std::string, std::string> &facts) {
  const std::vector<std::string> all = star.gather(to_text(facts));
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0])
      continue;
    std::vector<std::string> notes;
    std::istringstream first(all[0]), other(all[rank]);
    for (std::string a, b; std::getline(first, a) && std::getline(other, b);)
      if (a != b)
        notes.push_back(fmt::format("{}, of rank 0 {}", b, a.substr(a.find(' ') + 1)));
    throw Error(ErrorCode::Unsupported,
                fmt::format("{} differs from {}", star.name(static_cast<int>(rank)), star.name(0)),
                {}, notes);
  }
}

} // namespace tilefuse::train
