#include "common/core/network/network_choice.h"

#include <catch2/catch.hpp>

namespace network_choice_test {

using namespace scela;

namespace {

const std::vector<InterfaceAddress> kMachine = {{"lo", "127.0.0.1", 8, true},
                                                {"eth0", "10.99.0.3"},
                                                {"ib0", "10.1.0.3"},
                                                {"ib0", "fd00:1::3"},
                                                {"docker0", "172.17.0.1"}};

std::string chosen(std::string_view text) {
  return address_in(text, kMachine).value_or("none");
}

std::string refusal(std::string_view text) {
  const auto parsed = parse_network(text);
  REQUIRE_FALSE(parsed);
  return parsed.error().why;
}

}  // namespace

TEST_CASE("numeric addresses are read as inet_pton reads them") {
  using Bytes = std::array<std::uint8_t, 16>;
  CHECK(parse_numeric_address("10.1.2.255") == NumericAddress{Bytes{10, 1, 2, 255}, 4});
  CHECK(parse_numeric_address("::") == NumericAddress{Bytes{}, 16});
  CHECK(parse_numeric_address("fd00:1::A") ==
        NumericAddress{Bytes{0xfd, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10}, 16});
  CHECK(parse_numeric_address("::ffff:1.2.3.4") ==
        NumericAddress{Bytes{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 1, 2, 3, 4}, 16});
  CHECK(parse_numeric_address("1:2:3:4:5:6:7:8").has_value());
  for (const char* const bad : {"", "10.1.2", "10.1.2.3.4", "10.1.2.256", "10.1.2.0003", "10.1.2.x",
                                "10..2.3", "1:2", ":::", "1:2:3:4:5:6:7:8:9", "1::2::3",
                                "12345::", "1:2:3:4:5:6:7:", "::1%eth0", "1.2.3.4::"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_numeric_address(bad));
  }
}

TEST_CASE("a network is an interface or a prefix of addresses") {
  CHECK(chosen("ib0") == "10.1.0.3");
  CHECK(chosen("10.1.0.0/16") == "10.1.0.3");
  CHECK(chosen("10.1.0.3") == "10.1.0.3");
  CHECK(chosen("fd00:1::/64") == "fd00:1::3");
  CHECK(chosen("172.16.0.0/12") == "172.17.0.1");
  CHECK(chosen("0.0.0.0/0") == "10.99.0.3");  // the loopback is the last
  CHECK(chosen("lo") == "127.0.0.1");
  CHECK(chosen("10.1.0.0/31") == "none");
  CHECK(chosen("ib") == "none");
  CHECK(chosen("::/0") == "fd00:1::3");
}

TEST_CASE("of several networks the first one that the machine has decides") {
  CHECK(chosen("ib1,10.99.0.0/16,ib0") == "10.99.0.3");
  CHECK(chosen("ib0,eth0") == "10.1.0.3");
}

TEST_CASE("a machine outside of the network is told with its addresses") {
  const auto none = address_in("10.7.0.0/16", {{"eth0", "10.99.0.3"}, {"ib0", "10.1.0.3"}});
  REQUIRE_FALSE(none);
  CHECK(none.error().kind == ErrorKind::launch);
  CHECK(none.error().what == "use the network 10.7.0.0/16 (--network)");
  CHECK(none.error().why ==
        "the machine has no address there, but 10.99.0.3 (eth0), 10.1.0.3 (ib0)");
  CHECK(address_in("eth0", {}).error().why == "the machine has no address");
}

TEST_CASE("what is neither an interface nor a prefix is refused") {
  for (const char* const bad : {"", "eth0,", ",eth0", "eth0/24", "10.1/16", "a name",
                                "longer-than-15-bytes", "fe80::1%eth0"}) {
    CAPTURE(bad);
    CHECK(refusal(bad).find("neither an interface nor a prefix") != std::string::npos);
  }
  for (const char* const bad :
       {"10.1.0.0/33", "10.1.0.0/", "10.1.0.0/-1", "fd00::/129", "10.1.0.0/8x"})
    CHECK(refusal(bad).find("the length of the prefix") != std::string::npos);
}

TEST_CASE("an address that another machine tells must have the prefix") {
  CHECK(may_be_in("10.1.0.0/16", "10.1.7.7", {}));
  CHECK_FALSE(may_be_in("10.1.0.0/16", "10.2.7.7", {}));
  CHECK_FALSE(may_be_in("10.1.0.0/16", "fd00::1", {}));
  CHECK_FALSE(may_be_in("10.1.0.0/16", "text", {}));
}

TEST_CASE("a prefix means the loopback of another machine only where it means it here") {
  const std::vector<InterfaceAddress> own = {
      {"lo", "127.0.0.1", 8, true}, {"lo", "::1", 128, true}, {"eth0", "10.99.0.3", 24}};
  for (const char* const address : {"127.0.0.1", "127.9.9.9", "0.0.0.0"}) {
    CAPTURE(address);
    CHECK_FALSE(may_be_in("0.0.0.0/0", address, own));
    CHECK_FALSE(may_be_in("0.0.0.0/0", address, {}));
    CHECK(may_be_in("0.0.0.0/0", address, {own.front()}));
  }
  CHECK(may_be_in("0.0.0.0/0", "192.0.2.9", own));
  CHECK(may_be_in("127.0.0.0/8", "127.0.0.1", own));
  CHECK(may_be_in("::1", "::1", own));
  for (const char* const address : {"::1", "::", "::ffff:127.0.0.1", "::ffff:0.0.0.0"}) {
    CAPTURE(address);
    CHECK_FALSE(may_be_in("::/0", address, {own[1], {"eth0", "fd00:1::3", 64}}));
  }
}

TEST_CASE("an address that another machine tells must be in the subnet of the interface") {
  const std::vector<InterfaceAddress> own = {{"lo", "127.0.0.1", 8, true},
                                             {"eth0", "10.99.0.3", 24},
                                             {"ib0", "10.1.0.3", 16},
                                             {"ib0", "fd00:1::3", 64},
                                             {"tun0", "10.5.0.1"}};
  for (const char* const name : {"ib0", "lo", "eth0", "ib1", "tun0", "ib0,lo,eth0"}) {
    CAPTURE(name);
    CHECK_FALSE(may_be_in(name, "192.0.2.9", own));
  }
  CHECK(may_be_in("ib0", "10.1.7.7", own));
  CHECK(may_be_in("ib0", "fd00:1::7", own));
  CHECK(may_be_in("10.2.0.0/16,ib0", "10.1.7.7", own));
  CHECK_FALSE(may_be_in("eth0", "10.1.7.7", own));
  CHECK_FALSE(may_be_in("ib0", "fd00:2::7", own));
  CHECK_FALSE(may_be_in("ib0", "text", own));
  // Services of this machine listen there.
  CHECK_FALSE(may_be_in("lo", "127.0.0.1", own));
}

TEST_CASE("another machine is asked for networks that this machine can judge only") {
  const std::vector<InterfaceAddress> own = {{"lo", "127.0.0.1", 8, true},
                                             {"eth0", "10.99.0.3", 24}};
  CHECK(judged_part("ib0", own).empty());
  CHECK(judged_part("lo", own).empty());
  CHECK(judged_part("eth0", own) == "eth0");
  CHECK(judged_part("eth0,10.1.0.0/16", own) == "eth0,10.1.0.0/16");
  // A machine that has neither uses the address by which it was reached.
  CHECK(judged_part("ib0,10.1.0.0/16,lo,eth0", own) == "10.1.0.0/16,eth0,");
  CHECK(judged_part("10.1.0.0/16", {}) == "10.1.0.0/16");
  CHECK(judged_part("", own).empty());
}

}  // namespace network_choice_test
