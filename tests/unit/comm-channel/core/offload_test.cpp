// Tests offloaded channels. Each run checks by the rules of order which receive gets which message.
// It does so for messages in channels and outside, and at any time when the sides agree to use or
// to leave a channel (offload_world.h).
//
// SCELA_OFFLOAD_OPERATIONS=N in the environment does N operations in each run.
#include <catch2/catch.hpp>
#include <cstdlib>

#include "tests/unit/comm-channel/core/offload_world.h"

namespace scela::channel::test::offload_test {
namespace {

std::uint64_t operations(std::uint64_t otherwise) {
  const char* const value = std::getenv("SCELA_OFFLOAD_OPERATIONS");
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

TEST_CASE("offload: receives match in order, with and without channels") {
  const Mix mixes[] = {
      // sources, contexts, tags, any source, any tag, small room, small, probes, cancels, channels
      {1, 1, 2, 0, 0, 0, 0, 0, 0, 4, 50},       // nothing but large messages
      {2, 1, 3, 20, 0, 20, 30, 0, 0, 8, 50},    // from any source, now and then
      {2, 1, 3, 10, 3, 10, 20, 10, 10, 8, 50},  // everything
      {3, 4, 3, 10, 1, 10, 20, 5, 5, 3, 55},    // few channels
      {1, 1, 2, 0, 20, 0, 10, 0, 0, 4, 45},     // messages wait
      {2, 2, 2, 30, 0, 50, 50, 30, 30, 8, 55},  // receives wait
      {1, 1, 6, 5, 0, 5, 10, 40, 0, 2, 50},     // more tags than channels
  };
  std::uint64_t by_channel = 0, bounces = 0, recalls = 0, parked = 0;
  std::uint64_t seed = 0;
  for (const Mix& mix : mixes)
    for (int round = 0; round < 40; ++round) {
      CAPTURE(++seed);
      World world(seed, mix);
      world.run(operations(400));
      CHECK(world.max_channels <= mix.channels);
      by_channel += world.by_channel;
      bounces += world.bounces;
      recalls += world.recalls;
      parked += world.parked;
    }
  // The runs must contain the events that this test is about.
  CHECK(by_channel > 1000);
  CHECK(bounces > 10);
  CHECK(recalls > 100);
  CHECK(parked > 100);
}

constexpr Mix kPlain{1, 1, 1, 0, 0, 0, 0, 0, 0, 8, 50};

// Sends messages of this tag until they go by a channel.
void warm_up(World& world, std::int32_t tag) {
  for (int i = 0; i < 4; ++i) {
    world.send_tag(0, tag, kLarge);
    world.post_pattern({0, 0, tag}, kLarge);
    world.settle();
  }
  REQUIRE(world.by_channel > 0);
}

TEST_CASE("offload: ten thousand tags use no more channels than there may be") {
  World world(1, {1, 1, 1, 0, 0, 0, 0, 0, 0, 8, 50});
  for (std::int32_t tag = 0; tag < 10'000; ++tag)
    for (int i = 0; i < 4; ++i) {
      world.send_tag(0, tag, kLarge);
      world.post_pattern({0, 0, tag}, kLarge);
      if (tag % 3 == 0) world.settle();
    }
  world.settle();
  CHECK(world.max_channels == 8);
  CHECK(world.by_channel > 100);
  CHECK(world.in_use() + world.budget_left() <= 8);
}

TEST_CASE("offload: a short message goes by the channel into a large receive") {
  World world(1, kPlain);
  warm_up(world, 0);
  const std::uint64_t before = world.by_channel;
  world.send_tag(0, 0, 1);
  const Receive& receive = world.post_pattern({0, 0, 0}, kLarge);
  world.settle();
  CHECK(world.by_channel == before + 1);
  CHECK(receive.message != kNone);
  world.check();
}

TEST_CASE("offload: a receive of any tag gets the first message, though it is in a channel") {
  World world(1, {1, 1, 2, 0, 0, 0, 0, 0, 0, 8, 50});
  warm_up(world, 0);
  world.send_tag(0, 0, kLarge);  // by the channel
  world.send_tag(0, 1, 1);       // not by the channel
  const Receive& any = world.post_pattern({0, 0, kAny}, kLarge);
  const Receive& exact = world.post_pattern({0, 0, 1}, kLarge);
  world.settle();
  CHECK(any.message == 4);
  CHECK(exact.message == 5);
  CHECK(world.recalls == 1);
}

TEST_CASE("offload: a probe sees a message in a channel before messages sent behind it") {
  for (const Pattern pattern : {Pattern{0, 0, kAny}, Pattern{0, kAny, kAny}, Pattern{0, kAny, 0}}) {
    World world(1, {1, 1, 2, 0, 0, 0, 0, 0, 0, 8, 50});
    warm_up(world, 0);
    world.send_tag(0, 0, kLarge);  // by the channel
    world.send_tag(0, 1, 1);       // not by the channel
    world.settle();
    CHECK_FALSE(world.probe_pattern(pattern, false));  // not known yet: the receiver asks
    world.settle();
    CHECK(world.probe_pattern(pattern, false) == 0);
    CHECK(world.probe_pattern(pattern, true) == 0);
    CHECK(world.probe_pattern({0, kAny, kAny}, true) == 1);
    world.settle();
    world.check();
  }
}

TEST_CASE("offload: a channel is recalled for a wildcard that was posted before it began") {
  World world(1, {2, 1, 1, 0, 0, 0, 0, 0, 0, 8, 50});
  for (int i = 0; i < 2; ++i) {
    world.send_tag(0, 0, kLarge);
    world.post_pattern({0, 0, 0}, kLarge);
  }
  while (world.in_use() == 0)
    world.hear_one(0);
  const Receive& any = world.post_pattern({0, kAny, 0}, kLarge);
  world.settle();
  CHECK(world.recalls == 1);
  world.send_tag(0, 0, kLarge);
  world.settle();
  CHECK(any.message == 2);
}

TEST_CASE("offload: a receive that is too small for a channel's messages gets a truncated one") {
  World world(1, kPlain);
  warm_up(world, 0);
  world.send_tag(0, 0, kLarge);
  const Receive& small = world.post_pattern({0, 0, 0}, 5);
  world.settle();
  CHECK(small.message == 4);
  CHECK(world.bounces == 1);
  world.check();
}

TEST_CASE("offload: a message longer than the channel's goes another way, in its order") {
  World world(1, kPlain);
  warm_up(world, 0);
  const std::uint64_t before = world.by_channel;
  world.send_tag(0, 0, kLarge + 1);
  const Receive& first = world.post_pattern({0, 0, 0}, 2 * kLarge);
  world.send_tag(0, 0, kLarge);
  const Receive& second = world.post_pattern({0, 0, 0}, 2 * kLarge);
  world.settle();
  CHECK(world.by_channel == before);
  CHECK(first.message == 4);
  CHECK(second.message == 5);
}

// Returns how many messages of the length go another way before one goes by a channel.
int until_by_channel(World& world, std::uint64_t length) {
  const std::uint64_t before = world.by_channel;
  for (int sent = 0; sent < 100; ++sent) {
    world.send_tag(0, 0, length);
    world.post_pattern({0, 0, 0}, length);
    const bool went = world.by_channel > before;
    world.settle();
    world.check();
    if (went && world.in_use() == 1) return sent;
  }
  return 100;
}

TEST_CASE("offload: a tag with growing messages is soon sent by a channel again") {
  World world(1, kPlain);
  CHECK(until_by_channel(world, kLarge) == 2);
  // The first message leaves the channel, and the second opens the next one.
  for (std::uint64_t length = 2 * kLarge; length < 1000 * kLarge; length *= 4)
    CHECK(until_by_channel(world, length) == 2);
  // The sender does not do so for messages that grow by a few bytes.
  const int first = until_by_channel(world, 1000 * kLarge);
  CHECK(until_by_channel(world, 1001 * kLarge) > first);
}

TEST_CASE("offload: a tag with messages that have become shorter gets a smaller channel") {
  World world(1, kPlain);
  CHECK(until_by_channel(world, 8 * kLarge) == 2);
  CHECK(until_by_channel(world, kLarge) < 10);
  const std::uint64_t recalls = world.recalls, before = world.by_channel;
  for (int i = 0; i < 20; ++i)
    CHECK(until_by_channel(world, kLarge) == 0);
  CHECK(world.recalls == recalls);
  CHECK(world.by_channel == before + 20);
}

TEST_CASE("offload: a source that dies fails what only it could complete, and frees its channels") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    World world(seed, {2, 1, 2, 0, 0, 0, 0, 0, 0, 8, 50});
    warm_up(world, 0);
    warm_up(world, 1);
    const Receive& armed = world.post_pattern({0, 0, 0}, kLarge);
    world.send_tag(0, 1, kLarge);
    const Receive& any = world.post_pattern({0, kAny, 0}, kLarge);
    const Receive& held = world.post_pattern({0, kAny, kAny}, kLarge);
    const Receive& behind = world.post_pattern({0, 0, 0}, kLarge);
    world.die(0);
    CHECK(armed.failed);
    CHECK(behind.failed);
    CHECK_FALSE(any.failed);
    CHECK_FALSE(held.failed);
    CHECK(world.in_use() == 0);
    world.send_tag(1, 0, kLarge);
    world.send_tag(1, 0, kLarge);
    world.settle();
    CHECK(any.message != kNone);
    CHECK(held.message != kNone);
  }
}

// A sender, and a receiver that agrees to everything at once.
struct Agreeing {
  explicit Agreeing(ChannelBudget& budget) : sender({1, 1}, budget) {}

  // Returns true if the message went by a channel.
  bool send(std::int32_t tag, OffloadSender::By by = OffloadSender::By::choice) {
    ControlMessages sayings;
    const auto path = sender.send(0, tag, kLarge, sayings, by);
    if (path.by_channel) sender.gone(path.channel);
    answer(sayings);
    return path.by_channel;
  }
  void answer(const ControlMessages& sayings) {
    for (const ControlMessage& saying : sayings) {
      said.push_back(saying.kind);
      ControlMessages more;
      Agreement agreement = saying.body;
      agreement.count = 1;
      if (saying.kind == Kind::open) sender.opened(agreement, more);
      if (saying.kind == Kind::left) CHECK(sender.closed(agreement));
      answer(more);
    }
  }

  OffloadSender sender;
  std::vector<Kind> said;
};

TEST_CASE("offload: a sender that needs a channel while all are used gets an idle one") {
  ChannelBudget budget{2};
  Agreeing first(budget), second(budget);
  CHECK_FALSE(first.send(1));  // it opens the channel
  CHECK_FALSE(first.send(2));
  CHECK(first.send(1));
  CHECK(first.send(2));
  CHECK(first.send(1));  // tag 2 is idle for longer
  REQUIRE(budget.left == 0);
  CHECK_FALSE(second.send(1));
  REQUIRE(budget.wanted);
  CHECK_FALSE(second.sender.idle_since());
  REQUIRE(first.sender.idle_since());
  ControlMessages sayings;
  first.sender.leave_idle(sayings);
  first.answer(sayings);
  CHECK(budget.left == 1);
  CHECK_FALSE(second.send(1));
  CHECK(second.send(1));
  CHECK(first.send(1));
  CHECK_FALSE(first.send(2));
}

TEST_CASE("offload: a message that must not use a channel leaves it and opens none") {
  ChannelBudget budget{2};
  Agreeing one(budget);
  for (int i = 0; i < 5; ++i)
    CHECK_FALSE(one.send(1, OffloadSender::By::outside));
  CHECK(one.said.empty());
  CHECK_FALSE(one.send(1));
  CHECK(one.send(1));
  CHECK(one.sender.channel_for(0, 1, kLarge));
  CHECK_FALSE(one.sender.channel_for(0, 1, kLarge + 1));
  CHECK_FALSE(one.sender.channel_for(0, 2, kLarge));
  CHECK_FALSE(one.sender.channel_for(1, 1, kLarge));
  CHECK_FALSE(one.send(1, OffloadSender::By::outside));
  CHECK(one.said == std::vector<Kind>{Kind::open, Kind::begin, Kind::left});
  CHECK(budget.left == 2);
}

TEST_CASE("offload: a sender that ends leaves all channels, a receiver without memory refuses") {
  ChannelBudget budget{4};
  Agreeing one(budget);
  for (int tag = 0; tag < 3; ++tag)
    CHECK_FALSE(one.send(tag));
  ControlMessages sayings;
  one.sender.leave_all(sayings);
  CHECK(sayings.size() == 3);
  one.answer(sayings);
  CHECK(budget.left == 4);

  Matcher matcher;
  OffloadReceiver receiver(matcher, 1);
  ReceiverActions actions;
  const Agreement asked{0, 1, kLarge, 0, 0};
  receiver.opening(0, 0, 7, asked, actions);
  REQUIRE(actions.size() == 1);
  CHECK(actions[0].saying.body.count == 1);
  receiver.not_opened(0, asked);
  CHECK(receiver.idle());
  actions.clear();
  receiver.opening(0, 0, 7, asked, actions);
  CHECK(actions[0].saying.body.count == 1);
}

constexpr std::uint32_t kGivenUp = 7;

TEST_CASE("offload: no channel is opened in a discarded context, until it is accepted again") {
  Matcher matcher;
  OffloadReceiver receiver(matcher, 4);
  const auto accepts = [&](std::int32_t source) {
    ReceiverActions actions;
    receiver.opening(source, kGivenUp, 5, {0, 1, kLarge, 0, 0}, actions);
    return actions.front().saying.body.count == 1;
  };
  const auto recalls = [](const ReceiverActions& actions) {
    return actions.size() == 1 && actions.front().saying.kind == Kind::recall;
  };
  REQUIRE(accepts(0));
  REQUIRE(accepts(1));
  ReceiverActions actions;
  receiver.began(0, {0, 1, 0, 0, 0}, actions);
  REQUIRE(actions.empty());
  matcher.unwant({kGivenUp, kGivenUp});
  receiver.discard({kGivenUp, kGivenUp}, actions);
  CHECK(recalls(actions));
  actions.clear();
  receiver.began(1, {0, 1, 0, 0, 0}, actions);  // it was accepted before
  CHECK(recalls(actions));
  CHECK_FALSE(accepts(2));
  matcher.want({kGivenUp, kGivenUp});
  CHECK(accepts(2));
  actions.clear();
  receiver.began(2, {0, 1, 0, 0, 0}, actions);
  CHECK(actions.empty());
}

TEST_CASE("offload: messages for a receive that is held back are kept") {
  Matcher matcher;
  OffloadReceiver receiver(matcher, 4);
  ReceiverActions actions;
  receiver.opening(0, kGivenUp, 5, {0, 1, kLarge, 0, 0}, actions);
  receiver.began(0, {0, 1, 0, 0, 0}, actions);
  Receive any;
  any.pattern = {kGivenUp, 0, kAny};
  any.room = kLarge;
  CHECK(receiver.post(any, actions) == nullptr);
  matcher.unwant({kGivenUp, kGivenUp});
  receiver.discard({kGivenUp, kGivenUp}, actions);
  CHECK(receiver.holds(kGivenUp));
  Unexpected messages[2];
  for (Unexpected& message : messages) {
    message.envelope = {kGivenUp, 0, 6, 1};
    matcher.keep(message);
    CHECK(matcher.next_unwanted());
  }
  actions.clear();
  receiver.left(0, {0, 1, 0, 0, 0}, {}, actions);
  REQUIRE_FALSE(actions.empty());
  CHECK(actions.back().what == ReceiverAction::What::matched);
  CHECK(actions.back().message == &messages[0]);
  CHECK_FALSE(receiver.holds(kGivenUp));
  const auto left = matcher.next_unwanted();
  REQUIRE(left);
  CHECK(matcher.take(*left) == &messages[1]);
}

}  // namespace
TEST_CASE("offload: a sender that claims more than was agreed gets no more memory and turns") {
  Matcher matcher;
  OffloadReceiver receiver(matcher, 4);
  ReceiverActions actions;
  receiver.opening(3, 7, 5, {0, 1, 20'000, 0, 0}, actions);
  receiver.began(3, {0, 1, 0, 0, 0}, actions);
  actions.clear();
  receiver.left(3, {0, 1, std::uint64_t{1} << 63, 1, 0}, {{std::uint64_t{1} << 60, 0, 1}}, actions);
  Unexpected* const message = receiver.take({7, 3, 5}, actions);
  REQUIRE(message != nullptr);
  CHECK(receiver.take({7, 3, 5}, actions) == nullptr);
  receiver.fetch(static_cast<ParkedMessage&>(*message), nullptr, actions);
  REQUIRE_FALSE(actions.empty());
  CHECK(actions.back().what == ReceiverAction::What::arm_own);
  CHECK(actions.back().bytes == 20'000);
}

}  // namespace scela::channel::test::offload_test
