// SPDX-License-Identifier: Apache-2.0
#include "runtime/workers/mpi.h"

#include <algorithm>
#include <array>
#include <exception>

#include <fmt/format.h>

#include "base/error.h"
#include "runtime/workers/star.h"

namespace tilefuse::runtime {
namespace {

constexpr std::size_t kMostElems = std::size_t{1} << 30; // of one call

int rows(std::size_t bytes) {
  TILEFUSE_CHECK(bytes % kMpiRow == 0, "parts that are no whole rows");
  return static_cast<int>(bytes / kMpiRow);
}

} // namespace

Mpi::Mpi() {
  std::string why;
  module_ = mpi_module(&why);
  if (module_ == nullptr)
    throw Error(ErrorCode::Device, "no MPI: " + why, {},
                {"workers of one host need none: tilefuse train … --workers N"});
  check(module_->start(&rank_, &count_), "MPI_Init");
}

Mpi::~Mpi() {
  if (std::uncaught_exceptions() == 0)
    module_->end();
}

void Mpi::check(int code, const char *call) const {
  if (code == 0)
    return;
  std::array<char, 512> text{};
  module_->describe(code, text.data(), static_cast<int>(text.size()));
  throw Error(ErrorCode::Device, fmt::format("{} failed: {}", call, text.data()));
}

std::string Mpi::broadcast(const std::string &own) const {
  std::array<char, kMostText> text{};
  std::copy_n(own.begin(), std::min(own.size(), text.size() - 1), text.begin());
  check(module_->broadcast(text.data(), kMostText), "MPI_Bcast");
  return text.data();
}

HostTransport Mpi::transport() const {
  // Where another worker is gone the monitor ends this process, and says who.
  const auto checked = [this](int code, const char *call) {
    try {
      check(code, call);
    } catch (const Error &) {
      Star::lost();
    }
  };
  HostTransport transport{.rank = rank_, .count = count_};
  transport.swap_parts = [=, this](std::span<const std::byte> from, std::span<std::byte> to) {
    const int part = rows(from.size() / static_cast<std::size_t>(count_));
    checked(module_->swap_parts(from.data(), to.data(), part), "MPI_Alltoall");
  };
  transport.gather_parts = [=, this](std::span<std::byte> all) {
    const int part = rows(all.size() / static_cast<std::size_t>(count_));
    checked(module_->gather_parts(all.data(), part), "MPI_Allgather");
  };
  transport.sum = [=, this](std::span<float> all) {
    for (; !all.empty(); all = all.subspan(std::min(all.size(), kMostElems)))
      checked(module_->sum(all.data(), static_cast<int>(std::min(all.size(), kMostElems))),
              "MPI_Allreduce");
  };
  return transport;
}

} // namespace tilefuse::runtime
