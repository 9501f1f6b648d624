// Which contexts communicators have: those that come of one another by split, dup and shrink, and
// those that are made over the same channel one after the other. Pure: the ranks' agreement on what
// is said here is their caller's (communicator.cpp, families.h).
#pragma once

#include <cstdint>
#include <optional>
#include <set>

#include "collectives/executors/factory.h"

namespace scela::collectives {

// The contexts of one family, as one rank sees them.
//
// Each communicator has a number, which all its ranks know. Numbers only grow: the next one is at
// least as high as the highest of what its ranks propose. Number k stands in the context
// first + k % count, in which k / count communicators of the family were before it. So a context
// comes again only after all others of the family, and whatever is left of an earlier communicator
// belongs to an earlier life (ContextId).
//
// Not for two threads at once, like the communicators themselves.
class ContextNumbers {
 public:
  using Number = std::uint64_t;
  struct Span {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    friend bool operator==(const Span&, const Span&) = default;
  };

  // The contexts from `first` on, `count` of them (at least 1); the first communicator in each has
  // the life `first_life`.
  ContextNumbers(std::uint32_t first, std::uint32_t count, std::uint32_t first_life = 0)
      : first_(first), count_(count), first_life_(first_life) {}

  ContextId id(Number number) const;
  // One more than the highest number that this rank knows of.
  Number next() const { return next_; }
  // Whether no communicator was in this number's context before: it need not be asked whether one
  // still is.
  bool is_first(Number number) const { return number < count_; }
  // The lowest number, from this one on, whose context no communicator of this rank is in; nothing:
  // there is one in each context.
  std::optional<Number> free_from(Number number) const;
  // A communicator has this number: one of this rank, or one of other ranks only.
  void take(Number number);
  void pass(Number number) { next_ = number < next_ ? next_ : number + 1; }
  // The communicator of this rank is gone.
  void give_back(Number number) { taken_.erase(offset(number)); }
  // The context of a number that was given back, and those beside it: in all of them this rank
  // receives nothing, until a number is agreed on that stands there again.
  Span unused_around(Number number) const;
  // A life that no communicator of this family has had.
  std::uint32_t life_after() const;

 private:
  std::uint32_t offset(Number number) const { return static_cast<std::uint32_t>(number % count_); }

  std::uint32_t first_;
  std::uint32_t count_;
  std::uint32_t first_life_;
  Number next_ = 0;
  std::set<std::uint32_t> taken_;  // offsets
};

}  // namespace scela::collectives
