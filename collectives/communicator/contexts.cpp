#include "collectives/communicator/contexts.h"

#include <algorithm>

namespace scela::collectives {

ContextId ContextNumbers::id(Number number) const {
  const ContextId life = first_life_ + number / count_;
  return life << 32 | (first_ + offset(number));
}

std::optional<ContextNumbers::Number> ContextNumbers::free_from(Number number) const {
  const Number end = number + count_;
  while (number != end && taken_.contains(offset(number)))
    ++number;
  return number == end ? std::nullopt : std::optional(number);
}

void ContextNumbers::take(Number number) {
  taken_.insert(offset(number));
  pass(number);
}

// Before contexts are used again, those from `next_` on may have messages already. Other ranks may
// know sooner than this rank that a communicator has the next number.
ContextNumbers::Span ContextNumbers::unused_around(Number number) const {
  const std::uint32_t place = offset(number);
  const auto above = taken_.upper_bound(place);
  std::uint32_t end = above == taken_.end() ? count_ : *above;
  if (next_ < end) end = std::max(place + 1, static_cast<std::uint32_t>(next_));
  const auto below = taken_.lower_bound(place);
  const std::uint32_t begin = below == taken_.begin() ? 0 : *std::prev(below) + 1;
  return {first_ + begin, end - begin};
}

std::uint32_t ContextNumbers::life_after() const {
  const Number lives = next_ == 0 ? 0 : (next_ - 1) / count_ + 1;
  return first_life_ + static_cast<std::uint32_t>(lives);
}

}  // namespace scela::collectives
