// Tests that memory that has held a key is wiped before it is given back. A reader of the memory
// that a process leaves behind must find no key.
#include <sys/socket.h>

#include <catch2/catch.hpp>

#include "common/core/text.h"
#include "common/crypto/engine_keys.h"
#include "common/os/syscall.h"
#include "hca/engine/net/fabric.h"
#include "hca/engine/net/peer_greeting.h"
#include "tests/support/memory/given_back.h"
#include "tests/unit/hca/engine/net/fabric_node.h"

using namespace scela;
using namespace scela::hca;
using namespace scela::hca::testing;
using scela::testing::Watch;

namespace {

constexpr const char* kHex = "00112233445566778899aabbccddeeff0123456789abcdeffedcba9876543210";
constexpr const char* kKey =
    "\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff"
    "\x01\x23\x45\x67\x89\xab\xcd\xef\xfe\xdc\xba\x98\x76\x54\x32\x10";
const std::string_view kKeyView(kKey, 32);

std::string told(const char* more = "") {
  return cat("job j\nnode 1\nnodes 4\nlisten 127.0.0.1:0\nkey ", kHex, "\n", more);
}

}  // namespace

TEST_CASE("a key that is given back is noticed, so that the other tests see something") {
  Watch watch({kKeyView});
  { const std::string copy(kKeyView); }
  CHECK(watch.count() == 1);
}

TEST_CASE("the description of a job leaves no key behind, whether it is understood or not") {
  const std::string good = told(), bad = told("nonsense\n"),
                    impossible = told("peer 9 1.2.3.4:5\n");
  Watch watch({kKeyView});
  {
    auto record = parse_fabric_record(good);
    REQUIRE(record.has_value());
    FabricRecord copy = *record;
    CHECK_FALSE(parse_fabric_record(bad).has_value());
    CHECK_FALSE(parse_fabric_record(impossible).has_value());
    auto fabric = Fabric::listen(copy);
    REQUIRE(fabric.has_value());
    CHECK((*fabric)->own_node().is_of(*record));
    record->listen = *Endpoint::parse("192.0.2.1:1");  // no machine has this address
    CHECK_FALSE(Fabric::listen(*record).has_value());
  }
  CHECK(watch.count() == 0);
}

TEST_CASE("a greeting and its derived values leave no key behind") {
  const std::string engine = engine_key_of(kKeyView, 1), connection = connection_key(engine, 0);
  Watch watch({kKeyView, engine, connection});
  {
    const Identity left{"j", engine_key_of(kKeyView, 0), 0, 4, 7, true};
    const Identity right{"j", engine_key_of(kKeyView, 1), 1, 4, 8, true};
    Greeting connects = Greeting::connecting(left, 1, 1, connection_key(right.key, 0));
    Greeting accepts = Greeting::accepting(right);
    accepts.take(connects.output());
    connects.take(accepts.output());
    connects.sent(0);
    accepts.sent(accepts.output().size());
    REQUIRE(connects.state() == Greeting::State::going_on);
    REQUIRE(accepts.state() == Greeting::State::going_on);
  }
  {
    const Identity left{"j", engine_key_of(kKeyView, 0), 0, 4, 7, true};
    const Greeting given_up = Greeting::connecting(left, 1, 1, connection_key(engine, 0));
  }
  CHECK(watch.count() == 0);
}

TEST_CASE("an answer of the directory leaves no key behind") {
  auto pair = make_socket_pair(SOCK_SEQPACKET);
  REQUIRE(pair);
  const Directory directory(std::move(pair->theirs));
  const std::string text = cat("peer 3 192.0.2.1:7000 ", kHex);
  Watch watch({kKeyView});
  {
    REQUIRE(::send(pair->ours.get(), text.data(), text.size(), 0) ==
            static_cast<ssize_t>(text.size()));
    Directory::Answer answer;
    REQUIRE(directory.hear(answer) == Directory::Received::answer);
    CHECK(answer.key == kKeyView);
    OtherNode peer;
    peer.key = answer.key;
  }
  CHECK(watch.count() == 0);
}

TEST_CASE("engines that connect leave no key behind") {
  const bool key_is_own = GENERATE(false, true);
  const std::string engine = key_is_own ? std::string(kKeyView) : engine_key_of(kKeyView, 1);
  const std::string connection = connection_key(engine, 0);
  Watch watch({kKeyView, engine, connection});
  {
    auto pair = make_socket_pair(SOCK_SEQPACKET);
    REQUIRE(pair);
    FabricRecord record;
    record.job = "j";
    record.nodes = 4;
    record.key_is_own = key_is_own;
    record.listen = record.reached = *Endpoint::parse("127.0.0.1:0");
    record.node = 1;
    record.key = kKeyView;
    Node other(record);
    record.node = 0;
    if (key_is_own) std::fill(record.key.begin(), record.key.end(), 'x');
    Node node(record, Directory(std::move(pair->theirs)));
    REQUIRE(node.knows(other));
    REQUIRE(node.send(other));
    if (key_is_own) {
      std::string text = cat("peer 1 ", other.says("listens"), " ");
      for (const char byte : connection)
        text += cat("0123456789abcdef"[static_cast<unsigned char>(byte) >> 4],
                    "0123456789abcdef"[static_cast<unsigned char>(byte) & 15]);
      REQUIRE(::send(pair->ours.get(), text.data(), text.size(), 0) > 0);
    }
    REQUIRE(run_until([&] { return other.count("frames received") == 1; }, node, other));
  }
  CHECK(watch.count() == 0);
}
