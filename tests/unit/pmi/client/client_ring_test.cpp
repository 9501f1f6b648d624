#include "pmi/client/client_ring.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <utility>

#include "common/os/futex.h"
#include "common/os/syscall.h"

namespace client_ring_test {

using namespace scela;
using pmi::client::Ring;
namespace ring = scela::pmi::ring;

namespace {

// The memory and doorbells that an agent makes for a rank.
struct Offer {
  Offer()
      : memory(std::move(
            SealedMemory::make("test", ring::kTotalBytes, SealedMemory::Writers::all).value())),
        doorbell(::eventfd(0, EFD_CLOEXEC)),
        end(ring::SharedMemory(memory.base()), static_cast<std::uint64_t>(::getpid())) {}

  std::unique_ptr<Ring> take() const {
    auto made = Ring::make(Fd(::dup(memory.fd().get())), Fd(::dup(doorbell.get())));
    if (made) made->take();
    return made;
  }
  void hear() const {
    std::uint64_t rings = 0;
    retry([&] { return ::read(doorbell.get(), &rings, sizeof rings); });
  }
  void wake() const { futex_wake(ring::SharedMemory(memory.base()).futex()); }

  SealedMemory memory;
  Fd doorbell;
  ring::ServerEnd end;
};

// A rank is a child of its agent. It ends with 0 if `what` says so.
pid_t start(const std::function<bool()>& what) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(what() ? 0 : 1);
  return child;
}
int end_of(pid_t child) {
  int status = -1;
  retry([&] { return ::waitpid(child, &status, 0); });
  return status;
}

}  // namespace

TEST_CASE("a rank and its agent pass more than the memory holds, each asleep while it waits") {
  constexpr std::size_t kBytes = 20'000;
  Offer offer;
  const pid_t rank = start([&] {
    const auto made = offer.take();
    std::string text;
    for (std::size_t i = 0; i < kBytes; ++i)
      text += static_cast<char>('a' + i % 23);
    if (!made) return false;
    made->send(text);
    std::string back;
    while (back.size() < kBytes && made->read_more(back)) {
    }
    return back == text;
  });
  REQUIRE(rank > 0);
  // All of it before the answer, so that both directions fill up.
  std::string heard;
  std::string in(ring::kCapacity, '\0');
  std::size_t echoed = 0;
  while (echoed < kBytes) {
    offer.hear();
    for (bool more = true; more;) {
      const auto got = offer.end.read(in.data(), in.size());
      REQUIRE(got);
      heard.append(in, 0, *got);
      if (heard.size() == kBytes) {
        const auto wrote = offer.end.write(std::string_view(heard).substr(echoed));
        REQUIRE(wrote);
        echoed += *wrote;
      }
      if (offer.end.tell()) offer.wake();
      more = offer.end.arm();
    }
  }
  CHECK(offer.end.is_taken());
  CHECK(end_of(rank) == 0);
}

TEST_CASE("a rank is told when its agent serves it no more") {
  Offer offer;
  const pid_t rank = start([&] {
    const auto made = offer.take();
    std::string input;
    if (!made) return false;
    made->send("request");
    const auto read = made->read_more(input);
    made->send(std::string(2 * ring::kCapacity, 'x'));  // does not wait either
    return !read && read.error().why.find("closed") != std::string::npos;
  });
  REQUIRE(rank > 0);
  while (!offer.end.has_requests())
    offer.hear();
  offer.end.close();
  offer.wake();
  CHECK(end_of(rank) == 0);
}

TEST_CASE("a rank that outlives its agent does not wait for it for ever") {
  auto told = make_pipe();
  auto ready = make_pipe();
  REQUIRE((told && ready));
  const pid_t agent = start([&]() -> bool {
    Offer offer;
    start([&] {
      const auto made = offer.take();
      std::string input;
      static_cast<void>(::write(ready->write.get(), "x", 1));
      const auto read = made ? made->read_more(input) : Result<void>();
      const bool right = !read && read.error().why.find("ended") != std::string::npos;
      return ::write(told->write.get(), right ? "y" : "n", 1) == 1;
    });
    for (;;)
      ::pause();
  });
  REQUIRE(agent > 0);
  char byte = 0;
  REQUIRE(retry([&] { return ::read(ready->read.get(), &byte, 1); }) == 1);
  ::kill(agent, SIGKILL);
  end_of(agent);
  CHECK(retry([&] { return ::read(told->read.get(), &byte, 1); }) == 1);
  CHECK(byte == 'y');
}

TEST_CASE("memory is refused that is not the parent's, that can shrink, or is of another size") {
  const Offer own;  // of this process, which is not its own parent
  CHECK(own.take() == nullptr);
  Offer offer;
  const pid_t rank = start([&] {
    Fd shrinking(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (::ftruncate(shrinking.get(), ring::kTotalBytes) != 0) return false;
    if (Ring::make(std::move(shrinking), Fd(::dup(offer.doorbell.get())))) return false;
    auto large = SealedMemory::make("test", 4 * ring::kTotalBytes, SealedMemory::Writers::all);
    if (Ring::make(Fd(::dup(large->fd().get())), Fd(::dup(offer.doorbell.get())))) return false;
    return offer.take() != nullptr;
  });
  CHECK(end_of(rank) == 0);
}

}  // namespace client_ring_test
