#include "nla/core/wire/contact.h"

#include <catch2/catch.hpp>

namespace contact_test {

using namespace scela;
using namespace scela::nla;

namespace {
const std::string kDigest(64, 'a');
}

TEST_CASE("a contact survives its line") {
  Contact full;
  full.name = "node7";
  full.address = "fe80::1%eth0";
  full.port = 2222;
  full.user = "me";
  full.keys = {{"ssh-ed25519", kDigest}, {"ssh-rsa", std::string(64, '0')}};
  full.root_only = true;
  CHECK(parse_contact(format(full)) == full);
  CHECK(contact_name(format(full)) == "node7");

  Contact any;
  any.name = any.address = "10.0.0.1";
  any.user = "root";
  any.any_key = true;
  CHECK(format(any) == "10.0.0.1 10.0.0.1 22 root *");
  CHECK(parse_contact(format(any)) == any);

  Contact more = any;  // StrictHostKeyChecking no
  more.keys = full.keys;
  CHECK(format(more).ends_with(",*"));
  CHECK(parse_contact(format(more)) == more);

  Contact waits = any;
  waits.waits = true;
  CHECK(format(waits) == "10.0.0.1 10.0.0.1 22 root * waits");
  CHECK(parse_contact(format(waits)) == waits);

  Contact here;
  here.name = "sim0";
  CHECK(format(here) == "sim0");
  CHECK(parse_contact("sim0") == here);
  here.root_only = true;  // "here" is the root's machine then, not any parent's
  CHECK(parse_contact(format(here)) == here);
  CHECK(contact_name(format(here)) == "sim0");
}

TEST_CASE("a contact without an accepted key does not become one that accepts any") {
  Contact none;
  none.name = "a";
  none.address = "::1";
  none.user = "me";
  const auto back = parse_contact(format(none));
  REQUIRE(back);
  CHECK_FALSE(back->any_key);
  CHECK(back->keys.empty());
}

TEST_CASE("a malformed contact is refused") {
  for (const std::string& line :
       {std::string(), std::string(" 1.2.3.4 22 me *"), std::string("a 1.2.3.4"),
        std::string("a 1.2.3.4 22 me"), std::string("a 1.2.3.4 0 me *"),
        std::string("a 1.2.3.4 65536 me *"), std::string("a 1.2.3.4 x me *"),
        std::string("a 1.2.3.4 22  *"), std::string("a 1.2.3.4 22 me ssh-rsa:abc"),
        "a 1.2.3.4 22 me :" + kDigest, "a 1.2.3.4 22 me ssh-rsa:" + std::string(64, 'g')}) {
    CAPTURE(line);
    CHECK_FALSE(parse_contact(line));
  }
}

}  // namespace contact_test
