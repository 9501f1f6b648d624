#include "pmi/protocol/singinit.h"

#include <catch2/catch.hpp>

namespace singinit_test {

using namespace scela;
using namespace scela::pmi;

namespace {

// Returns the text without its newline.
std::string line(std::string text) {
  REQUIRE(text.back() == '\n');
  text.pop_back();
  return text;
}

}  // namespace

TEST_CASE("singleton init: the messages of each side are those that the other expects") {
  CHECK(singinit::hello() == "cmd=singinit authtype=none\n");
  CHECK(singinit::read_hello(line(singinit::hello())));
  CHECK(singinit::read_hello_back(line(singinit::hello_back())));
  // MPICH's client answers this, and would hand over its standard streams.
  CHECK(singinit::read_hello_back(
      "cmd=singinit pmi_version=1 pmi_subversion=1 stdio=yes authtype=none"));
  CHECK(*singinit::read_info(line(singinit::info("job1"))) == "job1");
  CHECK(*singinit::read_info("cmd=singinit_info versionok=yes kvsname=kvs_4_0") == "kvs_4_0");
}

TEST_CASE("singleton init: other messages are refused") {
  for (const char* text :
       {"", "cmd=init pmi_version=1", "cmd=singinit authtype=shared", "=x", "\1"})
    CHECK_FALSE(singinit::read_hello(text));
  for (const char* text :
       {"cmd=singinit_info versionok=no stdio=no kvsname=k",
        "cmd=singinit_info versionok=yes stdio=yes kvsname=k",
        "cmd=singinit_info versionok=yes stdio=no",
        "cmd=singinit_info versionok=yes stdio=no kvsname=", "cmd=singinit authtype=none"}) {
    const auto read = singinit::read_info(text);
    REQUIRE_FALSE(read);
    CHECK(read.error().kind == ErrorKind::protocol);
  }
  CHECK_FALSE(
      singinit::read_info("cmd=singinit_info versionok=yes kvsname=" + std::string(256, 'k')));
}

}  // namespace singinit_test
