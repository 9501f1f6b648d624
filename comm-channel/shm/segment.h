// The memory that a node's ranks share.
//
// The node's first rank makes it, without a name; the others are told its process, the descriptor's
// number there, and a number that nobody else knows, and open it by /proc. So nothing is left
// behind, whoever is killed when. The first rank keeps it open, for as long as it lives.
//
// What each rank has there it allocates itself, on its own memory node, before anybody writes to
// it: a machine without memory is an error here and not a signal later. Boxes cost memory once they
// are given.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "comm-channel/shm/line.h"
#include "common/core/result.h"
#include "common/os/sealed_memory.h"

namespace scela::channel::shm {

template <class Value>
using SharedAtomic = std::atomic<Value>;

// How the others find it.
struct Place {
  pid_t pid = 0;
  int fd = -1;
  std::uint64_t nonce = 0;

  friend bool operator==(const Place&, const Place&) = default;
};

inline constexpr std::uint32_t kCpuWords = 16;  // processors beyond 1023 are not told of

inline constexpr std::uint32_t kJoined = 1, kLeft = 2;

// What a rank tells of itself when it joins.
struct Member {
  SharedAtomic<std::uint32_t> joined;  // kJoined; kLeft: what it told of may be gone
  std::int32_t pid;
  std::uint64_t started;  // of the process, as /proc has it: another one of that number differs
  std::uint64_t probe;    // an address of the process, where the nonce and the rank stand (copy.h)
  std::uint32_t barrier;  // it is registered for and can make others' stores visible (bell.h)
  std::array<std::uint64_t, kCpuWords> cpus;
  // Of a rank that sleeps by a pipe: which, in its process; -1: it sleeps on its word.
  std::int32_t pipe;
  std::uint64_t pipe_inode;
};

class Segment {
 public:
  static Result<Segment> make(const Shape& shape);
  // `shape` is what the maker must have had.
  static Result<Segment> open(const Place& place, const Shape& shape);

  const Place& place() const { return place_; }
  const Shape& shape() const { return shape_; }
  std::uint64_t bytes() const { return memory_.bytes(); }

  Area<SharedAtomic> area(std::uint32_t rank) const;
  std::vector<Area<SharedAtomic>> areas() const;
  Member& member(std::uint32_t rank) const;
  // 1 once the rank has ended; and how many have.
  SharedAtomic<std::uint8_t>& ended(std::uint32_t rank) const;
  SharedAtomic<std::uint32_t>& deaths() const;
  SharedAtomic<std::uint32_t>& said() const;  // what one rank has said for all

  // The rank's own memory, but for its boxes.
  Result<void> allocate(std::uint32_t rank) const;
  bool allocate_box(std::uint32_t rank, std::uint32_t number) const;
  // Bytes of a rank, with and without all of its boxes.
  static std::uint64_t bytes_of_rank(const Shape& shape, bool boxes);

 private:
  Segment(SealedMemory memory, const Place& place, const Shape& shape);
  std::byte* base() const { return static_cast<std::byte*>(memory_.base()); }
  bool reserve(std::uint64_t at, std::uint64_t bytes) const;

  SealedMemory memory_;
  Place place_;
  Shape shape_;
};

}  // namespace scela::channel::shm
