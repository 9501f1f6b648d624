// The two ends of a rank's memory (ring_layout.h): bytes in and out, and who must be woken.
//
// No system call: whoever owns an end rings, wakes and sleeps as it is told. The agent's end keeps
// its own positions, and both read the other's once for each use. `Memory` is SharedMemory below,
// or a test's.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "pmi/protocol/ring_layout.h"

namespace scela::pmi::ring {

// Mapped memory of kTotalBytes, aligned to 8.
class SharedMemory {
 public:
  explicit SharedMemory(void* base) : base_(static_cast<char*>(base)) {}
  static constexpr std::size_t capacity() { return kCapacity; }

  std::uint64_t load(Word word) const { return __atomic_load_n(at(word), __ATOMIC_SEQ_CST); }
  void store(Word word, std::uint64_t value) {
    __atomic_store_n(at(word), value, __ATOMIC_SEQ_CST);
  }
  std::uint64_t exchange(Word word, std::uint64_t value) {
    return __atomic_exchange_n(at(word), value, __ATOMIC_SEQ_CST);
  }
  void copy_in(std::size_t offset, const char* bytes, std::size_t size) {
    std::memcpy(base_ + offset, bytes, size);
  }
  void copy_out(std::size_t offset, char* bytes, std::size_t size) const {
    std::memcpy(bytes, base_ + offset, size);
  }
  const std::uint32_t* futex() const { return reinterpret_cast<const std::uint32_t*>(at(news)); }

 private:
  std::uint64_t* at(Word word) const { return reinterpret_cast<std::uint64_t*>(base_) + word; }
  char* base_;
};

// One stream, seen from the end that reads or from the one that writes it. Nothing: the other end's
// position cannot be.
template <class Memory>
class Stream {
 public:
  Stream(std::size_t begin, Word own, Word others) : begin_(begin), own_(own), others_(others) {}

  // Goes on where another process with this end, a parent or a child of this one, has left it. Only
  // for an end that may believe what stands there.
  void recall(const Memory& memory) { position_ = memory.load(own_); }

  // Bytes that may be read: of the reading end.
  std::optional<std::size_t> filled(const Memory& memory) const {
    return checked(memory.load(others_) - position_);
  }
  // Bytes that may be written: of the writing end.
  std::optional<std::size_t> room(const Memory& memory) const {
    const auto used = checked(position_ - memory.load(others_));
    if (!used) return std::nullopt;
    return Memory::capacity() - *used;
  }
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
  static std::optional<std::size_t> checked(std::uint64_t distance) {
    if (distance > Memory::capacity()) return std::nullopt;
    return static_cast<std::size_t>(distance);
  }
  template <class Each>
  void in_pieces(std::size_t size, Each each) const {
    const auto at = static_cast<std::size_t>(position_ % Memory::capacity());
    const std::size_t first = std::min(size, Memory::capacity() - at);
    if (first > 0) each(begin_ + at, 0, first);
    if (size > first) each(begin_, first, size - first);
  }
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

// The agent's end. What the rank may have written it never believes.
template <class Memory>
class ServerEndOf {
 public:
  // Of zeroed memory that nobody else has yet. `process`: of the agent.
  ServerEndOf(Memory memory, std::uint64_t process)
      : memory_(memory),
        requests_(kRequestsAt, request_head, request_tail),
        answers_(kRequestsAt + Memory::capacity(), answer_tail, answer_head) {
    memory_.store(total_bytes, kRequestsAt + 2 * Memory::capacity());
    memory_.store(agent, process);
    memory_.store(armed, 1);
    memory_.store(magic, kMagic);
  }

  bool is_taken() const { return memory_.load(taken) != 0; }
  // There is something to read, or nonsense.
  bool has_requests() const { return requests_.filled(memory_) != 0U; }
  // Waits for room, and there is some, or nonsense.
  bool has_room() const { return wants_room_ && answers_.room(memory_) != 0U; }
  // Whether a look at it, whoever has rung, must become a turn of reading and writing. It must also
  // where there is nothing: a rank may ring for what was read before it did, and rings no more
  // until it is armed again.
  bool calls(bool may_read) const {
    return has_room() || (may_read && (memory_.load(armed) == 0 || has_requests()));
  }

  // Bytes read; 0: there are none. Nothing: the rank's position cannot be.
  std::optional<std::size_t> read(char* out, std::size_t most) {
    const auto got = requests_.read(memory_, out, most);
    made_room_ = made_room_ || got.value_or(0) > 0;
    return got;
  }
  // Bytes written; fewer than all: the rank will ring when it has made room. Nothing: as above.
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
      memory_.store(want_room, 1);  // and looks again
    }
    if (wants_room_) memory_.store(want_room, 0);
    wants_room_ = false;
    return done;
  }
  // Ends a turn of reading and writing. True: the rank is to be woken.
  bool tell() {
    if (!answered_ && !made_room_) return false;
    const bool answered = std::exchange(answered_, false);
    made_room_ = false;
    memory_.store(news, ++told_);
    // Who waits for an answer is not woken because its request was read.
    const std::uint64_t waits = memory_.load(sleeping);
    if (waits == 0 || (waits == kForAnswers && !answered)) return false;
    return memory_.exchange(sleeping, 0) != 0;
  }
  // Asks to be rung. True: there is something to read already.
  bool arm() {
    memory_.store(armed, 1);
    return has_requests();
  }
  // Nobody will read any more. The rank is to be woken.
  void close() {
    memory_.store(closed, 1);
    memory_.store(news, ++told_);
  }

 private:
  Memory memory_;
  Stream<Memory> requests_;
  Stream<Memory> answers_;
  std::uint64_t told_ = 0;
  bool answered_ = false;    // and tell() has not told
  bool made_room_ = false;   // likewise
  bool wants_room_ = false;  // write() has left something over
};

// The rank's end.
template <class Memory>
class ClientEndOf {
 public:
  explicit ClientEndOf(Memory memory)
      : memory_(memory),
        requests_(kRequestsAt, request_tail, request_head),
        answers_(kRequestsAt + Memory::capacity(), answer_head, answer_tail) {}

  // Memory of this layout.
  bool usable() const {
    return memory_.load(magic) == kMagic &&
           memory_.load(total_bytes) == kRequestsAt + 2 * Memory::capacity();
  }
  std::uint64_t served_by() const { return memory_.load(agent); }
  bool is_closed() const { return memory_.load(closed) != 0; }
  // From now on: the bell is to be rung after it.
  void take() { memory_.store(taken, 1); }

  // As of the other end; `ring`: the bell is to be rung.
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

  // To wait: notes the news, looks at the streams, and if they let it do nothing, says that it
  // sleeps. False: there is news already. Then a futex on the noted value, and awake().
  std::uint64_t noted() const { return memory_.load(news); }
  bool sleeps(std::uint64_t seen, std::uint64_t for_what) {
    memory_.store(sleeping, for_what);
    return memory_.load(news) == seen;
  }
  void awake() { memory_.store(sleeping, 0); }

 private:
  // A flag that is rarely set is not written in vain.
  bool cleared(Word flag) { return memory_.load(flag) != 0 && memory_.exchange(flag, 0) != 0; }

  Memory memory_;
  Stream<Memory> requests_;
  Stream<Memory> answers_;
};

using ServerEnd = ServerEndOf<SharedMemory>;
using ClientEnd = ClientEndOf<SharedMemory>;

}  // namespace scela::pmi::ring
