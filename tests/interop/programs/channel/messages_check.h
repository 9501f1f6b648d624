// The parts of messages_probe share this: the modes, the checks of each rank, and the bytes of
// messages.
#pragma once

#include <scela/channel.h>
#include <scela/communicator.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using scela::Channel;
using scela::Code;
using scela::Collective;
using scela::Communicator;
using scela::kAnySource;
using scela::kAnyTag;
using scela::Request;
using scela::Status;

namespace messages {

using Data = std::vector<std::byte>;
inline constexpr auto kLimit = 60s;

inline int own_rank = -1;

[[noreturn]] inline void failed(const std::string& why) {
  std::fprintf(stderr, "messages_probe: rank %d: %s\n", own_rank, why.c_str());
  std::_Exit(3);
}
inline void must(bool holds, const std::string& what) {
  if (!holds) failed(what);
}
inline void must(const Status& status, const std::string& what) {
  if (!status.ok()) failed(what + ": " + status.message());
}
inline void must_fail(const Status& status, Code code, int rank, const std::string& what) {
  if (status.code() != code || status.rank() != rank)
    failed(what + ": " + scela::name_of(status.code()) + " of rank " +
           std::to_string(status.rank()) + ": " + status.message());
}

inline Data data_of(std::size_t size, int seed) {
  Data data(size);
  for (std::size_t i = 0; i < size; ++i)
    data[i] = static_cast<std::byte>(static_cast<std::size_t>(seed) * 31 + i * 7 + i / 251);
  return data;
}
inline std::span<const std::byte> bytes_of(const int& number) {
  return std::as_bytes(std::span(&number, 1));
}
inline std::span<std::byte> room_of(int& number) {
  return std::as_writable_bytes(std::span(&number, 1));
}

// The lengths around the limits of eager messages, fragments and offloaded channels.
inline constexpr std::size_t kLengths[] = {0,    1,     4096,  4097,   8192,
                                           8193, 16384, 16385, 65'536, 1'000'003};

using ConstPieces = std::vector<std::span<const std::byte>>;
using Pieces = std::vector<std::span<std::byte>>;

// Cuts bytes into pieces of a pattern of lengths, and empty ones between them.
template <class Byte>
std::vector<std::span<Byte>> cut(std::span<Byte> bytes, std::size_t step) {
  std::vector<std::span<Byte>> pieces;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t size = std::min(step + at % 3, bytes.size() - at);
    pieces.push_back(bytes.subspan(at, size));
    if (pieces.size() % 4 == 0) pieces.push_back({});
    at += size;
  }
  return pieces;
}

// Pieces in memory of their own, so that they do not follow each other.
struct Apart {
  std::vector<Data> memory;
  ConstPieces sent;
  Pieces got;
  Apart(const Data& whole, std::size_t step) {
    const std::vector<std::span<const std::byte>> pieces = cut(std::span(whole), step);
    memory.reserve(pieces.size());
    for (const auto piece : pieces) {
      Data& one = memory.emplace_back(piece.begin(), piece.end());
      sent.push_back(one);
      got.push_back(one);
    }
  }
  Data joined() const {
    Data all;
    for (const Data& one : memory)
      all.insert(all.end(), one.begin(), one.end());
    return all;
  }
};

// The modes of the program. Each ends the process if a check does not hold.
void communicators(Channel& channel);  // messages within communicators
void families(Channel& channel);       // more worlds than there are families of contexts
void death(Channel& channel);          // a rank ends
void pieces(Channel& channel);         // messages of several pieces
void detached(Channel& channel);       // messages that outlive their requests
void threads(Channel& channel);        // several threads of a rank

}  // namespace messages
