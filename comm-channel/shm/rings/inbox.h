// The inbox: a ring of cells that any rank puts messages into and one rank reads.
//
// A sender reserves a cell by writing its number into the cell's word, so the reader knows which
// rank it waits for. If the owner was killed before it published the cell, the reader passes the
// cell over. The tail says which cell is next, but only as a hint: a sender that finds that cell
// taken advances it. So no rank waits for a rank that was killed, at whatever point that happened.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "comm-channel/shm/rings/line.h"

namespace scela::channel::shm {

// A cell that is free has no owner in this turn. The next turn begins when the reader has taken it.
enum class CellState : std::uint64_t { free, reserved, published };

// A cell's word: the turn, the state in two bits, and the rank that has reserved the cell.
// The functions make such a word and return its parts.
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

// The location of an inbox. Cells are numbered from 0 without end, and the ring has 2^shift of
// them: a cell's turn says how often the ring was gone round before.
template <template <class> class A>
struct Inbox {
  A<std::uint64_t>* tail = nullptr;
  Line<A>* cells = nullptr;
  std::uint32_t shift = 0;  // 2^shift cells

  Line<A>& cell(std::uint64_t at) const { return cells[at & ((std::uint64_t{1} << shift) - 1)]; }
  std::uint64_t turn(std::uint64_t at) const { return at >> shift; }
};

// Returns the number of a cell that is the caller's until it is published, or nothing if all are
// taken.
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
    // The cell is taken, by this rank or another one, so the hint advances. If the exchange fails,
    // another rank has advanced it.
    if (mine || !free) {
      std::uint64_t hint = at;
      inbox.tail->compare_exchange_strong(hint, at + 1, std::memory_order_acq_rel);
    }
    if (mine) return at;
    if (!free) at = inbox.tail->load(std::memory_order_acquire);
  }
}

// Makes a reserved cell, which has been filled, visible to the reader.
template <template <class> class A>
void publish(const Inbox<A>& inbox, std::uint64_t at, std::uint32_t owner) {
  inbox.cell(at).word.store(cell_word(inbox.turn(at), CellState::published, owner),
                            std::memory_order_release);
}

// Makes a cell free for the next turn. The reader has taken its message, or passes it over.
template <template <class> class A>
void free_cell(const Inbox<A>& inbox, std::uint64_t at) {
  inbox.cell(at).word.store(cell_word(inbox.turn(at) + 1, CellState::free, 0),
                            std::memory_order_release);
}

// Returns whether a sender would find a free cell.
template <template <class> class A>
bool has_room(const Inbox<A>& inbox) {
  const std::uint64_t at = inbox.tail->load(std::memory_order_acquire);
  return turn_of(inbox.cell(at).word.load(std::memory_order_acquire)) >= inbox.turn(at);
}

}  // namespace scela::channel::shm
