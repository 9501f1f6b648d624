// TLS under a pre-shared key, with the two ends in one process and the test between them.
#include "common/crypto/tls_session.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "common/core/random.h"

namespace tls_session_test {

using namespace scela;
using State = TlsSession::State;

namespace {

SharedKey key(char secret = 'k', std::string identity = "one") {
  return {std::move(identity), std::string(32, secret)};
}

TlsSession::Lookup knows(const SharedKey& known) {
  return [known](std::string_view name) {
    return name == known.identity ? known.secret : std::string();
  };
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::string take_output(TlsSession& session) {
  const auto out = session.output();
  std::string taken(reinterpret_cast<const char*>(out.data()), out.size());
  session.sent(taken.size());
  return taken;
}

std::string read(TlsSession& session, std::size_t most = 1 << 20,
                 std::span<const std::byte> sealed = {}) {
  std::string text(most, '\0');
  text.resize(session.read(std::as_writable_bytes(std::span(text)), sealed));
  return text;
}

bool write(TlsSession& session, std::string_view text) {
  const auto piece = bytes_of(text);
  return session.write({&piece, 1});
}

struct Pair {
  explicit Pair(SharedKey mine = key(), const SharedKey& known = key())
      : client(TlsSession::client(std::move(mine))), server(TlsSession::server(knows(known))) {}

  // Carries what both say, the byte of this number changed, until nothing more is said.
  void run(std::size_t change = ~std::size_t{0}) {
    for (bool more = true; more;) {
      more = false;
      for (auto [from, to] : {std::pair{&client, &server}, std::pair{&server, &client}}) {
        std::string bytes = take_output(*from);
        more = more || !bytes.empty();
        for (char& byte : bytes)
          if (carried++ == change) byte = static_cast<char>(byte ^ 0x10);
        to->receive(bytes_of(bytes));
      }
    }
  }
  bool is_open() const { return client.state() == State::open && server.state() == State::open; }

  TlsSession client, server;
  std::size_t carried = 0;
};

}  // namespace

TEST_CASE("two ends with one key receive all that the other sends, in either direction") {
  Pair pair;
  pair.run();
  REQUIRE(pair.is_open());
  Random random(7);
  for (const std::size_t size : {1ul, 20ul, 16383ul, 16384ul, 16385ul, 300000ul}) {
    std::string text(size, '\0');
    for (char& byte : text)
      byte = static_cast<char>(random.next());
    for (auto [from, to] :
         {std::pair{&pair.client, &pair.server}, std::pair{&pair.server, &pair.client}}) {
      // In pieces that are cut anywhere.
      const std::size_t cut = random.between(0, size);
      const std::span<const std::byte> pieces[] = {
          bytes_of(text).first(cut), {}, bytes_of(text).subspan(cut)};
      REQUIRE(from->write(pieces));
      const std::string sealed = take_output(*from);
      CHECK(sealed.size() > size);
      if (size > 16) CHECK(sealed.find(text.substr(0, 16)) == std::string::npos);
      std::string heard;
      for (std::size_t at = 0; at < sealed.size();) {
        const std::size_t part = random.between(1, 40000);
        std::span<const std::byte> next = bytes_of(std::string_view(sealed).substr(at, part));
        at += part;
        if (random.chance(1, 2)) to->receive(std::exchange(next, {}));
        while (true) {
          const std::string some = read(*to, 5000, std::exchange(next, {}));
          heard += some;
          if (some.size() < 5000) break;
        }
      }
      CHECK(heard == text);
    }
  }
}

TEST_CASE("an end without the key, or with that of another name, is not let in") {
  const SharedKey mine = GENERATE(key('x'), key('k', "two"), key('x', "two"), key('k', ""));
  Pair pair(mine);
  pair.run();
  CHECK(pair.server.state() == State::failed);
  CHECK(pair.client.state() == State::failed);
  CHECK_FALSE(pair.server.why().empty());
  CHECK(read(pair.server).empty());
}

TEST_CASE("with any byte of a handshake changed, or of what follows it, nothing changed is heard") {
  Pair whole;
  whole.run();
  const std::size_t handshake = whole.carried;
  REQUIRE(handshake > 300);
  std::size_t harmless = 0;
  for (std::size_t change = 0; change < handshake; ++change) {
    CAPTURE(change);
    Pair pair;
    pair.run(change);
    harmless += pair.is_open() ? 1 : 0;
  }
  // A byte of each hello's record that has no meaning (RFC 8446, section 5.1).
  CHECK(harmless == 2);
  for (std::size_t change = 0; change < 50; ++change) {
    CAPTURE(change);
    Pair pair;
    pair.run();
    REQUIRE(write(pair.client, "before"));
    pair.run();
    REQUIRE(write(pair.client, "what is said"));
    REQUIRE(write(pair.client, "and afterwards"));
    std::string sealed = take_output(pair.client);
    if (change >= sealed.size()) break;
    sealed[change] = static_cast<char>(sealed[change] ^ 1);
    pair.server.receive(bytes_of(sealed));
    const std::string heard = read(pair.server);
    const bool is_first = change < 12 + 5 + 17;
    CHECK(heard == (is_first ? "before" : "beforewhat is said"));
    // A changed length may make it wait for more.
    pair.server.receive(bytes_of(std::string(1 << 15, 'x')));
    CHECK(read(pair.server).empty());
    CHECK(pair.server.state() == State::failed);
  }
}

TEST_CASE("records that are left out, repeated, exchanged or sent back are not heard") {
  Pair pair;
  pair.run();
  std::vector<std::string> records;
  for (const char* const text : {"one", "two", "three"}) {
    REQUIRE(write(pair.client, text));
    records.push_back(take_output(pair.client));
  }
  const auto [sent, expected] =
      GENERATE(std::pair{std::vector{0, 2}, "one"}, std::pair{std::vector{0, 0, 1}, "one"},
               std::pair{std::vector{1, 0}, ""}, std::pair{std::vector{0, 1, 2}, "onetwothree"});
  std::string all;
  for (const int which : sent)
    all += records[static_cast<std::size_t>(which)];
  pair.server.receive(bytes_of(all));
  CHECK(read(pair.server) == expected);
  CHECK((pair.server.state() == State::open) == (std::string(expected).size() == 11));
  SECTION("nor what an end has said itself") {
    pair.client.receive(bytes_of(records[0]));
    CHECK(read(pair.client).empty());
    CHECK(pair.client.state() == State::failed);
  }
}

TEST_CASE("the same words are never encrypted alike, not under the same key either") {
  std::vector<std::string> seen;
  for (int i = 0; i < 2; ++i) {
    Pair pair;
    pair.run();
    for (int j = 0; j < 2; ++j) {
      REQUIRE(write(pair.client, "the same words"));
      seen.push_back(take_output(pair.client));
    }
  }
  std::ranges::sort(seen);
  CHECK(std::ranges::adjacent_find(seen) == seen.end());
}

TEST_CASE("both ends go on to other keys after so many records, and lose nothing") {
  TlsSession client = TlsSession::client(key(), 3), server = TlsSession::server(knows(key()), 4);
  for (int i = 0; i < 2; ++i) {
    server.receive(bytes_of(take_output(client)));
    client.receive(bytes_of(take_output(server)));
  }
  REQUIRE(server.state() == State::open);
  std::string from_client, from_server, heard_by_client, heard_by_server;
  std::size_t longest = 0, shortest = ~std::size_t{0};
  for (int i = 0; i < 40; ++i) {
    // Those of one direction are on their way while the other's keys change.
    const std::string text(1, static_cast<char>('a' + i % 26));
    REQUIRE(write(client, text));
    REQUIRE(write(server, text));
    from_client += text;
    from_server += text;
    const std::string up = take_output(client), down = take_output(server);
    longest = std::max(longest, up.size());
    shortest = std::min(shortest, up.size());
    client.receive(bytes_of(down));
    server.receive(bytes_of(up));
    heard_by_client += read(client);
    heard_by_server += read(server);
  }
  CHECK(heard_by_server == from_client);
  CHECK(heard_by_client == from_server);
  CHECK(longest > shortest);  // a change of keys is a record
}

TEST_CASE("a repeated greeting of a client opens no other connection") {
  Pair first;
  const std::string hello = take_output(first.client);
  TlsSession server = TlsSession::server(knows(key()));
  server.receive(bytes_of(hello));
  first.server.receive(bytes_of(hello));
  first.client.receive(bytes_of(take_output(first.server)));
  REQUIRE(first.client.state() == State::open);
  server.receive(bytes_of(take_output(first.client)));
  CHECK(server.state() == State::failed);
}

TEST_CASE("an end that closes is received to its last byte, and can still be sent to") {
  Pair pair;
  pair.run();
  REQUIRE(write(pair.client, "last words"));
  pair.client.close();
  pair.run();
  CHECK(read(pair.server) == "last words");
  CHECK(pair.server.state() == State::closed);
  REQUIRE(write(pair.server, "an answer"));
  pair.run();
  CHECK(read(pair.client) == "an answer");
}

TEST_CASE("two ends may go on without TLS, from the byte behind the last record") {
  Pair pair;
  pair.run();
  REQUIRE(write(pair.server, "the last record"));
  pair.client.receive(bytes_of(take_output(pair.server) + "bare bytes"));
  CHECK(read(pair.client, 15) == "the last record");
  const auto rest = pair.client.rest();
  CHECK(std::string(reinterpret_cast<const char*>(rest.data()), rest.size()) == "bare bytes");
}

TEST_CASE("noise is no handshake") {
  Random random(GENERATE(range(1, 100)));
  Pair pair;
  TlsSession& session = random.chance(1, 2) ? pair.client : pair.server;
  for (int i = 0; i < 2000 && session.state() == State::handshake; ++i) {
    std::string bytes(random.between(1, 40), '\0');
    for (char& byte : bytes)
      byte = static_cast<char>(random.next());
    session.receive(bytes_of(bytes));
  }
  CHECK(session.state() == State::failed);
  session.receive(bytes_of("more"));
  CHECK(session.state() == State::failed);
}

}  // namespace tls_session_test
