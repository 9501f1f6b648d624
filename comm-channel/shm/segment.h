// The memory that a node's ranks share.
//
// The node's first rank makes it, without a name. The others are told that rank's process, the
// number of its descriptor there and a secret number, and open the memory by /proc. So nothing is
// left behind, whichever rank is killed, and whenever. The first rank keeps the descriptor open
// while it lives.
//
// Each rank allocates its own part, on its own memory node, before other ranks write to it. So a
// machine without memory gives an error here, and not a signal later. Boxes cost memory once they
// are given.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "comm-channel/shm/rings/line.h"
#include "common/core/result.h"
#include "common/os/sealed_memory.h"

namespace scela::channel::shm {

template <class Value>
using SharedAtomic = std::atomic<Value>;

// Tells the other ranks how to find the memory.
struct Place {
  pid_t pid = 0;
  int fd = -1;              // number of the descriptor there
  std::uint64_t nonce = 0;  // secret; the memory has it too

  friend bool operator==(const Place&, const Place&) = default;
};

inline constexpr std::uint32_t kCpuWords = 16;  // processors up to 1023

// Values of Member::joined; 0: the rank has not joined yet.
inline constexpr std::uint32_t kJoined = 1, kLeft = 2;

// The data that a rank publishes when it joins.
struct Member {
  SharedAtomic<std::uint32_t> joined;  // kJoined; kLeft: the rest may be gone
  std::int32_t pid;
  std::uint64_t started;                      // the process's start, as in /proc
  std::uint64_t probe;                        // address of the nonce and rank
  std::uint32_t barrier;                      // membarrier works (rings/doorbell.h)
  std::array<std::uint64_t, kCpuWords> cpus;  // a bit for each; it may run there
  // The descriptor of a rank that sleeps by a pipe, in its process; -1: it sleeps on its word.
  std::int32_t pipe;
  std::uint64_t pipe_inode;
};

class Segment {
 public:
  // Makes the memory of a node; its first rank calls this.
  static Result<Segment> make(const Shape& shape);
  // Opens the memory of a node that its first rank, which must still be there, has made. `shape`
  // must equal that of the maker.
  static Result<Segment> open(const Place& place, const Shape& shape);

  const Place& place() const { return place_; }
  const Shape& shape() const { return shape_; }
  std::uint64_t bytes() const { return memory_.bytes(); }

  // Return where the structures of a rank are, or of each rank, by rank. Ranks here are those of
  // the node, from 0.
  Area<SharedAtomic> area(std::uint32_t rank) const;
  std::vector<Area<SharedAtomic>> areas() const;
  // Returns the data that the rank has published.
  Member& member(std::uint32_t rank) const;
  // ended() is 1 once the rank is known to have ended; deaths() counts these ranks.
  SharedAtomic<std::uint8_t>& ended(std::uint32_t rank) const;
  SharedAtomic<std::uint32_t>& deaths() const;
  // Returns a bit set of the warnings that one rank of the node has shown to the user for all. Bit
  // 0: the kernel refuses copies from process to process.
  SharedAtomic<std::uint32_t>& said() const;

  // Allocates the rank's own memory, except for its boxes.
  Result<void> allocate(std::uint32_t rank) const;
  // Allocates one of the rank's boxes. Returns false if there is no memory for it.
  bool allocate_box(std::uint32_t rank, std::uint32_t number) const;
  // Returns the bytes of a rank, with or without all of its boxes.
  static std::uint64_t bytes_of_rank(const Shape& shape, bool boxes);

 private:
  Segment(SealedMemory memory, const Place& place, const Shape& shape);
  std::byte* base() const { return static_cast<std::byte*>(memory_.base()); }
  // Allocates the pages from offset `at` on. Returns false if there is no memory.
  bool reserve(std::uint64_t at, std::uint64_t bytes) const;

  SealedMemory memory_;
  Place place_;
  Shape shape_;
};

}  // namespace scela::channel::shm
