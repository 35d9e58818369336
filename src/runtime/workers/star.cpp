// SPDX-License-Identifier: Apache-2.0
#include "runtime/workers/star.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <sstream>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/stopwatch.h"

namespace tilefuse::runtime {
namespace {

constexpr std::uint64_t kMostHello = 4096; // bytes
constexpr std::uint64_t kMostMessage = std::uint64_t{1} << 34;
constexpr double kHelloSeconds = 5;
constexpr auto kUntilEnded = std::chrono::seconds(10);
constexpr const char *kGreeting = "tilefuse worker 1";

// What who comes says first, a line each.
struct Hello {
  std::string greeting, token, channel, name;
  int rank = -1;
  int count = 0;
};

std::string to_text(const Hello &hello) {
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n", kGreeting, hello.token, hello.channel, hello.rank,
                     hello.count, hello.name);
}

Hello parse_hello(const std::string &text) {
  std::istringstream in(text);
  Hello hello;
  std::string rank, count;
  for (std::string *line :
       {&hello.greeting, &hello.token, &hello.channel, &rank, &count, &hello.name})
    std::getline(in, *line);
  hello.rank = std::atoi(rank.c_str());
  hello.count = std::atoi(count.c_str());
  return hello;
}

std::string own_name(int rank, const std::string &device) {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return fmt::format("rank {} ({}, {})", rank, host.data(), device);
}

// What `work` does with the connection to rank 0 before all are there.
template <class Work> void meeting(const Work &work) {
  try {
    work();
  } catch (const Error &error) {
    throw Error(ErrorCode::Device, "rank 0 ended before the workers had met: " + error.message());
  }
}

// What `work` does, or the end of the process where a worker is gone.
template <class Work> auto guarded(const Work &work) {
  try {
    return work();
  } catch (const Error &) {
    Star::lost();
  }
}

} // namespace

void Star::lost() {
  std::this_thread::sleep_for(kUntilEnded);
  throw;
}

Star::Star(const StarOptions &options, std::optional<Listener> listener)
    : rank_(options.place.rank), count_(options.place.count),
      names_(static_cast<std::size_t>(count_)) {
  names_[static_cast<std::size_t>(rank_)] = own_name(rank_, options.device);
  std::map<int, Link> control;
  if (rank_ == 0 && !listener)
    listener.emplace(options.place.address, options.place.port);
  if (rank_ == 0)
    receive_all(options, *listener, control);
  else
    reach_first(options, control);
  // Only now everyone is there.
  if (rank_ == 0)
    for (auto &[rank, link] : links_)
      link.send_message(fmt::format("{}", fmt::join(names_, "\n")));
  else {
    meeting([&] {
      links_.at(0).set_patience(options.patience);
      std::istringstream in(links_.at(0).receive_message(kMostMessage));
      links_.at(0).set_patience(0);
      for (std::string &name : names_)
        std::getline(in, name);
    });
  }
  monitor_ = std::make_unique<Monitor>(
      Monitor::Options{.rank = rank_, .names = names_, .patience = options.patience},
      std::move(control));
}

void Star::receive_all(const StarOptions &options, Listener &listener,
                       std::map<int, Link> &control) {
  const Stopwatch watch;
  const auto missing = [&] {
    std::vector<int> ranks;
    for (int rank = 1; rank < count_; ++rank)
      if (!links_.contains(rank) || !control.contains(rank))
        ranks.push_back(rank);
    return ranks;
  };
  while (!missing().empty()) {
    const double left = options.patience - watch.seconds();
    std::optional<Link> link = left > 0 ? listener.accept(left) : std::nullopt;
    if (!link && left <= 0)
      throw Error(ErrorCode::Device,
                  fmt::format("of {} workers, rank {} did not come to {}:{} within {:.0f} s",
                              count_, fmt::join(missing(), ", "), options.place.address,
                              listener.port(), options.patience));
    if (!link)
      continue;
    Hello hello;
    try {
      link->set_patience(kHelloSeconds);
      hello = parse_hello(link->receive_message(kMostHello));
      link->set_patience(0);
    } catch (const Error &) { // no worker
      continue;
    }
    std::map<int, Link> &links = hello.channel == "data" ? links_ : control;
    if (hello.greeting != kGreeting || hello.token != options.place.token ||
        hello.count != count_ || hello.rank < 1 || hello.rank >= count_ ||
        links.contains(hello.rank))
      continue;
    names_[static_cast<std::size_t>(hello.rank)] = hello.name;
    links[hello.rank] = std::move(*link);
  }
}

void Star::reach_first(const StarOptions &options, std::map<int, Link> &control) {
  const WorkerPlace &place = options.place;
  for (const char *channel : {"data", "control"}) {
    Link link = connect(place.address, place.port, options.patience);
    const Hello hello{.greeting = kGreeting,
                      .token = place.token,
                      .channel = channel,
                      .name = names_[static_cast<std::size_t>(rank_)],
                      .rank = rank_,
                      .count = count_};
    meeting([&] { link.send_message(to_text(hello)); });
    (channel == std::string_view("data") ? links_ : control)[0] = std::move(link);
  }
}

std::vector<std::string> Star::gather(const std::string &own) {
  return guarded([&] {
    std::vector<std::string> all(static_cast<std::size_t>(count_));
    all[static_cast<std::size_t>(rank_)] = own;
    if (rank_ != 0)
      links_.at(0).send_message(own);
    for (auto &[rank, link] : links_)
      if (rank_ == 0)
        all[static_cast<std::size_t>(rank)] = link.receive_message(kMostMessage);
    for (auto &[rank, link] : links_)
      for (std::string &each : all)
        if (rank_ == 0)
          link.send_message(each);
        else
          each = link.receive_message(kMostMessage);
    return all;
  });
}

std::string Star::broadcast(const std::string &own) {
  return guarded([&] {
    if (rank_ != 0)
      return links_.at(0).receive_message(kMostMessage);
    for (auto &[rank, link] : links_)
      link.send_message(own);
    return own;
  });
}

void Star::swap_parts(std::span<const std::byte> from, std::span<std::byte> to) {
  guarded([&] {
    if (rank_ != 0) {
      for (int other = 0; other < count_; ++other)
        if (other != rank_)
          links_.at(0).send(part_of(from, other));
      for (int other = 0; other < count_; ++other)
        if (other != rank_)
          links_.at(0).receive(part_of(to, other));
      return;
    }
    relay_parts(from, to);
  });
}

// Of rank 0, which hands on what others send each other.
void Star::relay_parts(std::span<const std::byte> from, std::span<std::byte> to) {
  if (count_ > 2)
    relayed_.resize(static_cast<std::size_t>(count_) * from.size());
  const auto relayed = [&](int sender, int receiver) {
    const std::span<std::byte> all(relayed_);
    return part_of(all.subspan(static_cast<std::size_t>(sender) * from.size(), from.size()),
                   receiver);
  };
  for (auto &[sender, link] : links_)
    for (int receiver = 0; receiver < count_; ++receiver)
      if (receiver != sender)
        link.receive(receiver == 0 ? part_of(to, sender) : relayed(sender, receiver));
  for (auto &[receiver, link] : links_)
    for (int sender = 0; sender < count_; ++sender)
      if (sender != receiver)
        link.send(sender == 0 ? part_of(from, receiver) : relayed(sender, receiver));
}

void Star::gather_parts(std::span<std::byte> all) {
  guarded([&] {
    if (rank_ != 0)
      links_.at(0).send(part_of(all, rank_));
    for (auto &[rank, link] : links_)
      if (rank_ == 0)
        link.receive(part_of(all, rank));
    for (auto &[rank, link] : links_)
      for (int part = 0; part < count_; ++part)
        if (rank_ != 0 && part != rank_)
          link.receive(part_of(all, part));
        else if (rank_ == 0 && part != rank)
          link.send(part_of(all, part));
  });
}

void Star::sum(std::span<float> all) {
  guarded([&] {
    if (rank_ != 0) {
      links_.at(0).send(std::as_bytes(all));
      links_.at(0).receive(std::as_writable_bytes(all));
      return;
    }
    added_.resize(all.size());
    for (auto &[rank, link] : links_) {
      link.receive(std::as_writable_bytes(std::span(added_)));
      std::transform(all.begin(), all.end(), added_.begin(), all.begin(), std::plus<float>());
    }
    for (auto &[rank, link] : links_)
      link.send(std::as_bytes(all));
  });
}

} // namespace tilefuse::runtime
