// Which bytes of large messages to one peer go by which of several ports: so that each port carries
// as much as the others, whatever the messages' sizes, and whatever else goes by one of them.
//
// Pure; a value.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace scela::channel {

inline constexpr std::size_t kMostPorts = 4;

class Stripes {
 public:
  using Shares = std::array<std::uint64_t, kMostPorts>;  // by port
  // What is shorter goes by one port: a request more costs more than the other port saves.
  static constexpr std::uint64_t kLeastCut = 65536;
  static constexpr std::uint64_t kLeastShare = 16384;
  // A port that could not be used for long makes up for so much, and no more: meanwhile the others
  // are idle.
  static constexpr std::uint64_t kMostOwed = std::uint64_t{64} << 20;

  // So many bytes have gone by it.
  void went(std::size_t port, std::uint64_t bytes) { went_[port] += bytes; }
  // How many of these bytes shall go by each of `usable`, a set of ports that is not empty; one
  // after the other.
  Shares cut(std::uint64_t bytes, unsigned usable);

 private:
  std::uint64_t after(std::uint64_t bytes, unsigned usable) const;

  Shares went_{};
  std::size_t last_ = kMostPorts - 1;  // that a whole message went by
};

}  // namespace scela::channel
