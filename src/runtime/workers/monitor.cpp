// SPDX-License-Identifier: Apache-2.0
#include "runtime/workers/monitor.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <utility>

#include <fmt/format.h>

namespace tilefuse::runtime {
namespace {

constexpr int kPollMs = 50;
constexpr std::size_t kMostUnread = 1 << 16; // bytes of a line

} // namespace

Monitor::Monitor(Options options, std::map<int, Link> links) : options_(std::move(options)) {
  for (auto &[rank, link] : links)
    peers_[rank].link = std::move(link);
  thread_ = std::thread([this] { work(); });
}

Monitor::~Monitor() {
  is_ending_ = true;
  thread_.join();
  tell_all("bye\n");
}

void Monitor::begin_step(std::int64_t step) {
  is_in_exchange_ = false;
  step_ = step;
}
void Monitor::enter_exchange() { is_in_exchange_ = true; }
void Monitor::leave_exchange() { is_in_exchange_ = false; }
// At once: rank 0, which writes it, may be the next that is lost.
void Monitor::keep(std::int64_t step) {
  kept_ = step;
  tell_all(status());
}

void Monitor::fail(const std::string &why) {
  is_ending_ = true;
  std::string line = "failed " + why;
  std::replace(line.begin(), line.end(), '\n', ' ');
  tell_all(line + "\n");
}

void Monitor::work() {
  Stopwatch beat;
  tell_all(status());
  while (!is_ending_) {
    std::vector<pollfd> waits;
    for (const auto &[rank, peer] : peers_)
      if (!peer.said_goodbye)
        waits.push_back({peer.link.socket(), POLLIN, 0});
    ::poll(waits.data(), waits.size(), kPollMs);
    for (auto &[rank, peer] : peers_)
      if (!peer.said_goodbye && !is_ending_)
        read(rank, peer);
    if (beat.seconds() >= kHeartbeat) {
      beat = {};
      tell_all(status());
    }
    update(own_, step_, is_in_exchange_);
    look_for_silence();
    if (options_.rank == 0)
      look_for_the_stuck();
  }
}

void Monitor::update(Progress &progress, std::int64_t step, bool is_in_exchange) {
  if (step != progress.step || is_in_exchange != progress.is_in_exchange)
    progress = {step, is_in_exchange, {}};
}

bool Monitor::is_late(const Progress &progress) const {
  return progress.step > 0 && progress.changed.seconds() > options_.patience;
}

std::string Monitor::status() const {
  return fmt::format("at {} {} {}\n", step_.load(), is_in_exchange_ ? 1 : 0, kept_.load());
}

// Lines are short: what a connection does not take at once belongs to one that does not read.
void Monitor::tell_all(const std::string &line) {
  const std::lock_guard lock(sending_);
  for (auto &[rank, peer] : peers_)
    if (!peer.said_goodbye)
      static_cast<void>(
          ::send(peer.link.socket(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
}

void Monitor::read(int rank, Peer &peer) {
  std::array<char, 4096> bytes{};
  ssize_t got = 0;
  while ((got = ::recv(peer.link.socket(), bytes.data(), bytes.size(), MSG_DONTWAIT)) > 0) {
    peer.heard = {};
    peer.unread.append(bytes.data(), static_cast<std::size_t>(got));
    for (std::size_t stop = 0; (stop = peer.unread.find('\n')) != std::string::npos;) {
      take(rank, peer, peer.unread.substr(0, stop));
      peer.unread.erase(0, stop + 1);
    }
    if (peer.unread.size() > kMostUnread)
      end(sentence(rank, "says what no worker says"));
  }
  const bool is_open = got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
  if (!is_open && !peer.said_goodbye)
    end(sentence(rank, "ended"));
}

void Monitor::take(int rank, Peer &peer, const std::string &line) {
  long long step = 0;
  long long kept = 0;
  int place = 0;
  if (line == "bye")
    peer.said_goodbye = true;
  else if (line.starts_with("end "))
    end(line.substr(4));
  else if (line.starts_with("failed "))
    end(sentence(rank, "ended") + ": " + line.substr(7));
  else if (std::sscanf(line.c_str(), "at %lld %d %lld", &step, &place, &kept) == 3) {
    update(peer.progress, step, place == 1);
    if (rank == 0)
      kept_ = kept;
  }
}

void Monitor::look_for_silence() {
  for (const auto &[rank, peer] : peers_)
    if (!peer.said_goodbye && peer.heard.seconds() > kSilence && !is_ending_)
      end(sentence(rank, "does not answer, last"));
}

// Of rank 0: one that computes for too long while another has waited in an exchange for as long.
void Monitor::look_for_the_stuck() {
  std::map<int, const Progress *> late{{0, &own_}};
  for (const auto &[rank, peer] : peers_)
    if (!peer.said_goodbye)
      late[rank] = &peer.progress;
  std::erase_if(late, [&](const auto &entry) { return !is_late(*entry.second); });
  const auto waits = [](const auto &entry) { return entry.second->is_in_exchange; };
  const auto computes = std::find_if_not(late.begin(), late.end(), waits);
  if (computes != late.end() && std::any_of(late.begin(), late.end(), waits) && !is_ending_)
    end(sentence(computes->first, "is stuck"));
}

// Workers go in step: who is not here at this one is at it.
std::string Monitor::sentence(int rank, const std::string &what) const {
  const auto peer = peers_.find(rank);
  const std::int64_t step =
      std::max(step_.load(), peer == peers_.end() ? std::int64_t{0} : peer->second.progress.step);
  std::string text = fmt::format("{} {} at step {}; ",
                                 options_.names.at(static_cast<std::size_t>(rank)), what, step);
  return text + (kept_ < 0 ? "there is no checkpoint yet"
                           : fmt::format("newest checkpoint: step {}", kept_.load()));
}

void Monitor::end(const std::string &sentence) {
  if (options_.rank == 0)
    tell_all("end " + sentence + "\n");
  const std::string text = "tilefuse: error: " + sentence + "\n";
  static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size()));
  ::_exit(kLostWorker);
}

} // namespace tilefuse::runtime
