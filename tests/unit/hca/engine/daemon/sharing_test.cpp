// Tests copies that a process shares with the engine. The engine's side runs here, and the
// library's side in children.
#include "hca/engine/daemon/sharing.h"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <thread>
#include <vector>

#include "hca/core/model/copy_jobs.h"
#include "hca/library/link/helper.h"
#include "tests/support/eventually.h"

namespace sharing_test {

using namespace scela;
using namespace scela::hca;
using scela::test::eventually;

namespace {

constexpr std::size_t kBytes = 512 * 1024;

// The memory that the engine and the process share, with counters for the test.
struct Shared {
  ProcessPage page;
  std::atomic<std::uint32_t> moved{0};  // parts
  std::atomic<std::uint32_t> filled{0};
  std::atomic<std::uint32_t> step{0};
};

template <class T>
T* mapped(int flags, std::size_t bytes = sizeof(T)) {
  void* const made = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
  REQUIRE(made != MAP_FAILED);
  return static_cast<T*>(made);
}

std::uint64_t address_of(const void* at) {
  return reinterpret_cast<std::uint64_t>(at);
}

ProcessMemory memory_of(pid_t pid) {
  return {pid, Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)))};
}

// A child that helps, and this process, which is both the engine and the process at the other end.
// Both have the buffers at the same addresses.
struct Two {
  explicit Two(const std::function<void(Two&)>& body) {
    std::memset(buffer, 1, kBytes);
    pid = ::fork();
    REQUIRE(pid >= 0);
    if (pid == 0) {
      std::memset(buffer, 2, kBytes);
      shared->filled.store(1);
      body(*this);
      ::_exit(0);
    }
    own.emplace(memory_of(pid));
    REQUIRE(eventually([&] { return shared->filled.load() == 1; }));
  }
  ~Two() {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    ::munmap(buffer, kBytes);
    shared->~Shared();
    ::munmap(shared, sizeof(Shared));
  }
  Two(const Two&) = delete;
  Two& operator=(const Two&) = delete;

  // Acts as a program that polls for ever.
  static void polls(Two& two) {
    library::Helper helper;
    helper.begin(two.shared->page);
    for (;;)
      if (helper.help([] { return false; })) two.shared->moved.fetch_add(1);
  }
  // Takes a part of a copy and holds it.
  static CopyJob& takes(Two& two) {
    CopyJobBoard& board = two.shared->page.board;
    board.thread.store(static_cast<std::uint32_t>(::syscall(SYS_gettid)));
    for (board.willing.store(1);;)
      for (CopyJob& job : board.jobs)
        if (begin(job)) return job;
  }

  bool copy(CopyJobKind kind, std::size_t bytes = kBytes) {
    return sharing.copy({kind, *own, here, 7, address_of(buffer), address_of(buffer), bytes},
                        piece);
  }
  bool is(int value, std::size_t from = 0) const {
    return std::all_of(buffer + from, buffer + kBytes, [=](char each) { return each == value; });
  }
  bool offers() { return sharing.polls() && sharing.offers(kBytes); }
  // Copies until the process has moved parts of a copy, which it does once the two have met.
  void shares(CopyJobKind kind) {
    const std::uint32_t before = shared->moved.load();
    REQUIRE(
        eventually([&] { return offers() && copy(kind) && shared->moved.load() > before + 2; }));
  }

  Shared* const shared = new (mapped<Shared>(MAP_SHARED)) Shared;
  char* const buffer = mapped<char>(MAP_PRIVATE, kBytes);
  std::vector<std::byte> piece = std::vector<std::byte>(32 * 1024);
  Sharing sharing{shared->page, Sharing::pid_space()};
  ProcessMemory here = memory_of(::getpid());
  std::optional<ProcessMemory> own;
  pid_t pid = 0;
};

}  // namespace

TEST_CASE("hca sharing: a process that polls moves parts, and all arrives, in both directions") {
  Two two(Two::polls);
  two.shares(CopyJobKind::push);
  for (int i = 0; i < 50; ++i) {
    std::memset(two.buffer, 1, kBytes);
    REQUIRE(two.copy(CopyJobKind::push));
    REQUIRE(two.is(2));
  }
  // The process gets bytes by a pull, and a push gives the same bytes back.
  std::memset(two.buffer, 5, kBytes);
  REQUIRE(two.copy(CopyJobKind::pull));
  std::memset(two.buffer, 1, kBytes);
  REQUIRE(two.copy(CopyJobKind::push));
  CHECK(two.is(5));
}

TEST_CASE("hca sharing: any length arrives, and nothing behind it") {
  Two two(Two::polls);
  two.shares(CopyJobKind::push);
  for (const std::size_t bytes : {std::size_t{64 * 1024}, std::size_t{64 * 1024 + 1},
                                  std::size_t{262144 + 4096}, std::size_t{300'001}, kBytes - 1}) {
    std::memset(two.buffer, 1, kBytes);
    REQUIRE(two.copy(CopyJobKind::push, bytes));
    CHECK(std::all_of(two.buffer, two.buffer + bytes, [](char each) { return each == 2; }));
    CHECK(two.is(1, bytes));
  }
}

TEST_CASE("hca sharing: a process that does not poll is offered nothing, and holds nothing up") {
  Two two([](Two&) {
    for (;;)
      ::pause();
  });
  CHECK_FALSE(two.offers());
  // The process was willing, and does something else now.
  two.shared->page.board.willing.store(1);
  REQUIRE(two.offers());
  REQUIRE(two.copy(CopyJobKind::push));
  CHECK(two.is(2));
  CHECK_FALSE(two.offers());
}

TEST_CASE("hca sharing: a process that loses its processor with a part is soon asked less often") {
  Two two([](Two& world) {
    for (;;) {
      CopyJob& job = Two::takes(world);
      while (world.shared->page.board.awaited.load() == 0)
        ::sched_yield();
      ::usleep(2000);  // the engine waits for it
      finish(world.shared->page.board, job, false);
      world.shared->step.store(1);
    }
  });
  REQUIRE(eventually([&] {
    two.shared->page.board.willing.store(1);
    REQUIRE(two.copy(CopyJobKind::push));
    return two.shared->step.load() == 1;
  }));
  for (int i = 0; i < 60; ++i) {
    two.shared->page.board.willing.store(1);
    REQUIRE_FALSE(two.offers());
  }
  REQUIRE(eventually([&] {
    two.shared->page.board.willing.store(1);
    return two.offers();
  }));
}

TEST_CASE("hca sharing: a process that is stopped with a part moves nothing once it goes on") {
  Two two([](Two& world) {
    CopyJob& job = Two::takes(world);
    ::raise(SIGSTOP);
    const iovec here{reinterpret_cast<void*>(job.here), job.bytes};
    const auto* const there = reinterpret_cast<const iovec*>(&job.there);
    const ssize_t moved = ::process_vm_writev(::getppid(), &here, 1, there, 1, 0);
    world.shared->step.store(moved > 0 ? 1 : 2);
    finish(world.shared->page.board, job, moved > 0);
    Two::polls(world);
  });
  REQUIRE(eventually([&] { return two.offers(); }));
  // The process is sometimes too late to take a part.
  REQUIRE(eventually([&] {
    std::memset(two.buffer, 1, kBytes);
    two.shared->page.board.willing.store(1);
    REQUIRE(two.copy(CopyJobKind::push));
    REQUIRE(two.is(2));
    return std::any_of(std::begin(two.shared->page.board.jobs),
                       std::end(two.shared->page.board.jobs),
                       [](const CopyJob& job) { return job.state.load() == CopyJobState::begun; });
  }));
  std::memset(two.buffer, 3, kBytes);
  // The process is not asked as long as it may still use the old part.
  for (int i = 0; i < 100; ++i) {
    two.shared->page.board.willing.store(1);
    REQUIRE_FALSE(two.offers());
  }
  ::kill(two.pid, SIGCONT);
  REQUIRE(eventually([&] { return two.shared->step.load() != 0; }));
  CHECK(two.shared->step.load() == 2);
  CHECK(two.is(3));
  two.shares(CopyJobKind::push);  // it helps again as any other process
}

TEST_CASE("hca sharing: a process that ends with a part ends the copy and blocks no other") {
  Two two([](Two& world) {
    Two::takes(world);
    ::raise(SIGKILL);
  });
  REQUIRE(eventually([&] {
    two.shared->page.board.willing.store(1);
    static_cast<void>(two.offers());
    return !two.copy(CopyJobKind::push);
  }));
}

TEST_CASE("hca sharing: missing memory fails the copy, for the engine and for a process") {
  Two two(Two::polls);
  two.shares(CopyJobKind::push);
  const std::size_t page = 4096;
  // The page is one of this process. The part that the process itself copies reaches it.
  REQUIRE(::mprotect(two.buffer + kBytes / 2, page, PROT_NONE) == 0);
  CHECK_FALSE(two.copy(CopyJobKind::push));
  REQUIRE(::mprotect(two.buffer + kBytes / 2, page, PROT_READ | PROT_WRITE) == 0);
  CHECK(two.copy(CopyJobKind::push));
  CHECK(two.is(2));
}

TEST_CASE("hca sharing: a process that is gone is not offered to be written to") {
  // The number of the dead process may belong to another one by now.
  Two two(Two::polls);
  two.shares(CopyJobKind::push);
  const pid_t gone = ::fork();
  REQUIRE(gone >= 0);
  if (gone == 0) ::_exit(0);
  const ProcessMemory other = memory_of(gone);
  ::waitpid(gone, nullptr, 0);
  const std::uint32_t before = two.shared->moved.load();
  CHECK_FALSE(two.sharing.copy({CopyJobKind::push, *two.own, other, 8, address_of(two.buffer),
                                address_of(two.buffer), kBytes},
                               two.piece));
  CHECK(two.shared->moved.load() == before);
}

TEST_CASE("hca sharing: whatever a process writes to its page, a copy ends") {
  Two two([](Two& world) {
    std::uint32_t next = 1;
    for (;;) {
      for (CopyJob& job : world.shared->page.board.jobs) {
        next = next * 1664525 + 1013904223;
        job.state.store(static_cast<CopyJobState>(next >> 29));
        job.bytes = next;
        job.here = next;
      }
      world.shared->page.board.thread.store(next);
    }
  });
  for (int i = 0; i < 200; ++i)
    CHECK(two.copy(CopyJobKind::push));
}

TEST_CASE("hca sharing: offers of an engine that has ended are ignored") {
  const auto page = std::make_unique<ProcessPage>();
  page->board.pid_space = Sharing::pid_space();
  library::Helper helper;
  helper.begin(*page);
  CopyJob& job = page->board.jobs[3];
  offer(job);
  page->board.open.store(1);
  CHECK_FALSE(helper.help([] { return true; }));
  CHECK(job.state.load() == CopyJobState::offered);
  CHECK(helper.help([] { return false; }));
  CHECK(job.state.load() == CopyJobState::refused);  // no engine owns it
}

TEST_CASE("hca sharing: processes of another PID namespace do not help") {
  const auto page = std::make_unique<ProcessPage>();
  page->board.pid_space = GENERATE(std::uint64_t{0}, Sharing::pid_space() + 1);
  library::Helper helper;
  helper.begin(*page);
  CopyJob& job = page->board.jobs[0];
  offer(job);
  page->board.open.store(1);
  CHECK_FALSE(helper.help([] { return false; }));
  CHECK(job.state.load() == CopyJobState::offered);
}

}  // namespace sharing_test
