#include "hca/engine/memory/process_memory.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "common/core/text.h"
#include "common/os/futex.h"
#include "tests/support/eventually.h"

namespace process_memory_test {

using namespace scela;
using namespace scela::hca;
using scela::test::eventually;

namespace {

constexpr std::size_t kPage = 4096;

// A child that does nothing. Its memory is that of this process at the fork.
struct Child {
  explicit Child(const std::function<void()>& begins = {}) {
    pid = ::fork();
    REQUIRE(pid >= 0);
    if (pid == 0) {
      if (begins) begins();
      for (;;)
        ::pause();
    }
  }
  ~Child() { end(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  void end() {
    if (pid <= 0) return;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    pid = 0;
  }
  Fd descriptor() const { return Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))); }
  ProcessMemory memory() const { return {pid, descriptor()}; }

  pid_t pid = 0;
};

std::uint64_t address_of(const void* at) {
  return reinterpret_cast<std::uint64_t>(at);
}

std::vector<std::byte> numbered(std::size_t bytes) {
  std::vector<std::byte> made(bytes);
  for (std::size_t i = 0; i < bytes; ++i)
    made[i] = static_cast<std::byte>(i * 31 + i / 4096);
  return made;
}

}  // namespace

TEST_CASE("bytes go into and out of another process's memory") {
  std::vector<std::byte> there(100'000);
  const Child child;
  const ProcessMemory memory = child.memory();
  const auto sent = numbered(there.size());
  REQUIRE(memory.write(address_of(there.data()), sent));
  CHECK(there != sent);  // this process's own bytes
  std::vector<std::byte> back(sent.size());
  REQUIRE(memory.read(address_of(there.data()), back));
  CHECK(back == sent);
  CHECK(memory.write(address_of(there.data()), {}));
}

TEST_CASE("memory is copied from one process to another, and within one") {
  const auto from = numbered(300'001);
  std::vector<std::byte> to(from.size());
  const Child one;
  const Child other;
  std::vector<std::byte> buffer(GENERATE(4096u, 65'536u, 1u << 20));
  const ProcessMemory source = one.memory();
  const ProcessMemory target = GENERATE(true, false) ? other.memory() : one.memory();
  REQUIRE(ProcessMemory::copy(source, address_of(from.data()), target, address_of(to.data()),
                              from.size(), buffer));
  std::vector<std::byte> back(from.size());
  REQUIRE(target.read(address_of(to.data()), back));
  CHECK(back == from);
}

TEST_CASE("a transfer that leaves what the process has mapped is not done") {
  void* const pages =
      ::mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(pages != MAP_FAILED);
  REQUIRE(::munmap(static_cast<char*>(pages) + kPage, kPage) == 0);
  const Child child;
  const ProcessMemory memory = child.memory();
  const std::uint64_t end = address_of(pages) + kPage;
  std::vector<std::byte> bytes(200);
  CHECK(memory.read(end - 200, bytes));
  CHECK_FALSE(memory.read(end - 100, bytes));
  CHECK_FALSE(memory.write(end - 100, bytes));
  CHECK_FALSE(memory.read(0, bytes));
  CHECK_FALSE(memory.read(~0ULL - 10, bytes));
  CHECK_FALSE(ProcessMemory::copy(memory, end - 200, memory, end - 100, 200, bytes));
  ::munmap(pages, kPage);
}

TEST_CASE("memory is there as long as a thread is, the main one or another") {
  std::vector<std::byte> bytes(100);
  void* const shared =
      ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(shared != MAP_FAILED);
  auto* const ends = new (shared) std::atomic<std::uint32_t>(0);
  auto* const begun = new (ends + 1) std::atomic<std::uint32_t>(0);
  const auto sleep = [ends, begun] {
    begun->fetch_add(1);
    while (ends->load() == 0)
      futex_wait(reinterpret_cast<const std::uint32_t*>(ends), 0, nullptr);
    ::syscall(SYS_exit, 0);  // ends this thread only
  };
  const Child child([&] {
    std::thread(sleep).detach();
    std::thread([begun] {
      begun->fetch_add(1);
      for (;;)
        ::pause();
    }).detach();
    ::syscall(SYS_exit, 0);
  });
  const std::string tasks = cat("/proc/", child.pid, "/task");
  const auto threads = [&] {
    std::vector<std::string> names;
    for (const auto& each : std::filesystem::directory_iterator(tasks))
      names.push_back(each.path().filename());
    return names;
  };
  // The main thread stays listed, as a zombie.
  REQUIRE(eventually([&] {
    std::string line;
    std::getline(std::ifstream(cat(tasks, "/", child.pid, "/stat")), line);
    return line.find(") Z") != line.npos && begun->load() == 2;
  }));
  const std::size_t all = threads().size();  // the thread sanitizer has one of its own
  const ProcessMemory memory = child.memory();
  CHECK(memory.read(address_of(bytes.data()), bytes));
  CHECK(memory.write(address_of(bytes.data()), bytes));
  ends->store(1);
  futex_wake(reinterpret_cast<const std::uint32_t*>(ends));
  REQUIRE(eventually([&] { return threads().size() == all - 1; }));
  CHECK(memory.read(address_of(bytes.data()), bytes));
  CHECK(memory.write(address_of(bytes.data()), bytes));
  ::munmap(shared, kPage);
}

TEST_CASE("nothing goes to a process that has ended") {
  std::vector<std::byte> bytes(100);
  Child child;
  const ProcessMemory memory = child.memory();
  REQUIRE(memory.read(address_of(bytes.data()), bytes));
  child.end();
  CHECK_FALSE(memory.read(address_of(bytes.data()), bytes));
  CHECK_FALSE(memory.write(address_of(bytes.data()), bytes));
}

TEST_CASE("the number of an ended process is not trusted, even if another process has it") {
  std::vector<std::byte> bytes(100);
  Child gone;
  const Child here;
  // The kernel might give the number of the child that ended to the one that lives.
  const ProcessMemory memory(here.pid, gone.descriptor());
  REQUIRE(memory.read(address_of(bytes.data()), bytes));
  gone.end();
  CHECK_FALSE(memory.read(address_of(bytes.data()), bytes));
  CHECK_FALSE(memory.write(address_of(bytes.data()), bytes));
}

}  // namespace process_memory_test
