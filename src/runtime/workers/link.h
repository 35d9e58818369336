// SPDX-License-Identifier: Apache-2.0
// TCP connections between workers. Messages are their length, 8 bytes of the host's order, and as many
// bytes; raw bytes go without a length, where both sides know it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tilefuse::runtime {

class Link {
public:
  Link() = default;
  explicit Link(int socket);
  ~Link();
  Link(Link &&other) noexcept;
  Link &operator=(Link &&other) noexcept;

  bool is_open() const { return socket_ >= 0; }
  int socket() const { return socket_; }
  void close();
  // How long receive() waits for the next bytes, send() until some are taken, and connect() for an
  // answer; 0: for ever.
  void set_patience(double seconds);

  // Error{Device} when the other side is gone, or says nothing for too long.
  void send(std::span<const std::byte> bytes);
  void receive(std::span<std::byte> bytes);
  void send_message(std::string_view text);
  // Error{Device} also for a message of more than `most` bytes.
  std::string receive_message(std::uint64_t most);

private:
  int socket_ = -1;
};

// Where others connect to: of one address alone.
class Listener {
public:
  // Error{Device} says why the address cannot be listened at. Port 0: a free one.
  Listener(const std::string &address, int port);
  int port() const { return port_; }
  // The next that connects; none when nobody has within so many seconds.
  std::optional<Link> accept(double seconds);

private:
  Link socket_;
  int port_ = 0;
};

// Tries until somebody listens there. Error{Device} after so many seconds.
Link connect(const std::string &address, int port, double seconds);

} // namespace tilefuse::runtime
