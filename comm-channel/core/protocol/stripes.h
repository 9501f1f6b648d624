// Stripes the bytes of large messages to one peer over several ports. Each port carries as much as
// the others, whatever the messages' sizes and whatever else goes by one of them. NetworkLink uses
// it (comm-channel/net/network_link.h).
//
// The class is a pure value and not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace scela::channel {

inline constexpr std::size_t kMaxPorts = 4;

class Stripes {
 public:
  using Shares = std::array<std::uint64_t, kMaxPorts>;  // bytes, by port
  // A shorter message goes by one port: another request costs more than the other port saves.
  static constexpr std::uint64_t kLeastCut = 65536;
  static constexpr std::uint64_t kLeastShare = 16384;
  // A port that could not be used for long makes up for at most so many bytes, since the other
  // ports are idle meanwhile.
  static constexpr std::uint64_t kMaxOwed = std::uint64_t{64} << 20;

  // Records that so many bytes have gone by the port.
  void went(std::size_t port, std::uint64_t bytes) { went_[port] += bytes; }
  // Returns how many of these bytes go by each port of `usable`, a bit set of ports that is not
  // empty. The shares follow one another in the order of the ports.
  Shares cut(std::uint64_t bytes, unsigned usable);

 private:
  // Returns how many bytes each usable port has carried after these bytes. Ports that have carried
  // more than that carry none of them.
  std::uint64_t after(std::uint64_t bytes, unsigned usable) const;

  Shares went_{};
  std::size_t last_ = kMaxPorts - 1;  // the port that took the last remainder
};

}  // namespace scela::channel
