// Both ends of a connection between nodes prove themselves: every word of it matters.
#include <catch2/catch.hpp>

#include "common/core/random.h"
#include "common/core/text.h"
#include "hca/engine/peer.h"

namespace greeting_test {

using namespace scela;
using namespace scela::hca;

namespace {

using State = Greeting::State;

std::string drawn(char byte) {
  return std::string(Greeting::kDrawn, byte);
}

constexpr std::size_t kHalf = 32, kProof = 32;

Identity identity(std::uint32_t node, bool encrypts = false) {
  return {"job", std::string(32, 'k'), node, 4, 100 + node, encrypts};
}

struct Talk {
  Identity left = identity(0), right = identity(1);
  Greeting connects = Greeting::connecting(left, 1, 7, drawn('l'));
  Greeting accepts = Greeting::accepting(right, drawn('r'));

  Talk() = default;
  Talk(const Identity& one, const Identity& other) : left(one), right(other) {
    connects = Greeting::connecting(left, 1, 7, drawn('l'));
    accepts = Greeting::accepting(right, drawn('r'));
  }
  // Carries what both say, the byte of this number changed, until nothing more is said.
  void run(std::size_t change = ~std::size_t{0}) {
    std::size_t carried = 0;
    for (bool more = true; more;) {
      more = false;
      for (auto [from, to] : {std::pair{&connects, &accepts}, std::pair{&accepts, &connects}}) {
        std::string bytes = from->output();
        more = more || !bytes.empty();
        for (char& byte : bytes)
          if (carried++ == change) byte = static_cast<char>(byte ^ 0x10);
        to->take(bytes);
      }
      if (accepts.state() == State::asked) accepts.decide(Greeting::Verdict::welcome, 3);
    }
  }
};

}  // namespace

TEST_CASE("two engines of a job prove themselves to each other") {
  Talk talk;
  talk.run();
  REQUIRE(talk.connects.state() == State::over);
  REQUIRE(talk.accepts.state() == State::over);
  CHECK(talk.connects.verdict() == Greeting::Verdict::welcome);
  CHECK(talk.connects.attempts() == 3);
  CHECK(talk.connects.other().from == 1);
  CHECK(talk.connects.other().instance == 101);
  CHECK(talk.accepts.other().from == 0);
  CHECK(talk.accepts.other().attempt == 7);
}

TEST_CASE("with any byte of hellos and proofs changed, neither is believed") {
  const std::size_t all = 2 * Hello::kBytes + kProof + kHalf + kProof;
  for (std::size_t change = 0; change < all; ++change) {
    CAPTURE(change);
    Talk talk;
    talk.run(change);
    CHECK(talk.accepts.state() != State::over);
    CHECK(talk.connects.state() != State::over);
    CHECK((talk.accepts.state() == State::failed || talk.connects.state() == State::failed));
  }
}

TEST_CASE("a verdict with any byte changed is not believed") {
  const std::size_t before = 2 * Hello::kBytes + kProof + kHalf + kProof;
  for (std::size_t change = before; change < before + 8 + kHalf + kProof; ++change) {
    CAPTURE(change);
    Talk talk;
    talk.run(change);
    CHECK(talk.connects.state() == State::failed);
  }
}

TEST_CASE("what follows is encrypted if either end wishes so, and nobody else has the secrets") {
  const auto [left, right] = GENERATE(std::pair{false, false}, std::pair{true, false},
                                      std::pair{false, true}, std::pair{true, true});
  Talk talk(identity(0, left), identity(1, right));
  CHECK_FALSE(talk.connects.secrets());
  talk.run();
  REQUIRE(talk.connects.state() == State::over);
  CHECK(talk.connects.encrypts() == (left || right));
  CHECK(talk.accepts.encrypts() == (left || right));
  const auto one = talk.connects.secrets(), other = talk.accepts.secrets();
  if (!left && !right) {
    CHECK_FALSE(one);  // no key was drawn for what is not encrypted
    CHECK_FALSE(other);
    return;
  }
  REQUIRE(one);
  REQUIRE(other);
  CHECK(one->out == other->in);
  CHECK(one->in == other->out);
  CHECK(one->out != one->in);
  CHECK(one->out.size() == 32);
  // Who knows the job's key and what was said, but neither of the two drawn keys.
  Talk same(identity(0, left), identity(1, right));
  same.accepts = Greeting::accepting(same.right, drawn('x'));
  same.run();
  REQUIRE(same.connects.secrets());
  CHECK(same.connects.secrets()->out != one->out);
  Identity key = identity(0, left), key_too = identity(1, right);
  key.key = key_too.key = std::string(32, 'q');
  Talk with_other_key(key, key_too);
  with_other_key.run();
  REQUIRE(with_other_key.connects.secrets());
  CHECK(with_other_key.connects.secrets()->out != one->out);
}

TEST_CASE("no key is made for who has not proved itself") {
  // What it would be made of, and nothing else, differs between the two.
  std::string other = drawn('r');
  std::fill(other.begin() + Hello::kNonce, other.end(), 's');
  Talk one(identity(0, true), identity(1, true)), same(identity(0, true), identity(1, true));
  same.accepts = Greeting::accepting(same.right, other);
  const std::string hello = one.connects.output();
  for (Talk* talk : {&one, &same})
    talk->accepts.take(hello);
  const std::string said = one.accepts.output();
  REQUIRE(said.size() == Hello::kBytes + kProof);
  CHECK(said == same.accepts.output());
  SECTION("and none if it does not") {
    one.accepts.take(std::string(kHalf + kProof, 'p'));
    CHECK(one.accepts.state() == State::failed);
    CHECK(one.accepts.output().empty());
  }
  SECTION("and one of its own if it does") {
    one.connects.take(said);
    const std::string proof = one.connects.output();
    for (Talk* talk : {&one, &same}) {
      talk->accepts.take(proof);
      REQUIRE(talk->accepts.state() == State::asked);
      talk->accepts.decide(Greeting::Verdict::welcome, 1);
    }
    CHECK(one.accepts.output() != same.accepts.output());
  }
}

TEST_CASE("a wish that is taken away on its way ends the greeting") {
  constexpr std::size_t kWishes = 8 + 4 + 2 + 2;
  for (const bool of_who_connects : {true, false}) {
    Talk talk(identity(0, of_who_connects), identity(1, !of_who_connects));
    std::string hello = talk.connects.output();
    if (of_who_connects) hello[kWishes] = 0;
    talk.accepts.take(hello);
    std::string answer = talk.accepts.output();
    REQUIRE_FALSE(answer.empty());
    if (!of_who_connects) answer[kWishes] = 0;
    talk.connects.take(answer);
    CHECK(talk.connects.state() == State::failed);
    CHECK(talk.connects.output().empty());
    CHECK(talk.accepts.state() == State::going_on);
  }
}

TEST_CASE("another key, another job or another node is not believed") {
  Identity other = identity(1);
  SECTION("key") {
    other.key[31] = 'x';
  }
  SECTION("job") {
    other.job = "another";
  }
  SECTION("node") {
    other.node = 2;
  }
  SECTION("itself") {
    other.node = 0;
  }
  Talk talk(identity(0), other);
  talk.run();
  CHECK(talk.accepts.state() != State::over);
  CHECK(talk.connects.state() != State::over);
}

TEST_CASE("a number beyond the job's nodes is refused before anything is said") {
  Talk talk({"job", std::string(32, 'k'), 9, 10, 1, false}, identity(1));
  talk.accepts.take(talk.connects.output());
  CHECK(talk.accepts.state() == State::failed);
  CHECK(talk.accepts.output().empty());
}

TEST_CASE("a proof of another talk, or of the other role, serves nobody") {
  Talk first;
  const std::string hello = first.connects.output();
  first.accepts.take(hello);
  const std::string answer = first.accepts.output();
  first.connects.take(answer);
  const std::string proof = first.connects.output();
  REQUIRE(proof.size() == kHalf + kProof);
  SECTION("said again to another nonce") {
    Identity right = identity(1);
    Greeting accepts = Greeting::accepting(right, drawn('n'));
    accepts.take(hello);
    static_cast<void>(accepts.output());
    accepts.take(proof);
    CHECK(accepts.state() == State::failed);
  }
  SECTION("the acceptor's own, sent back") {
    first.accepts.take(proof.substr(0, kHalf) + answer.substr(Hello::kBytes));
    CHECK(first.accepts.state() == State::failed);
  }
}

TEST_CASE("bytes come one by one, and no more than the next record is wanted") {
  Talk talk;
  const std::string hello = talk.connects.output();
  for (std::size_t i = 0; i < hello.size(); ++i) {
    CHECK(talk.accepts.wants() == hello.size() - i);
    CHECK(talk.accepts.output().empty());
    talk.accepts.take(hello.substr(i, 1));
  }
  CHECK(talk.accepts.wants() == kHalf + kProof);
  CHECK(talk.accepts.output().size() == Hello::kBytes + kProof);
}

TEST_CASE("noise is no greeting") {
  Random random(GENERATE(range(1, 200)));
  Talk talk;
  Greeting& whom = random.chance(1, 2) ? talk.connects : talk.accepts;
  while (whom.wants() > 0) {
    std::string bytes(random.between(1, 40), '\0');
    for (char& byte : bytes)
      byte = static_cast<char>(random.next());
    whom.take(bytes);
  }
  CHECK(whom.state() == State::failed);
}

TEST_CASE("of several connections between two nodes the same one stays on both sides") {
  OtherNode other;
  const Hello hello{1, 5, 3, 0, 2, 77, {}};
  CHECK(other.verdict(3, hello) == Greeting::Verdict::welcome);
  other.trying = 9;
  CHECK(other.verdict(3, hello) == Greeting::Verdict::crossing);  // the lower node's own stays
  CHECK(other.verdict(6, hello) == Greeting::Verdict::welcome);
  other.trying = 0;
  other.saw(77, 2);
  CHECK(other.verdict(3, hello) == Greeting::Verdict::stale);
  other.saw(77, 1);
  CHECK(other.verdict(3, hello) == Greeting::Verdict::welcome);
  other.saw(78, 9);  // another engine took its place
  CHECK(other.verdict(3, hello) == Greeting::Verdict::welcome);
}

}  // namespace greeting_test
