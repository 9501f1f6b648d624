#include "comm-channel/core/match/matching.h"

#include <catch2/catch.hpp>
#include <memory>
#include <vector>

namespace scela::channel::matching_test {
namespace {

Posted receive(std::uint32_t context, std::int32_t source, std::int32_t tag) {
  Posted posted;
  posted.pattern = {context, source, tag};
  return posted;
}

Unexpected message(std::uint32_t context, std::int32_t source, std::int32_t tag,
                   std::uint64_t kept = 0) {
  Unexpected unexpected;
  unexpected.envelope = {context, source, tag, 8};
  unexpected.kept = kept;
  return unexpected;
}

TEST_CASE("matching: a message takes the earliest receive that it fits, wildcard or not") {
  Matcher matcher;
  Posted any_tag = receive(0, 1, kAny), exact = receive(0, 1, 5), any = receive(0, kAny, kAny),
         any_source = receive(0, kAny, 5), exact_again = receive(0, 1, 5);
  for (Posted* posted : {&any_tag, &exact, &any, &any_source, &exact_again})
    REQUIRE(matcher.post(*posted) == nullptr);
  CHECK(matcher.first_wild({0, 1, 5, 0}) == &any_tag);
  for (Posted* expected : {&any_tag, &exact, &any, &any_source, &exact_again}) {
    CHECK(expected->waiting());
    CHECK(matcher.arrived({0, 1, 5, 0}) == expected);
    CHECK_FALSE(expected->waiting());
  }
  CHECK(matcher.arrived({0, 1, 5, 0}) == nullptr);
  CHECK(matcher.counts().posted == 0);
  // A receive that waits alone also takes no message but those that it fits.
  Posted alone = receive(0, 1, 5);
  REQUIRE(matcher.post(alone) == nullptr);
  CHECK(matcher.arrived({1, 1, 5, 0}) == nullptr);
  CHECK(matcher.arrived({0, 2, 5, 0}) == nullptr);
  CHECK(matcher.arrived({0, 1, 6, 0}) == nullptr);
  CHECK(matcher.arrived({0, 1, 5, 0}) == &alone);
}

TEST_CASE("matching: a receive takes the earliest message that fits, with any wildcards") {
  for (const Pattern pattern :
       {Pattern{0, 1, 5}, Pattern{0, kAny, 5}, Pattern{0, 1, kAny}, Pattern{0, kAny, kAny}}) {
    Matcher matcher;
    Unexpected other = message(0, 2, 6), first = message(0, 1, 5), second = message(0, 1, 5);
    const bool fits_other = fits(pattern, other.envelope);
    for (Unexpected* unexpected : {&other, &first, &second})
      matcher.keep(*unexpected);
    std::vector<Unexpected*> expected{&first, &second};
    if (fits_other) expected.insert(expected.begin(), &other);
    for (Unexpected* unexpected : expected) {
      Posted posted = receive(pattern.context, pattern.source, pattern.tag);
      CHECK(matcher.probe(pattern) == unexpected);
      CHECK(matcher.post(posted) == unexpected);
      CHECK_FALSE(posted.waiting());
    }
    CHECK(matcher.probe(pattern) == nullptr);
  }
}

TEST_CASE("matching: contexts, sources and tags are kept apart, whatever the rest is") {
  Matcher matcher;
  Posted posted = receive(1, 2, 3);
  REQUIRE(matcher.post(posted) == nullptr);
  CHECK(matcher.arrived({0, 2, 3, 0}) == nullptr);
  CHECK(matcher.arrived({1, 3, 3, 0}) == nullptr);
  CHECK(matcher.arrived({1, 2, 2, 0}) == nullptr);
  CHECK(matcher.arrived({1, 3, 2, 0}) == nullptr);
  CHECK(matcher.arrived({1, 2, 3, 0}) == &posted);
}

TEST_CASE("matching: the largest tag, context and source are ones like any other") {
  Matcher matcher;
  Posted posted = receive(0xffff'ffffu, 0x7fff'ffff, 0x7fff'ffff),
         any = receive(0xffff'ffffu, kAny, kAny);
  REQUIRE(matcher.post(posted) == nullptr);
  REQUIRE(matcher.post(any) == nullptr);
  CHECK(matcher.arrived({0xffff'ffffu, 0x7fff'ffff, 0x7fff'ffff, 0}) == &posted);
  CHECK(matcher.arrived({0xffff'ffffu, 0, 0, 0}) == &any);
}

TEST_CASE("matching: a cancelled receive gets no message and holds none back") {
  Matcher matcher;
  Posted first = receive(0, 1, 5), middle = receive(0, 1, 5), last = receive(0, 1, 5);
  for (Posted* posted : {&first, &middle, &last})
    matcher.post(*posted);
  CHECK(matcher.cancel(middle));
  CHECK_FALSE(matcher.cancel(middle));
  CHECK(matcher.cancel(first));
  CHECK(matcher.arrived({0, 1, 5, 0}) == &last);
  CHECK_FALSE(matcher.cancel(last));
  CHECK(matcher.arrived({0, 1, 5, 0}) == nullptr);
  // If a receive is posted once more, it is the last.
  matcher.post(last);
  matcher.post(first);
  CHECK(matcher.arrived({0, 1, 5, 0}) == &last);
}

TEST_CASE("matching: a message that a probe has taken is received by no other receive") {
  Matcher matcher;
  Unexpected first = message(0, 1, 5), second = message(0, 1, 5);
  matcher.keep(first);
  matcher.keep(second);
  CHECK(matcher.take({0, kAny, 5}) == &first);
  CHECK_FALSE(first.waiting());
  Posted posted = receive(0, 1, 5);
  CHECK(matcher.post(posted) == &second);
  CHECK(matcher.take({0, kAny, 5}) == nullptr);
  // A message that was dropped is not found either.
  matcher.keep(first);
  CHECK(matcher.drop(first));
  CHECK_FALSE(matcher.drop(first));
  CHECK(matcher.post(posted) == nullptr);
}

TEST_CASE("matching: a dead rank ends the receives that only it could complete, in their order") {
  Matcher matcher;
  Posted a = receive(0, 1, 5), any = receive(0, kAny, 5), other = receive(0, 2, 5),
         b = receive(7, 1, kAny), c = receive(0, 1, 5);
  for (Posted* posted : {&a, &any, &other, &b, &c})
    matcher.post(*posted);
  Unexpected sent_before = message(0, 1, 9);
  matcher.keep(sent_before);

  std::vector<Posted*> ended;
  for (Posted* posted = matcher.take_receives_of(1); posted != nullptr;
       posted = Matcher::following(*posted))
    ended.push_back(posted);
  CHECK(ended == std::vector<Posted*>{&a, &b, &c});
  CHECK_FALSE(b.waiting());
  CHECK(matcher.take_receives_of(1) == nullptr);
  // The messages that the dead source sent before are there. A receive from any source waits for
  // the other sources.
  Posted late = receive(0, 1, 9);
  CHECK(matcher.post(late) == &sent_before);
  CHECK(matcher.arrived({0, 2, 5, 0}) == &any);
  CHECK(matcher.arrived({0, 2, 5, 0}) == &other);

  matcher.post(any);
  CHECK(matcher.take_receives_of(2) == nullptr);
  CHECK(matcher.take_receives_of(kAny) == &any);
  CHECK(matcher.first_receive() == nullptr);
}

TEST_CASE("matching: messages and their bytes are counted, and the most there were") {
  Matcher matcher;
  Unexpected eager = message(0, 1, 5, 100), offered = message(0, 1, 6, 0),
             more = message(0, 1, 7, 50);
  for (Unexpected* unexpected : {&eager, &offered, &more})
    matcher.keep(*unexpected);
  CHECK(matcher.counts().unexpected == 3);
  CHECK(matcher.counts().bytes == 150);
  CHECK(matcher.take({0, 1, 5}) == &eager);
  CHECK(matcher.drop(more));
  CHECK(matcher.counts().unexpected == 1);
  CHECK(matcher.counts().bytes == 0);
  CHECK(matcher.counts().max_unexpected == 3);
  CHECK(matcher.counts().max_bytes == 150);
}

TEST_CASE("matching: a probe sees waiting messages in order, overall and for one pattern") {
  Matcher matcher;
  Posted a = receive(0, 1, 5), b = receive(0, 1, 6), c = receive(0, 1, 5);
  for (Posted* posted : {&a, &b, &c})
    matcher.post(*posted);
  CHECK(matcher.first_receive() == &a);
  CHECK(Matcher::after(a) == &b);
  CHECK(matcher.first_of({0, 1, 5}) == &a);
  CHECK(Matcher::next_of(a) == &c);
  CHECK(Matcher::next_of(c) == nullptr);
  CHECK(matcher.first_of({0, 1, 7}) == nullptr);
  Unexpected x = message(0, 2, 1), y = message(3, 1, 1);
  matcher.keep(x);
  matcher.keep(y);
  CHECK(matcher.first_message() == &x);
  CHECK(Matcher::after(x) == &y);
  CHECK(Matcher::after(y) == nullptr);
}

TEST_CASE("matching: a message may have its place before another of its source") {
  for (const bool indexed_before : {false, true}) {
    Matcher matcher;
    Unexpected other = message(0, 2, 9), second = message(0, 1, 6), third = message(0, 1, 7),
               first = message(0, 1, 5), between = message(0, 1, 5);
    for (Unexpected* unexpected : {&other, &second, &third})
      matcher.keep(*unexpected);
    // The result is the same if these probes make their indices before or after the insertions.
    if (indexed_before) {
      CHECK(matcher.probe({0, kAny, kAny}) == &other);
      CHECK(matcher.probe({0, 1, kAny}) == &second);
      CHECK(matcher.probe({0, kAny, 7}) == &third);
    }
    matcher.keep_before(first, second);
    matcher.keep_before(between, third);
    CHECK(matcher.counts().unexpected == 5);
    CHECK(matcher.probe({0, 1, 5}) == &first);
    CHECK(matcher.probe({0, kAny, 5}) == &first);
    CHECK(matcher.take({0, 2, kAny}) == &other);
    for (Unexpected* expected : {&first, &second, &between, &third}) {
      CHECK(matcher.probe({0, kAny, kAny}) == expected);
      CHECK(matcher.take({0, 1, kAny}) == expected);
    }
    CHECK(matcher.first_message() == nullptr);
  }
}

// A matcher that searches one by one would take minutes here, longer than the test's time limit.
TEST_CASE("matching: a hundred thousand receives or messages are not passed one by one") {
  constexpr int kMany = 100'000;
  Matcher matcher;
  std::vector<Posted> receives(kMany);
  for (int i = 0; i < kMany; ++i) {
    receives[static_cast<std::size_t>(i)].pattern = {0, i % 300, i};
    REQUIRE(matcher.post(receives[static_cast<std::size_t>(i)]) == nullptr);
  }
  for (int i = kMany - 1; i >= 0; --i)
    REQUIRE(matcher.arrived({0, i % 300, i, 0}) == &receives[static_cast<std::size_t>(i)]);

  std::vector<Unexpected> messages(kMany);
  for (int i = 0; i < kMany; ++i) {
    messages[static_cast<std::size_t>(i)].envelope = {0, i % 300, i, 0};
    matcher.keep(messages[static_cast<std::size_t>(i)]);
  }
  // Takes messages from any source by the tag, then by the source with any tag. Then all messages
  // have one source and one tag.
  for (int i = kMany - 1; i >= kMany / 2; --i)
    REQUIRE(matcher.take({0, kAny, i}) == &messages[static_cast<std::size_t>(i)]);
  for (int i = 0; i < kMany / 2; ++i)
    REQUIRE(matcher.take({0, i % 300, kAny}) == &messages[static_cast<std::size_t>(i)]);
  for (auto& same : messages) {
    same.envelope = {0, 1, 5, 0};
    matcher.keep(same);
  }
  Unexpected other = message(0, 1, 6);
  matcher.keep(other);
  for (int i = 0; i < kMany; ++i)
    REQUIRE(matcher.probe({0, 1, 6}) == &other);
}

}  // namespace
}  // namespace scela::channel::matching_test
