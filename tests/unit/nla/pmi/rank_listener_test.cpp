// Tests visitors of the port of a node's ranks, and which process a connection belongs to.
#include "nla/pmi/rank_listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "common/core/text.h"
#include "common/os/asio.h"
#include "common/os/process/socket_owner.h"
#include "common/os/syscall.h"
#include "pmi/protocol/native_ints.h"

namespace rank_listener_test {

using namespace scela;
using namespace scela::nla;
using namespace std::chrono_literals;

namespace {

std::string ints(std::initializer_list<std::int32_t> values) {
  std::string out;
  for (const std::int32_t value : values)
    pmi::append_int(out, value);
  return out;
}

Fd connect_to(std::uint16_t port) {
  Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  REQUIRE(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) ==
          0);
  return socket;
}

bool say(const Fd& socket, std::string_view words) {
  return ::send(socket.get(), words.data(), words.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(words.size());
}

// An event that has not come by then never comes.
constexpr auto kNever = 30s;

// The listener of a node with ranks 0 and 1 of four; this process is rank 0, and rank 1 runs
// nowhere.
struct House {
  explicit House(std::chrono::milliseconds limit = kVisitLimit) {
    DoorHost host{io, 4, RankSet::run(0, 2), {}, {}, {}, {}, {}, {}, limit};
    host.process = [this](Rank rank) { return rank == 0 ? rank_0 : 0; };
    host.check_in = [this](Rank rank, Fd socket, const std::string& rest) {
      told.push_back(cat("rank ", rank, " is in: ", rest));
      in.push_back(std::move(socket));
    };
    host.abort = [this](Rank rank, std::int32_t code, const std::string& message) {
      told.push_back(cat("rank ", rank, " aborts with ", code, ": ", message));
    };
    host.claimed = [this](Rank rank) { told.push_back(cat("claim for ", rank)); };
    host.violation = [this](Rank rank, const std::string& why) {
      told.push_back(cat("rank ", rank, " ", why));
    };
    host.warn = [this](const std::string& what) { warnings.push_back(what); };
    listener = RankListener::open(pmi::Dialect::pmgr, std::move(host)).value();
  }
  // Lets the listener hear until something is told; nothing else may be said meanwhile. A listener
  // that never tells it fails the test.
  void until(std::size_t count) {
    io.restart();
    while (told.size() + warnings.size() < count)
      REQUIRE(io.run_one_for(kNever) > 0);
  }
  // Lets the listener hear all that can be heard now.
  void settle() {
    io.restart();
    while (io.poll() > 0) {
    }
  }
  // Runs the loop until the listener has closed that connection.
  void await_end(const Fd& visitor) {
    bool ended = false;
    boost::asio::posix::stream_descriptor end(io, ::dup(visitor.get()));
    end.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                   [&](const boost::system::error_code&) { ended = true; });
    io.restart();
    while (!ended)
      REQUIRE(io.run_one_for(kNever) > 0);
    char byte = 0;
    CHECK(::recv(visitor.get(), &byte, 1, MSG_DONTWAIT) == 0);
  }
  Fd visitor() const { return connect_to(listener->port()); }

  boost::asio::io_context io;
  pid_t rank_0 = ::getpid();
  std::vector<std::string> told;
  std::vector<std::string> warnings;
  std::vector<Fd> in;
  std::unique_ptr<RankListener> listener;
};

using Told = std::vector<std::string>;

struct Stranger {
  explicit Stranger(pid_t forked) : pid(forked) {}
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;
  const pid_t pid;
  ~Stranger() {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
};

// Forks a process that is no rank. It connects, says the words, and stays until the listener closes
// the connection.
Stranger stranger(std::uint16_t port, uid_t user, const std::string& words) {
  const pid_t pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid == 0) {
    if (user != ::getuid() && ::setuid(user) != 0) ::_exit(1);
    const Fd socket = connect_to(port);
    char byte = 0;
    static_cast<void>(say(socket, words));
    static_cast<void>(::recv(socket.get(), &byte, 1, 0));
    ::_exit(0);
  }
  return Stranger(pid);
}

Stranger idler() {
  const pid_t pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid == 0) {
    for (;;)
      ::pause();
  }
  return Stranger(pid);
}

}  // namespace

TEST_CASE("a connection within this machine belongs to the process that holds its other end") {
  const Stranger other = idler();
  House house;
  const Fd visitor = house.visitor();
  say(visitor, ints({8, 0}));
  house.until(1);
  REQUIRE(house.in.size() == 1);
  for (auto* ask : {peer_owner_by_netlink, peer_owner_by_table}) {
    const auto owner = ask(house.in.front().get());
    REQUIRE(owner);
    CHECK(owner->user == ::geteuid());
    CHECK(holds_socket(::getpid(), owner->inode));
    CHECK_FALSE(holds_socket(other.pid, owner->inode));
    CHECK_FALSE(holds_socket(::getpid(), 0));
  }
}

TEST_CASE("a socket that its process has closed belongs to no process") {
  House house;
  Fd visitor = house.visitor();
  say(visitor, ints({8, 0}));
  house.until(1);
  visitor.reset();
  const auto owner = peer_owner_by_netlink(house.in.front().get());
  CHECK((!owner || owner->inode == 0));
  const auto listed = peer_owner_by_table(house.in.front().get());
  CHECK((!listed || listed->inode == 0));
}

TEST_CASE("a process below a rank's holds sockets for it") {
  House house;
  const Fd visitor = house.visitor();
  say(visitor, ints({8, 0}));
  house.until(1);
  const auto owner = peer_owner(house.in.front().get());
  REQUIRE(owner);
  CHECK(holds_socket(::getppid(), owner->inode));
}

TEST_CASE("a rank checks in once, with what it has said meanwhile") {
  House house;
  const Fd visitor = house.visitor();
  say(visitor, ints({8}));
  house.settle();
  CHECK(house.told.empty());
  say(visitor, ints({0}) + "abc");
  house.until(1);
  CHECK(house.told == Told{"rank 0 is in: abc"});
  const Fd again = house.visitor();
  say(again, ints({8, 0}));
  house.settle();
  CHECK(house.told.size() == 1);  // it may become an abort
  REQUIRE(::shutdown(again.get(), SHUT_WR) == 0);
  house.until(2);
  CHECK(house.told.back() == "rank 0 checked in a second time");
}

TEST_CASE("a rank aborts on a connection of its own") {
  House house;
  const Fd visitor = house.visitor();
  say(visitor, ints({7, 0, 6}) + std::string("sorry\0", 6));
  house.until(1);
  CHECK(house.told == Told{"rank 0 aborts with 7: sorry"});
  CHECK(house.warnings.empty());
}

TEST_CASE("an abort of a process that is gone counts only as a claim") {
  House house;
  Fd visitor = house.visitor();
  say(visitor, ints({7, 0, 6}) + std::string("sorry\0", 6));
  visitor.reset();
  house.until(1);
  CHECK(house.told == Told{"claim for 0"});
  REQUIRE(house.listener->claim(0) != nullptr);
  CHECK(house.listener->claim(0)->code == 7);
  CHECK(house.listener->claim(0)->message == "sorry");
  CHECK(house.listener->claim(1) == nullptr);
}

TEST_CASE("a rank that has gone is not let in by its number") {
  House house;
  Fd visitor = house.visitor();
  say(visitor, ints({8, 0}));
  visitor.reset();
  house.settle();
  CHECK(house.told.empty());
  const Fd next = house.visitor();
  say(next, ints({8, 0}));
  house.until(1);
  CHECK(house.told == Told{"rank 0 is in: "});
}

TEST_CASE("a rank that speaks for another, or for none, breaks the protocol") {
  House house;
  const Fd visitor = house.visitor();
  SECTION("another of this node") {
    say(visitor, ints({8, 1}));
    house.until(1);
    CHECK(house.told == Told{"rank 0 checked in as rank 1"});
  }
  SECTION("one of another node") {
    say(visitor, ints({8, 3}));
    house.until(1);
    CHECK(house.told == Told{"rank 0 checked in as rank 3"});
  }
  SECTION("an abort for another, before its message is there") {
    say(visitor, ints({7, 1, 6}));
    house.until(1);
    CHECK(house.told == Told{"rank 0 spoke for another rank"});
  }
  SECTION("no rank at all") {
    say(visitor, ints({8, 4}));
    house.until(1);
    CHECK(house.told == Told{"rank 0 sent the number 4, there are 4 ranks"});
  }
  house.await_end(visitor);
}

TEST_CASE("a process outside of the job is refused, and told of once") {
  House house;
  house.rank_0 = 0;  // this process is no rank
  for (int i = 0; i < 3; ++i) {
    const Fd visitor = house.visitor();
    say(visitor, ints({8, 0}));
    house.await_end(visitor);
  }
  CHECK(house.told.empty());
  REQUIRE(house.warnings.size() == 1);
  CHECK(house.warnings[0].find("of a process that is not of this job") != std::string::npos);
}

TEST_CASE("another user is refused before he is heard, and told of once") {
  REQUIRE(::geteuid() == 0);  // only root can become another user
  House house;
  {
    const Stranger other = stranger(house.listener->port(), 65534, ints({8, 0}));
    house.until(1);
  }
  REQUIRE(house.warnings.size() == 1);
  CHECK(house.warnings[0].find("of user 65534") != std::string::npos);
  CHECK(house.told.empty());
  const Fd visitor = house.visitor();
  say(visitor, ints({8, 0}));
  house.until(2);
  CHECK(house.told == Told{"rank 0 is in: "});
}

TEST_CASE("peers that send nothing, or only a part, are dropped and keep no other out for long") {
  House house(50ms);
  std::vector<Fd> silent;
  for (std::size_t i = 0; i < kMaxVisitors; ++i) {
    silent.push_back(house.visitor());
    if (i % 2 == 0) say(silent.back(), ints({8}));
  }
  const Fd next = house.visitor();
  say(next, ints({8, 0}));
  house.until(1);
  CHECK(house.told == Told{"rank 0 is in: "});
  for (const Fd& visitor : silent)
    house.await_end(visitor);
  CHECK(house.warnings.empty());
}

TEST_CASE("a greeting longer than any is not waited for") {
  House house;
  const Fd visitor = house.visitor();
  say(visitor, ints({7, 0, 4000}) + std::string(pmi::kMaxGreeting, 'x'));
  house.until(1);
  CHECK(house.told == Told{cat("rank 0 aborts with 7: ", std::string(4000, 'x'))});
  const Fd second = house.visitor();
  say(second, ints({7, 0, 2000000000}));
  house.until(2);
  CHECK(house.told.back() == "rank 0 sent an abort with a message of 2000000000 bytes");
}

}  // namespace rank_listener_test
