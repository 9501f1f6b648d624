// Tests visitors of an orphan's listener that are not the adopter.
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <optional>
#include <utility>

#include "common/core/text.h"
#include "common/os/asio.h"
#include "common/os/private_dir.h"
#include "nla/adopt/adoption.h"
#include "nla/adopt/adoption_proof.h"

namespace adoption_listener_test {

using namespace scela;
using namespace scela::nla;
using namespace scela::nla::adoption;

namespace {

struct House {
  explicit House(std::uint32_t answer_ms = kAnswerMs) {
    REQUIRE(make_private_directory(path));
    listener = open_adoption_listener(io, {path, std::string(32, 'k'), "job-1", 7, answer_ms},
                                      guardian_socket,
                                      [this](Adopter a) { adopter.emplace(std::move(a)); })
                   .value();
  }
  ~House() {
    listener.reset();
    CHECK(remove_tree(path));
  }
  // Returns a visitor that has knocked. Its reads do not block.
  Fd visitor() {
    SocketName name;
    REQUIRE(name_socket(path, name));
    Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    name.path.copy(address.sun_path, sizeof address.sun_path - 1);
    REQUIRE(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) ==
            0);
    return socket;
  }
  void settle() {
    io.restart();
    while (io.poll() > 0) {
    }
  }
  // Returns what the listener has answered to the visitor. The text is empty if the listener has
  // not answered, or has closed the socket.
  std::string answer(const Fd& socket) {
    settle();
    std::string said;
    std::vector<Fd> descriptors;
    return receive_record(socket.get(), said, descriptors) ? said : std::string();
  }
  bool dropped(const Fd& socket) {
    settle();
    char byte;
    return ::recv(socket.get(), &byte, 1, 0) == 0;
  }
  // Exchanges nonces with the listener, with whatever key the visitor has.
  Talk greet(const Fd& socket, char key = 'k') {
    Talk talk{std::string(32, key), "job-1", new_nonce(), {}};
    REQUIRE(send_record(socket.get(), talk.attached));
    greeting = answer(socket);
    REQUIRE(greeting.size() == kNonce + kProof);
    talk.orphan = greeting.substr(0, kNonce);
    return talk;
  }
  // Checks that a visitor that knows the key still gets in.
  void check_open() {
    CHECK_FALSE(adopter);
    const Fd socket = visitor();
    const Talk talk = greet(socket);
    CHECK(same(std::string_view(greeting).substr(kNonce), proof(talk, "orphan")));
    REQUIRE(send_record(socket.get(), proof(talk, "adopter") + '\1', {some_descriptor()}));
    CHECK(answer(socket).size() == 4);
    REQUIRE(adopter);
    CHECK(adopter->remote);
  }
  int some_descriptor() {
    if (!lent) lent.reset(::eventfd(0, EFD_CLOEXEC));
    return lent.get();
  }

  std::string path = private_directory_path(temporary_base(), cat("scela-door-test-", ::getpid()));
  boost::asio::io_context io{1};
  Fd guardian_socket;
  Fd lent;
  std::optional<Adopter> adopter;
  std::unique_ptr<AdoptionListener> listener;
  std::string greeting;
};

}  // namespace

TEST_CASE("an orphan's listener admits one peer that knows the job's key, and then no other") {
  House house;
  house.check_open();
  SocketName name;
  REQUIRE(name_socket(house.path, name));
  Fd late(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.path.copy(address.sun_path, sizeof address.sun_path - 1);
  CHECK(::connect(late.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0);
}

TEST_CASE("a peer without the key is dropped, whatever it says") {
  House house;
  const Fd socket = house.visitor();
  const Talk talk = house.greet(socket, 'x');
  std::string claim;
  SECTION("with the proof by another key") {
    claim = proof(talk, "adopter");
  }
  SECTION("with the orphan's own proof") {
    claim = house.greeting.substr(kNonce);
  }
  SECTION("with a proof of nothing") {
    claim = std::string(kProof, '\0');
  }
  SECTION("with too little") {
    claim = "?";
  }
  SECTION("with more than a record may be") {
    claim = std::string(5000, 'x');
  }
  REQUIRE(send_record(socket.get(), claim + '\1', {house.some_descriptor()}));
  CHECK(house.dropped(socket));
  house.check_open();
}

TEST_CASE("a greeting to one peer admits no other") {
  House house;
  const Fd first = house.visitor();
  const Talk talk = house.greet(first);
  const std::string right = proof(talk, "adopter") + '\1';
  SECTION("at another visit") {
    REQUIRE(send_record(first.get(), "?"));
    CHECK(house.dropped(first));
    const Fd second = house.visitor();
    REQUIRE(send_record(second.get(), talk.attached));
    CHECK(house.answer(second).substr(0, kNonce) != talk.orphan);
    REQUIRE(send_record(second.get(), right, {house.some_descriptor()}));
    CHECK(house.dropped(second));
  }
  SECTION("without a stream") {
    REQUIRE(send_record(first.get(), right));
    CHECK(house.dropped(first));
  }
  house.check_open();
}

TEST_CASE("a first word that is no nonce is not answered") {
  House house;
  const Fd socket = house.visitor();
  SECTION("short") {
    REQUIRE(send_record(socket.get(), "x"));
  }
  SECTION("long") {
    REQUIRE(send_record(socket.get(), std::string(kNonce + 1, 'x')));
  }
  SECTION("oversized") {
    REQUIRE(send_record(socket.get(), std::string(100'000, 'x')));
  }
  SECTION("with descriptors") {
    REQUIRE(
        send_record(socket.get(), new_nonce(), {house.some_descriptor(), house.some_descriptor()}));
  }
  CHECK(house.dropped(socket));
  house.check_open();
}

TEST_CASE("another user is not heard, even where the directory lets him in") {
  REQUIRE(::geteuid() == 0);  // only root can become another user
  House house;
  const std::string path = house.path + "/" + kSocket;
  REQUIRE(path.size() < sizeof sockaddr_un{}.sun_path);
  REQUIRE(::chmod(path.c_str(), 0666) == 0);
  REQUIRE(::chmod(house.path.c_str(), 0711) == 0);
  Fd ends[2];
  int pair[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
  ends[0].reset(pair[0]);
  ends[1].reset(pair[1]);
  const pid_t stranger = ::fork();
  REQUIRE(stranger >= 0);
  if (stranger == 0) {
    // The child connects, says a right first word, and reports what became of it.
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    const int socket = ::socket(AF_UNIX, SOCK_SEQPACKET, 0);
    const std::string nonce(kNonce, 'n');
    char answer = 'c';
    if (::setuid(65534) == 0 &&
        ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
      answer = ::write(socket, nonce.data(), nonce.size()) > 0 ? 'w' : 'd';
      char byte;
      if (::recv(socket, &byte, 1, 0) > 0) answer = 'h';
    }
    ::_exit(::write(pair[1], &answer, 1) == 1 ? 0 : 1);
  }
  bool spoke = false;
  boost::asio::posix::stream_descriptor answer(house.io, ends[0].release());
  answer.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                    [&](const boost::system::error_code&) { spoke = true; });
  house.io.restart();
  while (!spoke)
    REQUIRE(house.io.run_one() > 0);
  char told = 0;
  REQUIRE(::read(answer.native_handle(), &told, 1) == 1);
  CHECK((told == 'w' || told == 'd'));  // connected, and dropped without an answer
  int status = 0;
  CHECK(::waitpid(stranger, &status, 0) == stranger);
  REQUIRE(::chmod(house.path.c_str(), 0700) == 0);
  house.check_open();
}

TEST_CASE("a silent peer keeps no other out for long") {
  House house;
  const Fd silent = house.visitor();
  const Fd next = house.visitor();
  REQUIRE(send_record(next.get(), new_nonce()));
  house.settle();
  std::string said;
  std::vector<Fd> descriptors;
  CHECK_FALSE(receive_record(next.get(), said, descriptors));  // the listener serves one at a time
  while (!receive_record(next.get(), said, descriptors)) {
    house.io.restart();
    REQUIRE(house.io.run_one() > 0);
  }
  CHECK(house.dropped(silent));
}

TEST_CASE("a peer that sends in the moment in which its time is over is dropped once") {
  House house(0);
  const Fd visitors[] = {house.visitor(), house.visitor(), house.visitor()};
  for (const Fd& one : visitors)
    REQUIRE(send_record(one.get(), "?"));
  // If the listener dropped the first visitor twice, it would let two in, but it serves one at a
  // time.
  for (const Fd& one : visitors) {
    while (!house.dropped(one)) {
    }
  }
  CHECK_FALSE(house.adopter);
}

// The undefined behaviour sanitizer opens a pipe to look at an object, and reports the object as
// invalid if it cannot open one. So this test is not built with sanitizers.
#ifndef __SANITIZE_ADDRESS__
TEST_CASE(
    "an orphan without a free descriptor does not run in circles, and opens when it has one") {
  House house;
  const Fd socket = house.visitor();
  REQUIRE(send_record(socket.get(), new_nonce()));
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit none{0, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  house.io.restart();
  int handlers = 0;
  while (handlers < 100 && house.io.poll_one() > 0)
    ++handlers;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(handlers < 100);
  std::string said;
  std::vector<Fd> descriptors;
  while (!receive_record(socket.get(), said, descriptors)) {
    house.io.restart();
    REQUIRE(house.io.run_one() > 0);
  }
  CHECK(said.size() == kNonce + kProof);
}
#endif

TEST_CASE("descriptors that come with an empty record are not kept") {
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
  const Fd here(ends[0]);
  const Fd there(ends[1]);
  int pipes[2];
  REQUIRE(::pipe2(pipes, O_CLOEXEC) == 0);
  const Fd read(pipes[0]);
  Fd write(pipes[1]);
  REQUIRE(send_record(there.get(), "", {write.get()}));
  write.reset();
  {
    std::string said;
    std::vector<Fd> descriptors;
    CHECK_FALSE(receive_record(here.get(), said, descriptors));
  }
  REQUIRE(::fcntl(read.get(), F_SETFL, O_NONBLOCK) == 0);
  char byte;
  CHECK(::read(read.get(), &byte, 1) == 0);  // no process holds the other end
}

}  // namespace adoption_listener_test
