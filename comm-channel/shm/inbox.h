// The ring of cells that any rank puts messages into and one reads.
//
// A cell is reserved by writing into its word whose it is, so that the reader knows whom to wait
// for: a cell whose owner was killed before it was published is passed over. Where the next cell is
// stands in the tail, which is only a hint: who finds the cell there taken helps it on. So nobody
// waits for anybody who was killed, whenever that was.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "comm-channel/shm/line.h"

namespace scela::channel::shm {

// free: in this turn nobody has it yet. The next turn begins when the reader has taken it.
enum class CellState : std::uint64_t { free, reserved, published };

inline constexpr std::uint32_t kOwnerBits = 22;
inline constexpr std::uint64_t cell_word(std::uint64_t turn, CellState state, std::uint32_t owner) {
  return turn << (kOwnerBits + 2) | static_cast<std::uint64_t>(state) << kOwnerBits | owner;
}
inline constexpr std::uint64_t turn_of(std::uint64_t word) {
  return word >> (kOwnerBits + 2);
}
inline constexpr CellState state_of(std::uint64_t word) {
  return static_cast<CellState>(word >> kOwnerBits & 3);
}
inline constexpr std::uint32_t owner_of(std::uint64_t word) {
  return static_cast<std::uint32_t>(word & ((1u << kOwnerBits) - 1));
}

template <template <class> class A>
struct Inbox {
  A<std::uint64_t>* tail = nullptr;
  Line<A>* cells = nullptr;
  std::uint32_t shift = 0;  // 2^shift cells

  Line<A>& cell(std::uint64_t at) const { return cells[at & ((std::uint64_t{1} << shift) - 1)]; }
  std::uint64_t turn(std::uint64_t at) const { return at >> shift; }
};

// The number of a cell that is the caller's until it is published. None: all are taken.
template <template <class> class A>
std::optional<std::uint64_t> reserve(const Inbox<A>& inbox, std::uint32_t owner) {
  std::uint64_t at = inbox.tail->load(std::memory_order_acquire);
  for (;;) {
    auto& word = inbox.cell(at).word;
    const std::uint64_t turn = inbox.turn(at);
    std::uint64_t seen = word.load(std::memory_order_acquire);
    if (turn_of(seen) < turn) return {};  // still to be read
    const bool free = turn_of(seen) == turn && state_of(seen) == CellState::free;
    const bool mine =
        free && word.compare_exchange_strong(seen, cell_word(turn, CellState::reserved, owner),
                                             std::memory_order_acq_rel);
    // Taken, by whomever: the hint goes on. Where that fails, somebody else has helped.
    if (mine || !free) {
      std::uint64_t hint = at;
      inbox.tail->compare_exchange_strong(hint, at + 1, std::memory_order_acq_rel);
    }
    if (mine) return at;
    if (!free) at = inbox.tail->load(std::memory_order_acquire);
  }
}

template <template <class> class A>
void publish(const Inbox<A>& inbox, std::uint64_t at, std::uint32_t owner) {
  inbox.cell(at).word.store(cell_word(inbox.turn(at), CellState::published, owner),
                            std::memory_order_release);
}

// The reader has taken what stood there, or passes it over.
template <template <class> class A>
void free_cell(const Inbox<A>& inbox, std::uint64_t at) {
  inbox.cell(at).word.store(cell_word(inbox.turn(at) + 1, CellState::free, 0),
                            std::memory_order_release);
}

// Whether somebody who sends would find a cell.
template <template <class> class A>
bool has_room(const Inbox<A>& inbox) {
  const std::uint64_t at = inbox.tail->load(std::memory_order_acquire);
  return turn_of(inbox.cell(at).word.load(std::memory_order_acquire)) >= inbox.turn(at);
}

}  // namespace scela::channel::shm
