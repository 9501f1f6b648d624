// A rank's end of its node's memory. It sends messages to the inboxes and fast boxes of the others,
// and receives from its own. Each pair's messages keep the order in which they were sent.
//
// One thread at a time may call it. The template parameters are a stand-in for std::atomic, and a
// class of system functions:
//
//   bool gone(rank, tries)      whether the rank has ended; asked again and again about a rank that
//                               has reserved a cell and not published it
//   void everybody_sees()       makes all ranks' stores until now visible to this one (Barrier)
//   void wake(rank, word)       wakes a rank that may sleep on the word (futex_wake or other means)
//   bool make_box(number)       gives this rank's own box its memory; false: there is none
//   static void point()         does nothing; tests end processes there
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "comm-channel/shm/rings/doorbell.h"
#include "comm-channel/shm/rings/fast_box.h"
#include "comm-channel/shm/rings/inbox.h"
#include "comm-channel/shm/rings/line.h"

namespace scela::channel::shm {

// When a sender is given a box, and how often the receiver checks whether others send more.
struct FastBoxPolicy {
  std::uint32_t often = 8;     // messages through the inbox
  std::uint32_t epoch = 1024;  // messages through the inbox, from all
};

template <template <class> class A, class System>
class Exchange {
 public:
  // `areas` has the area of each rank, by rank; `self` is this rank. `system` must outlive the
  // object.
  Exchange(const Shape& shape, std::uint32_t self, std::vector<Area<A>> areas, System& system,
           FastBoxPolicy habits = {})
      : shape_(shape),
        self_(self),
        areas_(std::move(areas)),
        system_(system),
        habits_(habits),
        inbox_(inbox_of(self)),
        from_(shape.ranks),
        to_(shape.ranks) {
    for (std::uint32_t i = 0; i < shape.boxes; ++i)
      slots_.push_back(Slot{BoxReader<A>(box_of(self, i))});
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // Notes that both this rank and the peer have a working Barrier: messages to the peer and from it
  // need no fence of this rank.
  void trust_barrier(std::uint32_t peer) { to_[peer].fence = false; }
  // Notes that all ranks have working barriers, so this rank need not fence when it has made room.
  void trust_all_barriers() { fence_room_ = false; }

  // Returns false if the peer has no room now. The payload has at most Shape::payload bytes.
  bool send(std::uint32_t peer, const Header& header, std::span<const std::byte> payload) {
    Receiver& to = to_[peer];
    if (to.has_box) [[likely]] {
      auto& writing = areas_[self_].mailbox->writing;
      to.has_box = BoxWriter<A>::enter(to.box.box(), writing, peer + 1, self_, to.fence);
      if (to.has_box) {
        System::point();
        const bool written = to.box.write(to.number, header, payload);
        System::point();
        BoxWriter<A>::leave(writing);
        return written ? sent(peer, to) : blocked(peer, payload.size());
      }
    }
    return send_by_inbox(peer, to, header, payload);
  }

  // Calls handle(rank, header, payload) for each message that is there, up to a fixed number, and
  // returns how many there were. The payload is in shared memory and is valid until the handler
  // returns. The handler may send.
  template <class Handle>
  std::uint32_t poll(Handle&& handle) {
    if (polling_) return 0;
    polling_ = true;
    std::uint32_t count = 0;
    for (std::uint32_t i = 0; i < used_slots_; ++i)
      if (slots_[i].rank >= 0) count += from_box(slots_[i], kBoxBatch, handle);
    const std::uint64_t head = head_;
    count += from_inbox(handle);
    if (count != 0 || head_ != head) tell_room();
    if (returning_ != 0) finish_returns();
    polling_ = false;
    return count;
  }

  // Returns whether poll() would find something, or a blocked message could be sent.
  bool something() {
    for (std::uint32_t i = 0; i < used_slots_; ++i) {
      const Slot& slot = slots_[i];
      if (slot.rank >= 0 && slot.reader.has(sender(slot).expected)) return true;
    }
    const std::uint64_t word = inbox_.cell(head_).word.load(std::memory_order_acquire);
    if (state_of(word) == CellState::published) return true;
    if (state_of(word) == CellState::reserved && system_.gone(owner_of(word), kNoMoreTries))
      return true;
    return std::any_of(blocked_.begin(), blocked_.end(),
                       [&](const Blocked& one) { return room_at(one.peer, one.bytes); });
  }

  // Called before sleeping on asleep() for as long as it is 1. If it returns false, there is
  // something, and the caller must not sleep.
  bool arm() {
    areas_[self_].mailbox->blocked.store(blocked_.empty() ? 0 : 1, std::memory_order_relaxed);
    const bool sleeps = may_sleep(
        asleep(),
        [&] {
          for (const Blocked& one : blocked_)
            areas_[one.peer].mailbox->wants_room.exchange(1, std::memory_order_seq_cst);
          system_.everybody_sees();
        },
        [&] { return something(); });
    if (!sleeps) blocked_.clear();
    return sleeps;
  }
  // Ends what a true result of arm() has begun.
  void disarm() {
    asleep().store(0, std::memory_order_relaxed);
    blocked_.clear();
  }
  // Returns the word on which this rank sleeps (futex): 1 from arm() until another rank wakes it.
  A<std::uint32_t>& asleep() { return areas_[self_].mailbox->asleep; }

  // Wakes the rank, even if there is nothing for it.
  void wake(std::uint32_t rank) {
    areas_[rank].mailbox->asleep.exchange(0, std::memory_order_seq_cst);
    system_.wake(rank, areas_[rank].mailbox->asleep);
  }

  // Returns how many of this rank's boxes are given to senders.
  std::uint32_t boxes_given() const {
    return static_cast<std::uint32_t>(
        std::count_if(slots_.begin(), slots_.end(),
                      [](const Slot& slot) { return slot.rank >= 0 && !slot.returning; }));
  }

 private:
  static constexpr std::uint32_t kBoxBatch = 16;
  static constexpr std::uint32_t kInboxBatch = 32;
  static constexpr std::uint32_t kNoMoreTries = ~std::uint32_t{0};

  struct Receiver {  // a rank that this one sends to
    BoxWriter<A> box;
    std::uint32_t number = 0;  // of the next message
    bool has_box = false;      // as far as is known
    bool fence = true;         // false: both have barriers that work
  };
  struct Sender {                // a rank that sends to this one
    std::uint32_t expected = 0;  // the number of the next message
    std::uint32_t came = 0;      // through the inbox, of late
    std::int32_t slot = -1;      // its box here; -1: none
  };
  struct Slot {
    BoxReader<A> reader;
    std::int32_t rank = -1;  // its owner; -1: free
    std::uint32_t came = 0;  // messages of late
    bool returning = false;  // taken back, perhaps still written
    bool made = false;       // it has its memory
  };
  struct Blocked {
    std::uint32_t peer;
    std::size_t bytes;
  };

  Inbox<A> inbox_of(std::uint32_t rank) const {
    return {&areas_[rank].mailbox->tail, areas_[rank].cells, log2_of(shape_.cells)};
  }
  std::byte* payload_at(std::uint32_t rank, std::uint64_t cell) const {
    return areas_[rank].payload + (cell & (shape_.cells - 1)) * shape_.payload;
  }
  Box<A> box_of(std::uint32_t rank, std::uint32_t number) const {
    const Area<A>& area = areas_[rank];
    return {area.boxes + number, area.box_lines + std::size_t{number} * shape_.box_lines,
            area.box_bytes + std::size_t{number} * shape_.box_bytes, shape_.box_lines,
            shape_.box_bytes};
  }
  Sender& sender(const Slot& slot) { return from_[static_cast<std::size_t>(slot.rank)]; }

  // ---- sending ----

  // A message was written for the peer: wakes the peer if it sleeps. The result is always true.
  bool sent(std::uint32_t peer, Receiver& to) {
    ++to.number;
    System::point();
    auto& word = areas_[peer].mailbox->asleep;
    if (ring(word, to.fence)) [[unlikely]] {
      System::point();
      system_.wake(peer, word);
    }
    return true;
  }

  // The peer has no room for `bytes` bytes: notes that for something(). The result is always false.
  bool blocked(std::uint32_t peer, std::size_t bytes) {
    const auto known = std::find_if(blocked_.begin(), blocked_.end(),
                                    [&](const Blocked& one) { return one.peer == peer; });
    if (known == blocked_.end())
      blocked_.push_back({peer, bytes});
    else
      known->bytes = std::min(known->bytes, bytes);
    return false;
  }

  // Sends a message through the peer's inbox. Returns false if that is full.
  bool send_by_inbox(std::uint32_t peer, Receiver& to, const Header& header,
                     std::span<const std::byte> payload) {
    const Inbox<A> inbox = inbox_of(peer);
    const std::optional<std::uint64_t> at = reserve(inbox, self_);
    if (!at) return blocked(peer, payload.size());
    System::point();
    Line<A>& cell = inbox.cell(*at);
    cell.number = to.number;
    fill(cell, payload_at(peer, *at), header, payload);
    System::point();
    publish(inbox, *at, self_);
    look_for_box(peer, to);
    return sent(peer, to);
  }

  // Notes the box if the peer has given one to this rank.
  void look_for_box(std::uint32_t peer, Receiver& to) {
    for (std::uint32_t i = 0; i < shape_.boxes; ++i) {
      if (areas_[peer].boxes[i].given.load(std::memory_order_acquire) != self_ + 1) continue;
      to.box = BoxWriter<A>(box_of(peer, i));
      to.has_box = true;
      return;
    }
  }

  // Returns whether a message of this size, which was blocked, might be sent now.
  bool room_at(std::uint32_t peer, std::size_t bytes) {
    Receiver& to = to_[peer];
    return to.has_box ? to.box.look_for_room(bytes) || !to.box.is_of(self_)
                      : has_room(inbox_of(peer));
  }

  // ---- receiving ----

  // Takes at most `most` messages from the box, or a fixed number from the inbox. Returns how many.
  template <class Handle>
  std::uint32_t from_box(Slot& slot, std::uint32_t most, Handle& handle) {
    Sender& from = sender(slot);
    const auto rank = static_cast<std::uint32_t>(slot.rank);
    std::uint32_t count = 0;
    for (; count < most && slot.reader.has(from.expected); ++count) {
      ++from.expected;
      slot.reader.take(shape_.payload,
                       [&](const Header& header, std::span<const std::byte> payload) {
                         handle(rank, header, payload);
                       });
    }
    slot.came += count;
    return count;
  }

  template <class Handle>
  std::uint32_t from_inbox(Handle& handle) {
    std::uint32_t count = 0;
    for (std::uint32_t cells = 0; cells < kInboxBatch; ++cells) {
      Line<A>& cell = inbox_.cell(head_);
      std::uint64_t word = cell.word.load(std::memory_order_acquire);
      if (state_of(word) == CellState::free) return count;
      const std::uint32_t owner = owner_of(word);
      if (state_of(word) == CellState::reserved) {
        if (!system_.gone(owner, ++tries_)) return count;
        // The owner may have published the cell before it ended.
        word = cell.word.load(std::memory_order_acquire);
      }
      tries_ = 0;
      if (state_of(word) == CellState::published && owner < shape_.ranks) {
        if (!in_order(owner, cell.number, count, handle)) return count;
        handle(owner, std::as_const(cell.header),
               payload_of(cell, payload_at(self_, head_), length_of(cell, shape_.payload)));
        ++from_[owner].expected;
        ++count;
      }
      free_cell(inbox_, head_);
      ++head_;
      if (owner < shape_.ranks) consider(owner);
    }
    return count;
  }

  // Takes the messages that the sender `owner` has sent before message `number`, which are in its
  // box. Returns false if some of them are not there yet. Adds to `count` how many were taken.
  template <class Handle>
  bool in_order(std::uint32_t owner, std::uint32_t number, std::uint32_t& count, Handle& handle) {
    Sender& from = from_[owner];
    if (from.expected != number && from.slot >= 0)
      count +=
          from_box(slots_[static_cast<std::size_t>(from.slot)], number - from.expected, handle);
    return from.expected == number;
  }

  // A rank that waits for room may be asleep.
  void tell_room() {
    auto& wanted = areas_[self_].mailbox->wants_room;
    if (fence_room_) {
      if (wanted.fetch_add(0, std::memory_order_seq_cst) == 0) return;
    } else {
      std::atomic_signal_fence(std::memory_order_seq_cst);
      if (wanted.load(std::memory_order_relaxed) == 0) return;
    }
    wanted.exchange(0, std::memory_order_seq_cst);
    for (Slot& slot : slots_)
      if (slot.rank >= 0 && !slot.reader.all_told()) slot.reader.tell();
    for (std::uint32_t rank = 0; rank < areas_.size(); ++rank) {
      const Area<A>& area = areas_[rank];
      if (area.mailbox->blocked.load(std::memory_order_relaxed) != 0 &&
          area.mailbox->asleep.exchange(0, std::memory_order_seq_cst) != 0)
        system_.wake(rank, area.mailbox->asleep);
    }
  }

  // ---- assigning the boxes ----

  // Counts a message of the rank that came through the inbox.
  void consider(std::uint32_t rank) {
    Sender& from = from_[rank];
    ++from.came;
    if (from.slot < 0 && from.came >= habits_.often) give(rank);
    if (++in_epoch_ >= habits_.epoch) end_epoch();
  }

  // Gives a free box to the rank, if there is one.
  void give(std::uint32_t rank) {
    for (std::uint32_t i = 0; i < slots_.size(); ++i) {
      Slot& slot = slots_[i];
      if (slot.rank >= 0) continue;
      if (!slot.made && !(slot.made = system_.make_box(i))) return;
      slot.rank = static_cast<std::int32_t>(rank);
      slot.came = 0;
      from_[rank].slot = static_cast<std::int32_t>(i);
      used_slots_ = std::max(used_slots_, i + 1);
      slot.reader.give(rank);
      return;
    }
  }

  // Takes back the least used box if a sender without a box has sent more than twice as much.
  void end_epoch() {
    in_epoch_ = 0;
    const Sender* most = nullptr;
    for (const Sender& one : from_)
      if (one.slot < 0 && (most == nullptr || one.came > most->came)) most = &one;
    Slot* least = nullptr;
    for (Slot& slot : slots_)
      if (slot.rank >= 0 && !slot.returning && (least == nullptr || slot.came < least->came))
        least = &slot;
    if (returning_ == 0 && most != nullptr && least != nullptr && boxes_given() == slots_.size() &&
        most->came > 2 * least->came) {
      least->reader.take_back();
      system_.everybody_sees();
      least->returning = true;
      ++returning_;
    }
    for (Sender& one : from_)
      one.came /= 2;
    for (Slot& slot : slots_)
      slot.came /= 2;
  }

  // Frees the boxes that were taken back, once their owner does not write to them and all is read.
  void finish_returns() {
    for (Slot& slot : slots_) {
      if (!slot.returning) continue;
      const auto rank = static_cast<std::uint32_t>(slot.rank);
      if (areas_[rank].mailbox->writing.load(std::memory_order_seq_cst) == self_ + 1 &&
          !system_.gone(rank, ++tries_))
        continue;
      // The old owner writes to the box no more.
      if (!slot.reader.empty()) continue;
      sender(slot).slot = -1;
      sender(slot).came = 0;
      slot.rank = -1;
      slot.returning = false;
      --returning_;
    }
  }

  const Shape shape_;
  const std::uint32_t self_;
  const std::vector<Area<A>> areas_;
  System& system_;
  const FastBoxPolicy habits_;
  const Inbox<A> inbox_;
  std::uint64_t head_ = 0;  // of the inbox
  std::vector<Sender> from_;
  std::vector<Receiver> to_;
  std::vector<Slot> slots_;
  std::vector<Blocked> blocked_;
  std::uint32_t used_slots_ = 0;
  std::uint32_t returning_ = 0;
  std::uint32_t in_epoch_ = 0;
  std::uint32_t tries_ = 0;
  bool polling_ = false;
  bool fence_room_ = true;
};

}  // namespace scela::channel::shm
