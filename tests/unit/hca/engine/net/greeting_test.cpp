// Tests that both ends of a connection between nodes prove themselves, and that each byte of the
// greeting matters.
#include <catch2/catch.hpp>

#include "common/core/random.h"
#include "common/core/text.h"
#include "common/crypto/engine_keys.h"
#include "hca/engine/net/peer.h"

namespace greeting_test {

using namespace scela;
using namespace scela::hca;

namespace {

using State = Greeting::State;

const std::string kJobKey(32, 'k');

Identity identity(std::uint32_t node, bool encrypts = false) {
  return {"job", engine_key_of(kJobKey, node), node, 4, 100 + node, encrypts};
}

std::string key_between(std::uint32_t from, std::uint32_t to) {
  return connection_key(engine_key_of(kJobKey, to), from);
}

std::string take_output(Greeting& greeting) {
  const auto out = greeting.output();
  std::string taken(reinterpret_cast<const char*>(out.data()), out.size());
  greeting.sent(taken.size());
  return taken;
}

void take(Greeting& greeting, std::string_view bytes) {
  greeting.take(std::as_bytes(std::span(bytes)));
}

struct Talk {
  Identity left = identity(0), right = identity(1);
  Greeting connects = Greeting::connecting(left, 1, 7, key_between(0, 1));
  Greeting accepts = Greeting::accepting(right);

  Talk() = default;
  Talk(const Identity& one, const Identity& other, const std::string& key = key_between(0, 1))
      : left(one), right(other) {
    connects = Greeting::connecting(left, 1, 7, key);
    accepts = Greeting::accepting(right);
  }
  Talk(const Talk&) = delete;
  Talk& operator=(const Talk&) = delete;

  // Carries the messages of both ends until no more come. It changes the byte with this number.
  void run(std::size_t change = ~std::size_t{0}) {
    for (bool more = true; more;) {
      more = false;
      for (auto [from, to] : {std::pair{&connects, &accepts}, std::pair{&accepts, &connects}}) {
        std::string bytes = take_output(*from);
        more = more || !bytes.empty();
        for (char& byte : bytes)
          if (carried++ == change) byte = static_cast<char>(byte ^ 0x10);
        take(*to, bytes);
      }
      if (accepts.state() == State::asked) {
        before_verdict = carried;
        accepts.decide(Greeting::Verdict::welcome, 3);
      }
    }
  }
  std::size_t carried = 0, before_verdict = 0;
};

}  // namespace

TEST_CASE("two engines of a job prove themselves to each other") {
  Talk talk;
  talk.run();
  INFO(talk.connects.why() << talk.accepts.why());
  REQUIRE(talk.connects.state() == State::over);
  REQUIRE(talk.accepts.state() == State::over);
  CHECK(talk.connects.verdict() == Greeting::Verdict::welcome);
  CHECK(talk.connects.attempts() == 3);
  CHECK(talk.connects.other().from == 1);
  CHECK(talk.connects.other().instance == 101);
  CHECK(talk.accepts.other().from == 0);
  CHECK(talk.accepts.other().attempt == 7);
  CHECK(talk.accepts.other().instance == 100);
}

TEST_CASE("with any byte of a greeting changed, no end that hears it believes the other") {
  Talk whole;
  whole.run();
  std::size_t harmless = 0;
  for (std::size_t change = 0; change < whole.carried; ++change) {
    CAPTURE(change);
    Talk talk;
    talk.run(change);
    if (talk.connects.state() == State::over) {
      ++harmless;
      continue;
    }
    // A verdict that was changed is not believed by the engine that waits for it. A changed length
    // may make either wait for more, until its time is over.
    if (change < whole.before_verdict) CHECK(talk.accepts.state() != State::over);
  }
  // Each hello's record has one byte without a meaning (RFC 8446, section 5.1).
  CHECK(harmless == 2);
}

TEST_CASE("frames after the greeting are encrypted if either end wishes so") {
  const auto [left, right] = GENERATE(std::pair{false, false}, std::pair{true, false},
                                      std::pair{false, true}, std::pair{true, true});
  Talk talk(identity(0, left), identity(1, right));
  talk.run();
  REQUIRE(talk.connects.state() == State::over);
  CHECK(talk.connects.encrypts() == (left || right));
  CHECK(talk.accepts.encrypts() == (left || right));
  // Both ends have a session to go on with.
  TlsSession one = talk.connects.take_session(), other = talk.accepts.take_session();
  const std::string_view text = "what follows";
  const auto piece = std::as_bytes(std::span(text));
  REQUIRE(one.write({&piece, 1}));
  other.receive(one.output());
  std::string heard(100, ' ');
  heard.resize(other.read(std::as_writable_bytes(std::span(heard))));
  CHECK(heard == text);
}

TEST_CASE("another key, another job or another node is not believed") {
  Identity other = identity(1);
  std::string said;
  SECTION("key") {
    other.key[31] = 'x';
    said = "it does not know the connection's key";
  }
  SECTION("job") {
    other.job = "another";
    said = "it is another node than it should be, or of another job";
  }
  SECTION("node") {
    other.node = 2;
    said = "it is another node than it should be, or of another job";
  }
  SECTION("itself") {
    other.node = 0;
    said = "it is another node than it should be, or of another job";
  }
  Talk talk(identity(0), other);
  talk.run();
  CHECK(talk.accepts.state() == State::failed);
  CHECK(talk.accepts.why() == said);
  CHECK(talk.connects.state() == State::failed);
  CHECK(talk.connects.why().find("key") != std::string::npos);
}

TEST_CASE("a node takes no other node's place, with none of the keys that it has") {
  // Node 2 connects to node 1 as node 0: it has its own key, and those of its own connections.
  const std::string key = GENERATE(key_between(2, 1), key_between(2, 0), key_between(1, 2),
                                   key_between(0, 2), key_between(1, 0), engine_key_of(kJobKey, 2));
  Talk talk(identity(0), identity(1), key);
  talk.run();
  CHECK(talk.accepts.state() == State::failed);
  CHECK(talk.accepts.why() == "it does not know the connection's key");
  CHECK(talk.connects.state() == State::failed);
}

TEST_CASE("a number beyond the job's nodes, and another version, are refused") {
  SECTION("number") {
    Talk talk({"job", engine_key_of(kJobKey, 9), 9, 10, 1, false}, identity(1), key_between(9, 1));
    talk.run();
    CHECK(talk.accepts.why() == "it is another node than it should be, or of another job");
  }
  for (const auto& [name, why] :
       {std::pair{"scela-hca 1 0 0 1", "it speaks version 1, this engine 5"},
        std::pair{"scela-hca", "it is no engine"},
        std::pair{"scela-nla 5 0 0 1", "it is no engine"},
        std::pair{"scela-hca 5 0 1", "it is no engine"},
        std::pair{"scela-hca 5 0 0 x", "it is no engine"}}) {
    Identity right = identity(1);
    Greeting accepts = Greeting::accepting(right);
    TlsSession client = TlsSession::client({name, key_between(0, 1)});
    accepts.take(client.output());
    CHECK(accepts.state() == State::failed);
    CHECK(accepts.why() == why);
  }
}

TEST_CASE("a greeting may arrive byte by byte") {
  Talk talk;
  for (bool more = true; more;) {
    more = false;
    for (auto [from, to] :
         {std::pair{&talk.connects, &talk.accepts}, std::pair{&talk.accepts, &talk.connects}}) {
      const std::string bytes = take_output(*from);
      more = more || !bytes.empty();
      for (const char& byte : bytes)
        take(*to, {&byte, 1});
    }
    talk.accepts.decide(Greeting::Verdict::stale, 1);
  }
  CHECK(talk.connects.state() == State::over);
  CHECK(talk.connects.verdict() == Greeting::Verdict::stale);
}

TEST_CASE("an engine that knows the key and says nonsense is refused") {
  Identity right = identity(1);
  Greeting accepts = Greeting::accepting(right);
  TlsSession client = TlsSession::client({"scela-hca 5 601dcf82ad81b297 0 1", key_between(0, 1)});
  accepts.take(client.output());
  client.receive(accepts.output());
  accepts.sent(accepts.output().size());
  REQUIRE(client.state() == TlsSession::State::open);
  std::string hello(16, '\xff');
  SECTION("an unknown wish") {
    const auto piece = std::as_bytes(std::span(hello));
    REQUIRE(client.write({&piece, 1}));
  }
  SECTION("a farewell") {
    client.close();
  }
  accepts.take(client.output());
  CHECK(accepts.state() == State::failed);
}

TEST_CASE("noise is no greeting") {
  Random random(GENERATE(range(1, 200)));
  Talk talk;
  Greeting& whom = random.chance(1, 2) ? talk.connects : talk.accepts;
  for (int i = 0; i < 2000 && whom.state() == State::going_on; ++i) {
    std::string bytes(random.between(1, 40), '\0');
    for (char& byte : bytes)
      byte = static_cast<char>(random.next());
    take(whom, bytes);
  }
  CHECK(whom.state() == State::failed);
}

TEST_CASE("of several connections between two nodes the same one stays on both sides") {
  OtherNode other;
  const Hello hello{1, 5, 3, false, 2, 77};
  CHECK(other.verdict(3, hello) == Greeting::Verdict::welcome);
  other.trying = 9;
  CHECK(other.verdict(3, hello) == Greeting::Verdict::crossing);  // the lower node's own stays
  CHECK(other.verdict(6, hello) == Greeting::Verdict::welcome);
  other.trying = 0;
  other.note_established(77, 2);
  CHECK(other.verdict(3, hello) == Greeting::Verdict::stale);
  other.note_established(77, 1);
  CHECK(other.verdict(3, hello) == Greeting::Verdict::welcome);
  other.note_established(78, 9);  // another engine took its place
  CHECK(other.verdict(3, hello) == Greeting::Verdict::welcome);
}

}  // namespace greeting_test
