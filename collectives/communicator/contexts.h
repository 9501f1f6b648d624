// Chooses the contexts of communicators that are made from one another by split, dup and shrink. A
// context is the channel's: a number that separates the messages of one communicator from those of
// others. The contexts of all communicators that are made from one are a family. This part does not
// communicate: its caller makes the ranks agree (communicator.cpp, families.h).
#pragma once

#include <cstdint>
#include <optional>
#include <set>

#include "collectives/executors/factory.h"

namespace scela::collectives {

// The contexts of one family, as one rank sees them.
//
// Each communicator has a number, which all its ranks know. Numbers only grow: the next one is at
// least as high as the highest that its ranks propose. Number k has the context first + k % count,
// which k / count communicators of the family had before. So a context is used again only after all
// others of the family. Messages of an earlier communicator belong to an earlier life (ContextId).
//
// Two threads must not use it at once, as with the communicators themselves.
class ContextNumbers {
 public:
  using Number = std::uint64_t;
  // `count` consecutive contexts from `first` on.
  struct Span {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    friend bool operator==(const Span&, const Span&) = default;
  };

  // The family has `count` contexts (at least 1) from `first` on. The first communicator in each
  // has the life `first_life`.
  ContextNumbers(std::uint32_t first, std::uint32_t count, std::uint32_t first_life = 0)
      : first_(first), count_(count), first_life_(first_life) {}

  // Returns the context of the communicator with this number, with its life (ContextId).
  ContextId id(Number number) const;
  // Returns how many communicators of the family can live at a time.
  std::uint32_t count() const { return count_; }
  // Returns one more than the highest number that this rank knows of, which it proposes for a new
  // communicator.
  Number next() const { return next_; }
  // Returns true if no communicator had this number's context before. Then no rank need be asked
  // whether one still has it.
  bool is_first(Number number) const { return number < count_; }
  // Returns the lowest number, from this one on, with a context in which this rank has no
  // communicator. Returns std::nullopt if it has one in each context.
  std::optional<Number> free_from(Number number) const;
  // Records that a communicator of this rank has the number, and raises next() above it.
  void take(Number number);
  // Records that a communicator of other ranks has the number: only raises next() above it.
  void pass(Number number) { next_ = number < next_ ? next_ : number + 1; }
  // Records that this rank's communicator with this number is gone.
  void give_back(Number number) { taken_.erase(offset(number)); }
  // Returns the context of a number that was given back, with the contexts beside it in which this
  // rank has no communicator either. This rank receives nothing in them until the ranks agree on a
  // number there again.
  Span unused_around(Number number) const;
  // Returns a life that no communicator of this family has had, for the next family with these
  // contexts.
  std::uint32_t life_after() const;

 private:
  // Returns the index of a number's context in the family, from 0.
  std::uint32_t offset(Number number) const { return static_cast<std::uint32_t>(number % count_); }

  std::uint32_t first_;
  std::uint32_t count_;
  std::uint32_t first_life_;
  Number next_ = 0;
  std::set<std::uint32_t> taken_;  // offsets of this rank's communicators
};

}  // namespace scela::collectives
