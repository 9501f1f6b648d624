// Tests how agents tell each other which ranks have left.
#include "nla/pmi/left_ranks.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "common/core/bytes.h"

namespace left_ranks_test {

using namespace scela;
using namespace scela::nla;

namespace {

// The part of one node, with the messages that it wants to send.
struct Node {
  std::vector<event::Asked> sent;
  RankSet finalized;
  LeftRanks left{[this](Event event) { sent.push_back(std::get<event::Asked>(std::move(event))); },
                 [this](Rank rank) { return finalized.contains(rank); }};
};

// Returns the message as it comes to the agent of its destination.
action::Reply delivered(const event::Asked& asked) {
  const auto& send = std::get<ask::Send>(asked.request);
  action::Reply out;
  out.rank = send.destination;
  out.id = kUnasked;
  ByteWriter source;
  source.varint(asked.rank);
  ByteWriter tag;
  tag.varint(send.tag);
  out.response.parts = {Chunk(source.take()), Chunk(tag.take()), send.bytes};
  return out;
}

}  // namespace

TEST_CASE("a rank has left once its agent has said so, which must be asked") {
  Node here;
  Node there;
  CHECK_FALSE(here.left.has_left(0, 7));
  REQUIRE(here.sent.size() == 1);
  CHECK(here.sent[0].rank == 0);
  CHECK(here.sent[0].id == kLeftRequest);

  CHECK(there.left.heard(delivered(here.sent[0])));
  CHECK(there.sent.empty());  // there is no answer that it has not
  CHECK_FALSE(here.left.has_left(0, 7));
  SECTION("finalized") {
    there.finalized.add(7);
  }
  SECTION("ended") {
    there.left.add_ended(7);
  }
  CHECK(there.left.heard(delivered(here.sent[1])));
  REQUIRE(there.sent.size() == 1);
  CHECK(there.sent[0].rank == 7);
  CHECK(here.left.heard(delivered(there.sent[0])));
  CHECK(here.left.has_left(0, 7));
  CHECK_FALSE(here.left.has_left(0, 6));
}

TEST_CASE("answers and messages about other things are left to other parts") {
  Node here;
  CHECK_FALSE(here.left.has_left(1, 2));
  action::Reply message = delivered(here.sent[0]);
  SECTION("an answer") {
    message.id = 5;
  }
  SECTION("another tag") {
    ByteWriter tag;
    tag.varint(kServiceTags);
    message.response.parts[1] = Chunk(tag.take());
  }
  SECTION("another form") {
    message.response.parts.pop_back();
  }
  CHECK_FALSE(here.left.heard(message));
}

}  // namespace left_ranks_test
