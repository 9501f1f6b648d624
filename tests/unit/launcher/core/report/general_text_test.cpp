#include "launcher/core/report/general_text.h"

#include <catch2/catch.hpp>

namespace general_text_test {

using namespace scela;

TEST_CASE("texts of hosts with one cause are the same without names and addresses") {
  CHECK(general_text("no key of un001 is known", "un001") == "no key of HOST is known");
  CHECK(general_text("10.97.0.7 port 22 does not answer within 4000 ms", "n7") ==
        "ADDRESS port 22 does not answer within 4000 ms");
  CHECK(general_text("connect to fe80::1: refused", "n7") == "connect to ADDRESS: refused");
  CHECK(general_text("no key of [10.0.0.1]:2222 is known", "root@n1:2222") ==
        "no key of [ADDRESS]:2222 is known");
  CHECK(general_text("run 'ssh root@n1' or 'ssh-keygen -R n1'", "root@n1") ==
        "run 'ssh HOST' or 'ssh-keygen -R HOST'");
  CHECK(general_text("the key that n1 shows, SHA256:ab+c/d, is not the known one", "n1") ==
        "the key that HOST shows, SHA256:..., is not the known one");
}

TEST_CASE("a longer name, a version and a time are not the host's own") {
  CHECK(general_text("n10 and n1.example and xn1 differ from n1.", "n1") ==
        "n10 and n1.example and xn1 differ from HOST.");
  CHECK(general_text("version 1.2.3 at 12:34:56", "n1") == "version 1.2.3 at 12:34:56");
  CHECK(general_text("", "n1").empty());
  CHECK(general_text("text", "").find("text") == 0);
}

}  // namespace general_text_test
