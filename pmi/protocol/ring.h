// The two ends of a rank's ring (ring_layout.h). Each end reads and writes bytes, and says if the
// other side must be woken. The agent uses ServerEnd, the client library ClientEnd.
//
// An end makes no system call: its owner rings, wakes and sleeps as the end says. The agent's end
// keeps its own positions. Each end reads the other's position once per operation. `Memory` is
// SharedMemory below, or a test's class. An end is not locked: it is for one thread, but a client
// may read and write in two threads.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "pmi/protocol/ring_layout.h"

namespace scela::pmi::ring {

// The mapped memory of a ring, of kTotalBytes, aligned to 8.
class SharedMemory {
 public:
  // `base` is borrowed.
  explicit SharedMemory(void* base) : base_(static_cast<char*>(base)) {}
  // Returns the bytes of each stream.
  static constexpr std::size_t capacity() { return kCapacity; }

  // Read, write or replace a word of the header, sequentially consistent.
  std::uint64_t load(Word word) const { return __atomic_load_n(at(word), __ATOMIC_SEQ_CST); }
  void store(Word word, std::uint64_t value) {
    __atomic_store_n(at(word), value, __ATOMIC_SEQ_CST);
  }
  std::uint64_t exchange(Word word, std::uint64_t value) {
    return __atomic_exchange_n(at(word), value, __ATOMIC_SEQ_CST);
  }
  // Copy `size` bytes to the memory or from it. `offset` counts from the begin of the memory.
  void copy_in(std::size_t offset, const char* bytes, std::size_t size) {
    std::memcpy(base_ + offset, bytes, size);
  }
  void copy_out(std::size_t offset, char* bytes, std::size_t size) const {
    std::memcpy(bytes, base_ + offset, size);
  }
  // Returns the address on which the rank sleeps: the lower half of `news`.
  const std::uint32_t* futex() const { return reinterpret_cast<const std::uint32_t*>(at(news)); }

 private:
  std::uint64_t* at(Word word) const { return reinterpret_cast<std::uint64_t*>(base_) + word; }
  char* base_;
};

// One stream, as seen from the end that reads it or the end that writes it. Functions return
// std::nullopt if the other end's position is impossible.
template <class Memory>
class Stream {
 public:
  // `begin` is the offset of the stream's bytes. `own` and `others` are the words with the
  // positions of this end and of the other end.
  Stream(std::size_t begin, Word own, Word others) : begin_(begin), own_(own), others_(others) {}

  // Continues at the position that another process with this end, a parent or child of this one,
  // has reached. Only the rank's end may call this, because it trusts the memory.
  void recall(const Memory& memory) { position_ = memory.load(own_); }

  // The reading end calls this. Returns the number of bytes that may be read.
  std::optional<std::size_t> filled(const Memory& memory) const {
    return checked(memory.load(others_) - position_);
  }
  // The writing end calls this. Returns the number of bytes that may be written.
  std::optional<std::size_t> room(const Memory& memory) const {
    const auto used = checked(position_ - memory.load(others_));
    if (!used) return std::nullopt;
    return Memory::capacity() - *used;
  }
  // read() and write() move as many bytes as there are, or as fit, and at most the given number.
  // Both return the number of bytes moved, which may be 0. Neither blocks.
  std::optional<std::size_t> read(Memory& memory, char* out, std::size_t most) {
    const auto there = filled(memory);
    if (!there) return std::nullopt;
    const std::size_t size = std::min(*there, most);
    in_pieces(size, [&](std::size_t offset, std::size_t done, std::size_t piece) {
      memory.copy_out(offset, out + done, piece);
    });
    return advance(memory, size);
  }
  std::optional<std::size_t> write(Memory& memory, std::string_view bytes) {
    const auto free = room(memory);
    if (!free) return std::nullopt;
    const std::size_t size = std::min(*free, bytes.size());
    in_pieces(size, [&](std::size_t offset, std::size_t done, std::size_t piece) {
      memory.copy_in(offset, bytes.data() + done, piece);
    });
    return advance(memory, size);
  }

 private:
  // Returns the distance of the two positions, or std::nullopt if it exceeds the capacity.
  static std::optional<std::size_t> checked(std::uint64_t distance) {
    if (distance > Memory::capacity()) return std::nullopt;
    return static_cast<std::size_t>(distance);
  }
  // Calls each(offset in the memory, bytes done before, size) for one or two pieces, as a stream
  // may wrap around.
  template <class Each>
  void in_pieces(std::size_t size, Each each) const {
    const auto at = static_cast<std::size_t>(position_ % Memory::capacity());
    const std::size_t first = std::min(size, Memory::capacity() - at);
    if (first > 0) each(begin_ + at, 0, first);
    if (size > first) each(begin_, first, size - first);
  }
  // Moves this end's position on and shows it to the other end. Returns `size`.
  std::size_t advance(Memory& memory, std::size_t size) {
    position_ += size;
    if (size > 0) memory.store(own_, position_);
    return size;
  }

  std::size_t begin_;
  Word own_;
  Word others_;
  std::uint64_t position_ = 0;
};

// The agent's end. It trusts no word that the rank may have written.
template <class Memory>
class ServerEndOf {
 public:
  // `memory` is zeroed and no other process has it yet. `process` is the agent's process id.
  ServerEndOf(Memory memory, std::uint64_t process)
      : memory_(memory),
        requests_(kRequestsAt, request_head, request_tail),
        answers_(kRequestsAt + Memory::capacity(), answer_tail, answer_head) {
    memory_.store(total_bytes, kRequestsAt + 2 * Memory::capacity());
    memory_.store(agent, process);
    memory_.store(armed, 1);
    memory_.store(magic, kMagic);
  }

  // Returns true if the rank uses the ring instead of its socket.
  bool is_taken() const { return memory_.load(taken) != 0; }
  // Returns true if there are bytes to read, or if the rank's position is impossible.
  bool has_requests() const { return requests_.filled(memory_) != 0U; }
  // Returns true if this end waits for room, and there is some or the rank's position is
  // impossible.
  bool has_room() const { return wants_room_ && answers_.room(memory_) != 0U; }
  // Returns true if the agent must read and write now: there is room that it waits for or, with
  // `may_read`, the rank has rung or written. That may be so although there is nothing to read. A
  // rank may ring for bytes that were read before, and then does not ring again until arm().
  bool calls(bool may_read) const {
    return has_room() || (may_read && (memory_.load(armed) == 0 || has_requests()));
  }

  // Copies requests to `out`, at most `most` bytes. Returns the number of bytes, which is 0 if
  // there are none. Returns std::nullopt if the rank's position is impossible.
  std::optional<std::size_t> read(char* out, std::size_t most) {
    const auto got = requests_.read(memory_, out, most);
    made_room_ = made_room_ || got.value_or(0) > 0;
    return got;
  }
  // Writes answers, as many bytes as fit. Returns their number. If not all were written, the rank
  // rings when it has made room. Returns std::nullopt if the rank's position is impossible.
  std::optional<std::size_t> write(std::string_view bytes) {
    std::size_t done = 0;
    for (wants_room_ = false;;) {
      const auto wrote = answers_.write(memory_, bytes.substr(done));
      if (!wrote) return std::nullopt;
      answered_ = answered_ || *wrote > 0;
      done += *wrote;
      if (done == bytes.size()) break;
      if (wants_room_ && *wrote == 0) return done;
      wants_room_ = true;
      memory_.store(want_room, 1);  // then the loop tries again
    }
    if (wants_room_) memory_.store(want_room, 0);
    wants_room_ = false;
    return done;
  }
  // Makes the rank see what read() and write() have done since the last call. Returns true if the
  // rank sleeps and the agent must wake it (FUTEX_WAKE on SharedMemory::futex()).
  bool tell() {
    if (!answered_ && !made_room_) return false;
    const bool answered = std::exchange(answered_, false);
    made_room_ = false;
    memory_.store(news, ++told_);
    // A rank that waits for an answer is not woken merely because its request was read.
    const std::uint64_t waits = memory_.load(sleeping);
    if (waits == 0 || (waits == kForAnswers && !answered)) return false;
    return memory_.exchange(sleeping, 0) != 0;
  }
  // Makes the rank ring the doorbell for its next request. Returns true if there are bytes to read
  // already; the agent then reads them instead of sleeping.
  bool arm() {
    memory_.store(armed, 1);
    return has_requests();
  }
  // Tells the rank that the agent reads no more. The caller must wake the rank.
  void close() {
    memory_.store(closed, 1);
    memory_.store(news, ++told_);
  }

 private:
  Memory memory_;
  Stream<Memory> requests_;
  Stream<Memory> answers_;
  std::uint64_t told_ = 0;
  bool answered_ = false;    // wrote since the last tell()
  bool made_room_ = false;   // read since the last tell()
  bool wants_room_ = false;  // the last write() was not complete
};

// The rank's end. It trusts the agent's words, but checks positions.
template <class Memory>
class ClientEndOf {
 public:
  explicit ClientEndOf(Memory memory)
      : memory_(memory),
        requests_(kRequestsAt, request_tail, request_head),
        answers_(kRequestsAt + Memory::capacity(), answer_head, answer_tail) {}

  // Returns true if the memory has this layout.
  bool usable() const {
    return memory_.load(magic) == kMagic &&
           memory_.load(total_bytes) == kRequestsAt + 2 * Memory::capacity();
  }
  // Returns the agent's process id.
  std::uint64_t served_by() const { return memory_.load(agent); }
  // Returns true if the agent reads no more requests.
  bool is_closed() const { return memory_.load(closed) != 0; }
  // Says that the rank uses the ring from now on. The caller must ring the doorbell afterwards.
  void take() { memory_.store(taken, 1); }

  // Write requests, as many bytes as fit, and read answers, at most `most` bytes. Both return the
  // number of bytes, which may be 0, or std::nullopt if the agent's position is impossible. They
  // set `ring` to true if the caller must ring the doorbell, else to false.
  std::optional<std::size_t> write(std::string_view bytes, bool& ring) {
    requests_.recall(memory_);
    const auto wrote = requests_.write(memory_, bytes);
    ring = wrote.value_or(0) > 0 && cleared(armed);
    return wrote;
  }
  std::optional<std::size_t> read(char* out, std::size_t most, bool& ring) {
    answers_.recall(memory_);
    const auto got = answers_.read(memory_, out, most);
    ring = got.value_or(0) > 0 && cleared(want_room);
    return got;
  }

  // To wait, the caller reads noted(), the agent's counter `news`, then tries both streams. If it
  // can move no byte, it calls sleeps() with that value as `seen`, and kForAnswers or kForRoom.
  // That returns false if the agent has done something meanwhile; if it returns true, the caller
  // waits on the futex for another value than `seen`. In both cases it then calls awake().
  std::uint64_t noted() const { return memory_.load(news); }
  bool sleeps(std::uint64_t seen, std::uint64_t for_what) {
    memory_.store(sleeping, for_what);
    return memory_.load(news) == seen;
  }
  void awake() { memory_.store(sleeping, 0); }

 private:
  // Clears a flag and returns true if it was set. Most often the flag is not set, so that a load
  // saves the write.
  bool cleared(Word flag) { return memory_.load(flag) != 0 && memory_.exchange(flag, 0) != 0; }

  Memory memory_;
  Stream<Memory> requests_;
  Stream<Memory> answers_;
};

using ServerEnd = ServerEndOf<SharedMemory>;
using ClientEnd = ClientEndOf<SharedMemory>;

}  // namespace scela::pmi::ring
