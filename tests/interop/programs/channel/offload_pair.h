// Common parts of offload_probe: two ranks of different nodes that send each other messages with
// bytes that both know.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "comm-channel/include/scela/channel.h"
#include "tests/interop/programs/channel/channel_check.h"

namespace scela::probe {

using Data = std::vector<std::byte>;
inline constexpr std::size_t kLarge = std::size_t{1} << 20;
// Longer than anything that is waited for, and short enough to say what hung.
inline constexpr Timeout kPatience = std::chrono::seconds(40);

inline std::byte byte_of(std::size_t message, std::size_t at) {
  return static_cast<std::byte>(message * 7 + at * 3 + at / 251);
}
inline Data data_of(std::size_t message, std::size_t size) {
  Data data(size);
  for (std::size_t i = 0; i < size; ++i)
    data[i] = byte_of(message, i);
  return data;
}

struct Pair {
  Channel& channel;
  int partner;
  bool sends;  // this rank of the two sends
};

inline std::span<std::byte> bytes_of(auto& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}
inline void tell(const Pair& pair, int tag, auto value) {
  must(pair.channel.send(pair.partner, tag, bytes_of(value), 9));
}
template <class Value>
Value hear(const Pair& pair, int tag) {
  Value value{};
  must(pair.channel.recv(pair.partner, tag, bytes_of(value), 9, kPatience));
  return value;
}

// Sends large messages until they go by an offloaded channel. The next message does, too, if it is
// as long and the receiver asks for nothing else before.
inline void open_channel(const Pair& pair, int tag, std::size_t size = kLarge,
                         Context context = kWorld) {
  Data data = data_of(0, size);
  const std::uint64_t before = pair.channel.counters().offloaded;
  for (int i = 0; i < 1000; ++i) {
    if (pair.sends)
      must(pair.channel.isend(pair.partner, tag, data, context).wait(kPatience));
    else
      must(pair.channel.recv(pair.partner, tag, data, context, kPatience));
    bool open = pair.channel.counters().offloaded > before;
    if (pair.sends) tell(pair, 1, open);
    if (!pair.sends) open = hear<bool>(pair, 1);
    if (open) return;
  }
  failed("nothing goes by an offloaded channel");
}

// The parts of offload_stops.cpp: programs that are stopped.
void receiver(const Pair& pair);
void sender(const Pair& pair);
void pauses(const Pair& pair);

}  // namespace scela::probe
