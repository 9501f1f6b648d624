#include "nla/dial/dial_hello.h"

#include <catch2/catch.hpp>

#include "common/core/text.h"
#include "nla/dial/dial_in.h"

namespace dial_hello_test {

using namespace scela;
using namespace scela::nla;

namespace {

const DialHello kHello{"f1ba", "node001", "fd00::1", 4711};

std::string line_of(const DialHello& hello, const std::string& secret) {
  std::string line = format(hello, secret);
  REQUIRE(line.ends_with('\n'));
  line.pop_back();
  return line;
}

}  // namespace

TEST_CASE("dial hello: an agent's greeting is read by the owner of its secret, and by no other") {
  const std::string secret = new_dial_secret();
  CHECK(secret.size() == kDialSecretDigits);
  CHECK(secret != new_dial_secret());
  const std::string line = line_of(kHello, secret);
  CHECK(line.find(secret) == std::string::npos);
  CHECK(parse_dial_hello(line, secret) == kHello);
  CHECK_FALSE(parse_dial_hello(line, new_dial_secret()));
}

TEST_CASE("dial hello: a changed or damaged line is refused") {
  const std::string secret = new_dial_secret();
  const std::string line = line_of(kHello, secret);
  for (std::size_t at = 0; at < line.size(); ++at) {
    std::string changed = line;
    changed[at] = changed[at] == 'x' ? 'y' : 'x';
    CHECK_FALSE(parse_dial_hello(changed, secret));
    CHECK_FALSE(parse_dial_hello(line.substr(0, at), secret));
  }
  for (const DialHello& bad : {DialHello{"b", "n", "a", 0}, DialHello{"b", "", "a", 1},
                               DialHello{"b", "two words", "a", 1}, DialHello{"", "n", "a", 1},
                               DialHello{"b", std::string(kMaxDialHello, 'n'), "a", 1}})
    CHECK_FALSE(parse_dial_hello(line_of(bad, secret), secret));
}

TEST_CASE("dial hello: each node's link has a key of its own") {
  const std::string secret = new_dial_secret();
  const SharedKey one = dial_link_key(secret, "n1"), two = dial_link_key(secret, "n2");
  CHECK(one.identity != two.identity);
  CHECK(one.secret != two.secret);
  CHECK(one.secret == dial_link_key(secret, "n1").secret);
  CHECK(one.secret != dial_link_key(new_dial_secret(), "n1").secret);
}

TEST_CASE("dialing in: addresses that are none are refused before the secret is read") {
  for (const char* bad :
       {"10.0.0.1", "10.0.0.1:0", "10.0.0.1:70000", "host:1", "10.0.0.1:1,x", "[::1]", ":5"}) {
    const auto made = dial_in(bad, {});
    REQUIRE_FALSE(made);
    CHECK(made.error().kind == ErrorKind::usage);
    CHECK(made.error().text().find("is no address with a port") != std::string::npos);
  }
  CHECK(addresses_to_dial(17).find(":17") != std::string::npos);
}

TEST_CASE("dialing in: no node dials an address of a loopback interface if there is another") {
  const InterfaceAddress loopback{"lo", "127.0.0.1", 8, true};
  const InterfaceAddress anycast{"lo", "192.0.2.9", 32, true};
  CHECK(addresses_to_dial(17, {anycast, loopback, {"eth0", "10.1.0.3", 16}, {"eth0", "fd00::3"}}) ==
        "10.1.0.3:17,[fd00::3]:17");
  CHECK(addresses_to_dial(17, {loopback, {"eth0", "127.9.9.9", 8}}) == "127.9.9.9:17");
  CHECK(addresses_to_dial(17, {loopback, anycast}) == "127.0.0.1:17,192.0.2.9:17");
  CHECK(addresses_to_dial(17, std::vector<InterfaceAddress>()).empty());
}

TEST_CASE("the loopback interface of this machine is known by its flag, with its subnet") {
  for (const InterfaceAddress& one : interface_addresses()) {
    CAPTURE(one.interface, one.address);
    CHECK(one.bits > 0);
    CHECK(one.is_loopback == (one.interface == "lo"));
    if (one.address == "127.0.0.1") CHECK(one.bits == 8);
    if (one.address == "::1") CHECK(one.bits == 128);
  }
}

}  // namespace dial_hello_test
