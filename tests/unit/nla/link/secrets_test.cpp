// Tests that the keys of links between agents are wiped before their memory is given back.
#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <string>

#include "common/os/asio.h"
#include "nla/keys/node_keys.h"
#include "nla/link/factory.h"
#include "tests/support/memory/given_back.h"

namespace {

using namespace scela;
using namespace scela::nla;
using scela::testing::Watch;
using std::chrono::milliseconds;

using Ended = tl::expected<std::unique_ptr<Transport>, std::string>;

const std::string kWhole(kNodeKeyBytes, 'w');
const LinkName kLink{"job", kRootNode, 1};

Address loopback(std::uint16_t port = 0) {
  return parse_address("127.0.0.1", port).value();
}

}  // namespace

TEST_CASE("the keys of nodes leave nothing behind") {
  const std::string key = NodeKeys::all(kWhole).of(1), other = NodeKeys::all(kWhole).of(2);
  Watch watch({kWhole, key, other});
  {
    const NodeKeys keys = NodeKeys::all(std::string(kWhole));
    const NodeKeys part = keys.of(Slice{1, 3});
    const SharedKey link = derive_link_key(part.of(1), kLink);
    CHECK(link.secret.size() == 32);
  }
  CHECK(watch.count() == 0);
}

TEST_CASE("a link over TCP leaves no key behind, whether it is established or not") {
  const char theirs = GENERATE('w', 'x');
  const std::string node = NodeKeys::all(kWhole).of(1);
  const std::string secret = derive_link_key(node, kLink).secret;
  Watch watch({node, secret});
  {
    boost::asio::io_context io(1);
    std::optional<Ended> accepted, connected;
    Address address = loopback();
    Fd listening = listen_at(address, kMaxUnproven).value();
    auto server = accept_tls(
        io, std::move(listening), derive_link_key(NodeKeys::all(kWhole).of(1), kLink),
        milliseconds(60'000), [&](Ended result) { accepted.emplace(std::move(result)); });
    auto client = connect_tls(
        io, loopback(), address.port(),
        derive_link_key(NodeKeys::all(std::string(kNodeKeyBytes, theirs)).of(1), kLink),
        milliseconds(60'000), [&](Ended result) { connected.emplace(std::move(result)); });
    while (!connected || (theirs == 'w' && !accepted))
      REQUIRE(io.run_one() > 0);
    CHECK(connected->has_value() == (theirs == 'w'));
  }
  CHECK(watch.count() == 0);
}
