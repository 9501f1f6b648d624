#include "comm-channel/core/protocol/sequence.h"

#include <catch2/catch.hpp>
#include <deque>
#include <vector>

#include "common/core/random.h"

namespace scela::channel::sequence_test {
namespace {

using Seen = Sequence::Seen;

TEST_CASE("sequence: repeated and missing messages are recognized") {
  Sequence from, to;
  CHECK(to.arrived(from.number()) == Seen::next);
  const std::uint32_t second = from.number(), third = from.number();
  CHECK(to.arrived(third) == Seen::missing);
  CHECK(to.arrived(second) == Seen::next);
  CHECK(to.arrived(second) == Seen::copy);
  CHECK(to.arrived(third) == Seen::next);
  CHECK(to.arrived(second) == Seen::copy);
}

// A sender hears that some of its messages came, in order, before the connection breaks. It sends
// the rest again.
TEST_CASE("sequence: whatever is lost with connections, each message is received once, in order") {
  Random random(7);
  Sequence from, to;
  std::deque<std::uint32_t> unconfirmed;
  std::vector<std::uint32_t> received;
  for (int life = 0; life < 500; ++life) {
    for (std::uint64_t more = random.below(5); more > 0; --more)
      unconfirmed.push_back(from.number());
    const std::uint64_t come = random.below(unconfirmed.size() + 1);
    for (std::size_t i = 0; i < come; ++i)
      if (to.arrived(unconfirmed[i]) == Seen::next) received.push_back(unconfirmed[i]);
    for (std::uint64_t heard = random.below(come + 1); heard > 0; --heard)
      unconfirmed.pop_front();
  }
  for (const std::uint32_t number : unconfirmed)
    if (to.arrived(number) == Seen::next) received.push_back(number);
  REQUIRE(received.size() == from.number());
  for (std::uint32_t i = 0; i < received.size(); ++i)
    REQUIRE(received[i] == i);
}

}  // namespace
}  // namespace scela::channel::sequence_test
