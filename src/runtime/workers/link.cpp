// SPDX-License-Identifier: Apache-2.0
#include "runtime/workers/link.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/stopwatch.h"

namespace tilefuse::runtime {
namespace {

constexpr auto kBetweenTries = std::chrono::milliseconds(50);

[[noreturn]] void fail(const std::string &what) { throw Error(ErrorCode::Device, what); }

std::string reason(int number) { return std::strerror(number); }

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Addresses resolve(const std::string &address, int port) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo *found = nullptr;
  const int code = getaddrinfo(address.c_str(), std::to_string(port).c_str(), &wanted, &found);
  if (code != 0)
    fail(fmt::format("there is no address '{}': {}", address, gai_strerror(code)));
  return {found, &freeaddrinfo};
}

Link open_socket(const addrinfo &address) {
  return Link(::socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC, 0));
}

void send_small_messages_at_once(const Link &link) {
  const int yes = 1;
  ::setsockopt(link.socket(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

} // namespace

Link::Link(int socket) : socket_(socket) {}
Link::~Link() { close(); }
Link::Link(Link &&other) noexcept : socket_(std::exchange(other.socket_, -1)) {}
Link &Link::operator=(Link &&other) noexcept {
  std::swap(socket_, other.socket_);
  return *this;
}

void Link::close() {
  if (socket_ >= 0)
    ::close(std::exchange(socket_, -1));
}

void Link::set_patience(double seconds) {
  timeval time{};
  time.tv_sec = static_cast<time_t>(seconds);
  time.tv_usec = static_cast<suseconds_t>((seconds - std::floor(seconds)) * 1e6);
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
  ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
}

void Link::send(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno != EINTR)
      fail(fmt::format("a worker cannot be sent to: {}", reason(errno)));
    bytes = bytes.subspan(static_cast<std::size_t>(std::max<ssize_t>(sent, 0)));
  }
}

void Link::receive(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = ::recv(socket_, bytes.data(), bytes.size(), 0);
    if (got == 0)
      fail("a worker has closed its connection");
    if (got < 0 && errno != EINTR)
      fail(fmt::format("nothing comes from a worker: {}", reason(errno)));
    bytes = bytes.subspan(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  }
}

void Link::send_message(std::string_view text) {
  const std::uint64_t size = text.size();
  send(std::as_bytes(std::span(&size, 1)));
  send(std::as_bytes(std::span(text)));
}

std::string Link::receive_message(std::uint64_t most) {
  std::uint64_t size = 0;
  receive(std::as_writable_bytes(std::span(&size, 1)));
  if (size > most)
    fail(fmt::format("a message of {} bytes, need at most {}", size, most));
  std::string text(size, '\0');
  receive(std::as_writable_bytes(std::span(text)));
  return text;
}

Listener::Listener(const std::string &address, int port) {
  const Addresses found = resolve(address, port);
  socket_ = open_socket(*found);
  const int yes = 1;
  ::setsockopt(socket_.socket(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (::bind(socket_.socket(), found->ai_addr, found->ai_addrlen) != 0 ||
      ::listen(socket_.socket(), SOMAXCONN) != 0)
    fail(fmt::format("cannot listen at {}:{}: {}", address, port, reason(errno)));
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  ::getsockname(socket_.socket(), reinterpret_cast<sockaddr *>(&own), &size);
  port_ = ntohs(own.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6 &>(own).sin6_port
                                          : reinterpret_cast<sockaddr_in &>(own).sin_port);
}

std::optional<Link> Listener::accept(double seconds) {
  pollfd wait{socket_.socket(), POLLIN, 0};
  if (::poll(&wait, 1, static_cast<int>(std::ceil(seconds * 1e3))) <= 0)
    return std::nullopt;
  Link link(::accept4(socket_.socket(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!link.is_open())
    return std::nullopt;
  send_small_messages_at_once(link);
  return link;
}

Link connect(const std::string &address, int port, double seconds) {
  const Stopwatch watch;
  int number = 0;
  do {
    const Addresses found = resolve(address, port);
    for (const addrinfo *each = found.get(); each != nullptr; each = each->ai_next) {
      Link link = open_socket(*each);
      link.set_patience(std::max(seconds - watch.seconds(), 0.1));
      if (::connect(link.socket(), each->ai_addr, each->ai_addrlen) == 0) {
        send_small_messages_at_once(link);
        link.set_patience(0);
        return link;
      }
      number = errno == EINPROGRESS ? ETIMEDOUT : errno;
    }
    std::this_thread::sleep_for(kBetweenTries);
  } while (watch.seconds() < seconds);
  fail(fmt::format("nobody listens at {}:{} within {:.0f} s: {}", address, port, seconds,
                   reason(number)));
}

} // namespace tilefuse::runtime
