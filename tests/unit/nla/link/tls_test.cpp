#include <netinet/in.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <optional>

#include "common/os/asio.h"
#include "common/os/syscall.h"
#include "nla/link/factory.h"

namespace tls_test {

using namespace scela;
using namespace scela::nla;
using std::chrono::milliseconds;

namespace {

using Outcome = std::optional<tl::expected<std::unique_ptr<Transport>, std::string>>;

constexpr milliseconds kLong{60'000};

SharedKey key_for(std::uint32_t child, char job_key = 'k') {
  return derive_link_key(std::string(32, job_key), {"job-1", kRootNode, child});
}

Address loopback(std::uint16_t port = 0) {
  return parse_address("127.0.0.1", port).value();
}

struct Bench {
  void listen(milliseconds limit = kLong, SharedKey key = key_for(1)) {
    Address address = loopback();
    Fd listening = listen_at(address, kMaxUnproven).value();
    port = address.port();
    server = accept_tls(io, std::move(listening), std::move(key), limit,
                        [this](auto result) { accepted.emplace(std::move(result)); });
  }
  void connect(std::uint16_t there, SharedKey key = key_for(1), milliseconds limit = kLong) {
    client = connect_tls(io, loopback(), there, std::move(key), limit,
                         [this](auto result) { connected.emplace(std::move(result)); });
  }
  template <class Condition>
  void until(Condition done) {
    io.restart();
    while (!done())
      REQUIRE(io.run_one() > 0);
  }
  // Does what can be done at once.
  void turn() {
    io.restart();
    while (io.poll() > 0) {
    }
  }
  // Does what does not wait for a timer.
  void settle() {
    io.restart();
    for (int i = 0; i < 50; ++i) {
      while (io.poll() > 0) {
      }
      ::poll(nullptr, 0, 1);
    }
  }

  boost::asio::io_context io{1};
  Outcome accepted, connected;
  std::unique_ptr<TlsAttempt> server, client;
  std::uint16_t port = 0;  // of listen()
};

// Connects a plain socket, as a peer without the library does.
Fd raw(std::uint16_t port) {
  Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const Address address = loopback(port);
  REQUIRE(::connect(fd.get(), address.get(), address.size) == 0);
  return fd;
}
void say(const Fd& fd, std::string_view bytes) {
  REQUIRE(::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(bytes.size()));
}
std::string hear(const Fd& fd) {
  char bytes[4096];
  const ssize_t got = ::recv(fd.get(), bytes, sizeof bytes, MSG_DONTWAIT);
  return got <= 0 ? std::string() : std::string(bytes, static_cast<std::size_t>(got));
}
bool ended(const Fd& fd) {
  char bytes[4096];
  ssize_t got;
  while ((got = ::recv(fd.get(), bytes, sizeof bytes, MSG_DONTWAIT)) > 0) {
  }
  return got == 0 || errno == ECONNRESET;
}

// A listening socket that the test plays itself.
struct Trap {
  Trap() : fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    Address address = loopback();
    REQUIRE(::bind(fd.get(), address.get(), address.size) == 0);
    REQUIRE(::listen(fd.get(), 4) == 0);
    ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address.storage), &address.size);
    port = address.port();
  }
  Fd accept() { return Fd(::accept4(fd.get(), nullptr, nullptr, SOCK_CLOEXEC)); }
  Fd fd;
  std::uint16_t port = 0;
};

// Returns the first flight of a parent that knows the key.
std::string client_hello(Bench& bench, SharedKey key = key_for(1)) {
  Trap trap;
  bench.connect(trap.port, std::move(key));
  const Fd peer = trap.accept();
  bench.settle();
  std::string hello = hear(peer);
  bench.client.reset();
  REQUIRE(hello.size() > 100);
  return hello;
}

ssize_t write_all(Transport& to, std::string_view bytes) {
  const iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  return to.write(&part, 1);
}

}  // namespace

TEST_CASE("each link has a key of its own, the same at both ends") {
  const SharedKey one = key_for(1);
  CHECK(one.secret.size() == 32);
  CHECK(one.secret == key_for(1).secret);
  CHECK(one.secret != key_for(2).secret);
  CHECK(one.secret != key_for(1, 'j').secret);
  const std::string job(32, 'k');
  CHECK(one.secret != derive_link_key(job, {"job-2", kRootNode, 1}).secret);
  CHECK(one.secret != derive_link_key(job, {"job-1", 1, kRootNode}).secret);
}

TEST_CASE("a parent and a child with the same key have a stream that carries all bytes") {
  Bench bench;
  bench.listen();
  bench.connect(bench.port);
  bench.until([&] { return bench.accepted && bench.connected; });
  INFO((*bench.accepted ? std::string() : bench.accepted->error()));
  INFO((*bench.connected ? std::string() : bench.connected->error()));
  REQUIRE(*bench.accepted);
  REQUIRE(*bench.connected);
  Transport& down = ***bench.connected;
  Transport& up = ***bench.accepted;

  // The text is longer than the sockets hold, so that writes are cut anywhere.
  std::string sent;
  for (int i = 0; i < 20'000'000; i += 4)
    sent.append(reinterpret_cast<const char*>(&i), sizeof i);
  std::string got;
  std::size_t at = 0;
  std::vector<char> bytes(100'000);
  while (got.size() < sent.size()) {
    // Each write has two parts, as a link has a head and a tail.
    const std::size_t head = std::min<std::size_t>(13, sent.size() - at);
    const iovec parts[2] = {{sent.data() + at, head},
                            {sent.data() + at + head, sent.size() - at - head}};
    const ssize_t wrote = up.write(parts, 2);
    if (wrote > 0) at += static_cast<std::size_t>(wrote);
    if (wrote < 0) CHECK(errno == EAGAIN);
    const ssize_t read = down.read(bytes.data(), bytes.size());
    if (read > 0) got.append(bytes.data(), static_cast<std::size_t>(read));
    REQUIRE(read != 0);
  }
  CHECK(got == sent);
  CHECK(write_all(down, "hello") == 5);
  bool readable = false;
  up.wait_readable([&] { readable = true; });
  bench.until([&] { return readable; });
  REQUIRE(up.read(bytes.data(), bytes.size()) == 5);
  CHECK(std::string(bytes.data(), 5) == "hello");

  down.end_writing();
  readable = false;
  up.wait_readable([&] { readable = true; });
  bench.until([&] { return readable; });
  CHECK(up.read(bytes.data(), bytes.size()) == 0);
  // The other direction goes on.
  CHECK(write_all(up, "last words") == 10);
  bench.settle();
  CHECK(down.read(bytes.data(), bytes.size()) == 10);
  // A peer that is gone without a farewell is at its end too.
  up.close();
  bench.settle();
  CHECK(down.read(bytes.data(), bytes.size()) == 0);
}

TEST_CASE("text that a reader has no room for waits, and is told of without further bytes") {
  Bench bench;
  bench.listen();
  bench.connect(bench.port);
  bench.until([&] { return bench.accepted && bench.connected; });
  REQUIRE(*bench.accepted);
  REQUIRE(*bench.connected);
  Transport& down = ***bench.connected;
  Transport& up = ***bench.accepted;
  std::string sent;
  for (int i = 0; i < 100'000; i += 4)
    sent.append(reinterpret_cast<const char*>(&i), sizeof i);
  // The sockets hold all of it.
  for (std::size_t at = 0; at < sent.size();) {
    const ssize_t wrote = write_all(up, sent.substr(at));
    REQUIRE(wrote > 0);
    at += static_cast<std::size_t>(wrote);
  }
  std::string got;
  std::vector<char> bytes(70'000);
  for (const std::size_t room : {1, 16'384, 3, 20'000, 16'385, 65'536}) {
    bool readable = false;
    down.wait_readable([&] { readable = true; });
    bench.until([&] { return readable; });
    const ssize_t read = down.read(bytes.data(), room);
    REQUIRE(read > 0);
    CHECK(static_cast<std::size_t>(read) == std::min(room, sent.size() - got.size()));
    got.append(bytes.data(), static_cast<std::size_t>(read));
  }
  CHECK(got == sent);
}

TEST_CASE("the port is closed once a peer has proved the key") {
  Bench bench;
  bench.listen();
  const std::uint16_t port = bench.port;
  bench.connect(port);
  bench.until([&] { return bench.accepted.has_value(); });
  const Fd late(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const Address address = loopback(port);
  CHECK(::connect(late.get(), address.get(), address.size) != 0);
  CHECK(errno == ECONNREFUSED);
}

TEST_CASE("a peer with another key, or that of another link, is not let in") {
  for (const SharedKey& key :
       {key_for(1, 'x'), key_for(2), SharedKey{key_for(1).identity, key_for(2).secret},
        SharedKey{key_for(2).identity, key_for(1).secret}}) {
    Bench bench;
    bench.listen();
    bench.connect(bench.port, key);
    bench.until([&] { return bench.connected.has_value(); });
    CHECK_FALSE(*bench.connected);
    CHECK(bench.connected->error().find("prove") != std::string::npos);
    CHECK_FALSE(bench.accepted);
    // A parent with the right key is still accepted.
    bench.connected.reset();
    bench.connect(bench.port);
    bench.until([&] { return bench.accepted && bench.connected; });
    CHECK(*bench.accepted);
  }
}

TEST_CASE("a parent's message proves nothing if it is sent back") {
  Bench bench;
  Trap trap;
  bench.connect(trap.port);
  const Fd peer = trap.accept();
  bench.settle();
  say(peer, hear(peer));
  bench.until([&] { return bench.connected.has_value(); });
  CHECK_FALSE(*bench.connected);
}

TEST_CASE("a parent's message proves nothing if it is repeated") {
  Bench bench;
  const std::string hello = client_hello(bench);
  bench.connected.reset();
  bench.listen();
  const Fd thief = raw(bench.port);
  say(thief, hello);
  bench.settle();
  // The child answers, but only the maker of the first words can go on.
  CHECK(hear(thief).size() > 50);
  say(thief, std::string("\x14\x03\x03\x00\x01\x01", 6));
  say(thief, std::string("\x17\x03\x03\x00\x35", 5) + std::string(0x35, '\0'));
  bench.settle();
  CHECK_FALSE(bench.accepted);
  CHECK(ended(thief));
}

TEST_CASE("nonsense, cut and oversized handshakes are dropped and delay no other peer") {
  Bench bench;
  const std::string hello = client_hello(bench);
  bench.connected.reset();
  bench.listen();
  std::string cut = hello.substr(0, hello.size() / 2);
  std::string long_record("\x16\x03\x01\xff\xff\x01\x00\xff\xfb", 9);
  long_record += std::string(60'000, 'A');
  std::string long_message("\x16\x03\x01\x40\x00\x01\xff\xff\xff", 9);
  long_message += std::string(0x4000 - 4, 'A');
  std::string flipped = hello;
  flipped.back() = static_cast<char>(flipped.back() ^ 1);  // in the proof of the key
  for (const std::string& bytes :
       {cut, long_record, long_message, flipped, std::string("SSH-2.0-x\r\n"),
        std::string("GET / HTTP/1.0\r\n\r\n"), std::string(100, '\0')}) {
    Fd peer = raw(bench.port);
    bench.settle();
    static_cast<void>(::send(peer.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
    bench.settle();
    if (bytes == cut) ::shutdown(peer.get(), SHUT_WR);
    bench.settle();
    CHECK_FALSE(bench.accepted);
    INFO(bytes.substr(0, 8));
    CHECK(ended(peer));
  }
  bench.connect(bench.port);
  bench.until([&] { return bench.accepted && bench.connected; });
  CHECK(*bench.accepted);
}

TEST_CASE("a peer of an older TLS or without the key's cipher is not let in") {
  Bench bench;
  bench.listen();
  const std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context(::SSL_CTX_new(::TLS_client_method()),
                                                             ::SSL_CTX_free);
  SSL_CTX_set_max_proto_version(context.get(), TLS1_2_VERSION);
  const std::unique_ptr<SSL, void (*)(SSL*)> ssl(::SSL_new(context.get()), ::SSL_free);
  const Fd peer = raw(bench.port);
  set_nonblocking(peer.get());
  ::SSL_set_fd(ssl.get(), peer.get());
  ::SSL_connect(ssl.get());
  bench.settle();
  CHECK(::SSL_connect(ssl.get()) != 1);
  CHECK_FALSE(bench.accepted);
}

TEST_CASE("silent strangers are closed, the oldest first, when others come") {
  Bench bench;
  bench.listen(std::chrono::hours(1));  // no stranger's time is over in this test
  std::vector<Fd> slow;
  for (int i = 0; i < 3 * kMaxUnproven; ++i) {
    slow.push_back(raw(bench.port));
    say(slow.back(), std::string("\x16\x03\x01\x02\x00\x01", 6));
    bench.turn();
  }
  bench.settle();
  CHECK(std::ranges::count_if(slow, [](const Fd& one) { return !ended(one); }) == kMaxUnproven);
  CHECK(ended(slow.front()));
  bench.connect(bench.port);
  // The strangers go on, a byte at a time.
  bench.until([&] {
    for (const Fd& one : slow)
      static_cast<void>(::send(one.get(), "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT));
    return bench.accepted.has_value();
  });
  CHECK(*bench.accepted);
}

TEST_CASE(
    "a stranger that is closed for another one is closed once, whatever it has said meanwhile") {
  Bench bench;
  bench.listen(std::chrono::hours(1));
  std::deque<Fd> strangers;
  const auto come = [&] { strangers.push_back(raw(bench.port)); };
  const auto fill = [&] {
    while (strangers.size() < kMaxUnproven) {
      come();
      bench.turn();
    }
  };
  // In one turn: one more comes, for which the oldest is closed, and the next one and then the
  // oldest say nonsense.
  for (int i = 0; i < kMaxUnproven; ++i) {
    fill();
    come();
    say(strangers[1], "nonsense that is no handshake");
    say(strangers[0], "nonsense that is no handshake");
    bench.turn();
    strangers.erase(strangers.begin(), strangers.begin() + 2);
  }
  for (int i = 0; i < kMaxUnproven; ++i)
    come();
  bench.settle();
  CHECK(std::ranges::count_if(strangers, [](const Fd& one) { return !ended(one); }) <=
        kMaxUnproven);
  bench.connect(bench.port);
  bench.until([&] { return bench.accepted.has_value(); });
  CHECK(*bench.accepted);
}

TEST_CASE("an attempt that is given up while it waits for a peer is touched no more") {
  Bench bench;
  Trap trap;
  bench.listen();
  bench.connect(trap.port);
  bench.turn();
  bench.server.reset();
  bench.client.reset();
  bench.turn();  // under the address sanitizer this would find what still uses them
  CHECK_FALSE(bench.accepted.has_value());
  CHECK_FALSE(bench.connected.has_value());
}

TEST_CASE("neither end waits for ever for a peer or for its messages") {
  Bench bench;
  bench.listen(milliseconds(20));
  bench.until([&] { return bench.accepted.has_value(); });
  CHECK_FALSE(*bench.accepted);
  Trap silent;
  bench.connect(silent.port, key_for(1), milliseconds(20));
  bench.until([&] { return bench.connected.has_value(); });
  CHECK(bench.connected->error() == "no answer within 20 ms");
  bench.connected.reset();
  const std::uint16_t closed = silent.port;
  silent.fd.reset();
  bench.connect(closed);
  bench.until([&] { return bench.connected.has_value(); });
  CHECK(bench.connected->error().find("refused") != std::string::npos);
}

TEST_CASE("addresses are parsed as they are written") {
  CHECK(loopback(22).port() == 22);
  CHECK(parse_address("::1", 7).value().port() == 7);
  CHECK(parse_address("fe80::1%lo", 7));
  for (const char* text : {"127.0.0.1", "::1", "fd00::2", "fe80::1%lo"})
    CHECK(parse_address(text, 7).value().text() == text);
  CHECK(Address().text().empty());
  CHECK_FALSE(parse_address("localhost", 1));
  CHECK_FALSE(parse_address("", 1));
  const auto ssh = parse_ssh_connection("10.0.0.1 51000 fd00::2 22");
  REQUIRE(ssh);
  CHECK(ssh->client == "10.0.0.1");
  CHECK(ssh->client_port == 51000);
  CHECK(ssh->server == "fd00::2");
  CHECK(ssh->server_port == 22);
  for (const char* text :
       {"", "10.0.0.1", "10.0.0.1 51000 10.0.0.2", "host 51000 10.0.0.2 22",
        "10.0.0.1 x 10.0.0.2 22", "10.0.0.1 51000 10.0.0.2 x", "10.0.0.1 51000 10.0.0.2 22 5"}) {
    CHECK_FALSE(parse_ssh_connection(text));
  }
}

}  // namespace tls_test
