// A real agent's handling of its own link: its port for a direct connection, and the key.
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "common/core/text.h"
#include "common/os/asio.h"
#include "nla/io/address.h"
#include "nla/keys/node_keys.h"
#include "nla/link/factory.h"
#include "tests/e2e/agent/fake_parent.h"

namespace link_test {

using namespace scela;
using namespace scela::nla;
using scela::test::FakeParent;

namespace {

constexpr std::chrono::milliseconds kLimit{20'000};

const std::string kKey = "0123456789-the-key-of-this-job-0";
const std::string kCommon = "0123456789-what-all-agents-have0";

std::string introduction(const FakeParent& parent) {
  return encode(Introduction{true, 0, 0, parent.job_id(), NodeKeys::all(kKey).encode(), kCommon});
}

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream out;
  out << file.rdbuf();
  return out.str();
}

// A parent and its agent, which was started as if by sshd. The parent knows the key.
struct Remote {
  Remote() {
    ::setenv("SSH_CONNECTION", "127.0.0.1 1 127.0.0.1 22", 1);
    parent.emplace();
    ::unsetenv("SSH_CONNECTION");
    parent->send_raw(introduction(*parent));
  }
  std::uint16_t port() {
    parent->send_raw(link_frame(LinkFrame::ask));
    const auto offer = parent->expect_link_frame(LinkFrame::offer);
    return offer ? decode_offer(*offer).value_or(Offer()).port : 0;
  }
  SharedKey key(std::uint32_t from, std::uint32_t to, const std::string& job_key = kKey) const {
    return derive_link_key(NodeKeys::all(job_key).of(to), {parent->job_id(), from, to});
  }
  std::optional<FakeParent> parent;
};

tl::expected<std::unique_ptr<Transport>, std::string> try_key(std::uint16_t port, SharedKey key) {
  boost::asio::io_context io{1};
  std::optional<tl::expected<std::unique_ptr<Transport>, std::string>> got;
  const auto attempt = connect_tls(io, *parse_address("127.0.0.1", port), port, std::move(key),
                                   kLimit, [&](auto result) { got.emplace(std::move(result)); });
  while (!got && io.run_one() > 0) {
  }
  if (*got) return (*got)->get()->close(), tl::expected<std::unique_ptr<Transport>, std::string>();
  return std::move(*got);
}

Fd raw(std::uint16_t port, std::string_view bytes) {
  Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const Address address = *parse_address("127.0.0.1", port);
  REQUIRE(::connect(fd.get(), address.get(), address.size) == 0);
  static_cast<void>(::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
  return fd;
}

}  // namespace

TEST_CASE("an agent's port admits only a peer that proves the key of its link") {
  Remote remote;
  REQUIRE(remote.parent->bring_up());
  const std::uint16_t port = remote.port();
  REQUIRE(port != 0);
  const Fd silent = raw(port, "");
  const Fd nonsense = raw(port, "GET / HTTP/1.0\r\n\r\n");
  const Fd oversized = raw(port, std::string("\x16\x03\x01\xff\xff", 5) + std::string(65'535, 'x'));
  CHECK_FALSE(try_key(port, remote.key(kRootNode, 0, std::string(32, 'x'))));
  CHECK_FALSE(try_key(port, remote.key(0, kRootNode)));
  CHECK_FALSE(try_key(port, remote.key(0, 1)));
  // The job was not disturbed, and the parent is still let in.
  CHECK(try_key(port, remote.key(kRootNode, 0)));
  CHECK(remote.parent->expect_link_frame(LinkFrame::change));
  CHECK_FALSE(try_key(port, remote.key(kRootNode, 0)));
  remote.parent->close_link();
  CHECK(remote.parent->nothing_left());
}

TEST_CASE("an agent listens only when its parent asks, and only once") {
  Remote remote;
  REQUIRE(remote.parent->bring_up());
  CHECK(remote.port() != 0);
  remote.parent->send_raw(link_frame(LinkFrame::ask));
  remote.parent->send_raw(link_frame(LinkFrame::beat));
  REQUIRE(remote.parent->launch("echo out"));
  CHECK(remote.parent->output_of_all() == "out\n");
  CHECK_FALSE(remote.parent->saw("Log"));
  remote.parent->close_link();
  CHECK(remote.parent->nothing_left());
}

TEST_CASE("an agent that was not reached over ssh knows no address to listen at") {
  FakeParent parent;
  parent.send_raw(introduction(parent));
  REQUIRE(parent.bring_up());
  parent.send_raw(link_frame(LinkFrame::ask));
  const auto offer = parent.expect_link_frame(LinkFrame::offer);
  REQUIRE(offer);
  CHECK(decode_offer(*offer) == Offer());
  parent.close_link();
  CHECK(parent.nothing_left());
}

TEST_CASE("an agent listens at its address in the network that its parent names") {
  Remote remote;
  REQUIRE(remote.parent->bring_up());
  remote.parent->send_raw(encode_ask("198.51.100.0/24,lo"));
  const auto frame = remote.parent->expect_link_frame(LinkFrame::offer);
  REQUIRE(frame);
  const auto offer = decode_offer(*frame);
  REQUIRE(offer);
  CHECK(offer->address == "127.0.0.1");
  CHECK(offer->port != 0);
  remote.parent->close_link();
  CHECK(remote.parent->nothing_left());
}

TEST_CASE("an agent without an address in the network listens where it was reached if it may") {
  Remote remote;
  REQUIRE(remote.parent->bring_up());
  remote.parent->send_raw(encode_ask("198.51.100.0/24,"));
  const auto frame = remote.parent->expect_link_frame(LinkFrame::offer);
  REQUIRE(frame);
  const auto offer = decode_offer(*frame);
  REQUIRE(offer);
  CHECK(offer->address.empty());
  CHECK(offer->port != 0);
  remote.parent->close_link();
  CHECK(remote.parent->nothing_left());
}

TEST_CASE("an agent without an address in the network offers no port") {
  Remote remote;
  REQUIRE(remote.parent->bring_up());
  remote.parent->send_raw(encode_ask("198.51.100.0/24"));
  const auto frame = remote.parent->expect_link_frame(LinkFrame::offer);
  REQUIRE(frame);
  CHECK(decode_offer(*frame) == Offer());
  remote.parent->close_link();
  CHECK(remote.parent->nothing_left());
}

TEST_CASE("keys are in no argument, environment or record of events") {
  char folder[] = "/tmp/scela-key-XXXXXX";
  REQUIRE(::mkdtemp(folder) != nullptr);
  const std::string record = cat(folder, "/record");
  {
    Remote remote;
    REQUIRE(remote.parent->bring_up(2, cat("record=", record, "\n")));
    REQUIRE(remote.port() != 0);
    REQUIRE(remote.parent->launch("env; cat /proc/self/environ; sleep 100"));
    for (const pid_t pid : remote.parent->processes()) {
      for (const char* file : {"cmdline", "environ"})
        for (const std::string& key : {kKey, kCommon})
          CHECK(contents(cat("/proc/", pid, "/", file)).find(key) == std::string::npos);
    }
    remote.parent->send(msg::Terminate{15, 100});
    remote.parent->send(msg::Shutdown{});
    const std::string output = remote.parent->output_of_all();
    CHECK(output.find(kKey) == std::string::npos);
    CHECK(output.find(kCommon) == std::string::npos);
    CHECK(remote.parent->sees_end());
    CHECK(remote.parent->nothing_left());
  }
  for (const char* node : {"0", "1"}) {
    const std::string bytes = contents(cat(record, ".", node));
    CHECK_FALSE(bytes.empty());
    CHECK(bytes.find(kKey) == std::string::npos);
    CHECK(bytes.find(kCommon) == std::string::npos);
    ::unlink(cat(record, ".", node).c_str());
  }
  ::rmdir(folder);
}

}  // namespace link_test
