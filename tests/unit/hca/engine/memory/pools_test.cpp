#include "hca/engine/memory/pools.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include "hca/engine/daemon/machine.h"
#include "hca/engine/memory/sigbus_copy.h"

namespace pools_test {

using namespace scela;
using namespace scela::hca;

namespace {

constexpr std::uint64_t kBytes = 64 * 1024;
constexpr std::uint64_t kPage = 4096;

// A file in memory as a program makes it, with a mapping of its own.
struct File {
  explicit File(int seals = F_SEAL_SHRINK, std::uint64_t bytes = kBytes, bool filled = true)
      : fd(::memfd_create("pools-test", MFD_CLOEXEC | MFD_ALLOW_SEALING)), size(bytes) {
    REQUIRE(::ftruncate(fd.get(), static_cast<off_t>(bytes)) == 0);
    if (filled) REQUIRE(::fallocate(fd.get(), 0, 0, static_cast<off_t>(bytes)) == 0);
    void* const base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    REQUIRE(base != MAP_FAILED);
    at = static_cast<std::byte*>(base);
    if (seals != 0) REQUIRE(::fcntl(fd.get(), F_ADD_SEALS, seals) == 0);
  }
  ~File() { ::munmap(at, size); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  Fd fd;
  std::uint64_t size;
  std::byte* at;
};

std::vector<std::byte> numbered(std::size_t bytes) {
  std::vector<std::byte> made(bytes);
  for (std::size_t i = 0; i < bytes; ++i)
    made[i] = static_cast<std::byte>(i * 31 + i / 4096 + 1);
  return made;
}

// Returns how many mappings of files with that name this process has.
int mappings() {
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);)
    if (line.find("memfd:pools-test") != line.npos) ++count;
  return count;
}

// Adds this process to the machine, so that the machine reaches its memory.
ProcessId add_self(Machine& machine, ProcessId id) {
  auto chunks = Chunks::make();
  REQUIRE(chunks);
  machine.add(id, {ProcessMemory(::getpid(),
                                 Fd(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)))),
                   std::move(*chunks),
                   EventSocket(Fd()),
                   {},
                   {},
                   {},
                   {}});
  return id;
}

}  // namespace

TEST_CASE("pools: bytes go in and out of the file, from the offset on that was named") {
  const File file;
  Pools pools;
  const std::uint64_t offset = GENERATE(0u, 8u, 4096u, 5000u);
  const std::uint64_t length = kBytes - 6000;
  const auto made = pools.map(file.fd, {offset, length, true});
  REQUIRE(made.error == 0);
  CHECK(made.address >= kPools);
  const auto sent = numbered(length);
  // Some ends are aligned for a number, and others are not.
  for (const std::uint64_t bytes : {0u, 1u, 3u, 4u, 7u, 8u, 9u, 100u, 4097u}) {
    std::memset(file.at, 0, kBytes);
    for (const std::uint64_t from : {0u, 1u, 5u, 8u}) {
      const auto some = std::span(sent).subspan(from, bytes);
      REQUIRE(pools.write(made.address + from, some));
      CHECK(std::memcmp(file.at + offset + from, some.data(), bytes) == 0);
      CHECK(file.at[offset + from + bytes] == std::byte{0});
      std::vector<std::byte> back(bytes);
      REQUIRE(pools.read(made.address + from, back));
      CHECK(std::equal(back.begin(), back.end(), some.begin()));
      std::memset(file.at, 0, kBytes);
    }
  }
}

TEST_CASE("pools: memory before, behind, between and of removed pools is not reached") {
  const File file;
  Pools pools;
  const auto first = pools.map(file.fd, {100, 1000, true});
  const auto second = pools.map(file.fd, {4096, 4096, true});
  REQUIRE((first.error == 0 && second.error == 0));
  std::vector<std::byte> bytes(200);
  CHECK(pools.write(first.address + 800, bytes));
  CHECK_FALSE(pools.write(first.address + 801, bytes));
  CHECK_FALSE(pools.write(first.address - 1, bytes));
  CHECK_FALSE(pools.read(first.address + 1001, {bytes.data(), 0}));
  CHECK_FALSE(pools.read(second.address - 1, bytes));
  CHECK_FALSE(pools.read(kPools, bytes));
  CHECK_FALSE(pools.read(~0ULL - 10, bytes));
  CHECK(pools.at(first.address, ~0ULL, false) == nullptr);
  CHECK(pools.at(0, 1, false) == nullptr);

  pools.name(first.address, 7);
  pools.unmap_region(7);
  CHECK_FALSE(pools.read(first.address, bytes));
  CHECK(pools.read(second.address, bytes));
  // An address is not given a second time.
  const auto third = pools.map(file.fd, {100, 1000, true});
  CHECK(third.address > second.address);
  pools.unmap(third.address);
  pools.unmap(second.address);
  CHECK(pools.count() == 0);
  CHECK(pools.bytes() == 0);
  CHECK(mappings() == 1);  // the test's own mapping
}

TEST_CASE("pools: a file that could shrink, lacks memory, or is none in memory is refused") {
  Pools pools;
  const auto error_of = [&](const Fd& file, const Pools::Part& part) {
    return pools.map(file, part).error;
  };
  const Pools::Part whole{0, kBytes, true};
  const File unsealed(0), grows_only(F_SEAL_GROW), empty(F_SEAL_SHRINK, kBytes, false);
  const File closed(F_SEAL_SHRINK | F_SEAL_FUTURE_WRITE);
  const File good;
  CHECK(error_of(unsealed.fd, whole) == EINVAL);
  CHECK(error_of(grows_only.fd, whole) == EINVAL);
  CHECK(error_of(empty.fd, whole) == EFAULT);
  CHECK(error_of(closed.fd, whole) == EACCES);
  CHECK(error_of(closed.fd, {0, kBytes, false}) == 0);
  CHECK(error_of(Fd(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC)), whole) == EINVAL);
  CHECK(error_of(Fd(::open("/dev/zero", O_RDWR | O_CLOEXEC)), whole) == EINVAL);
  CHECK(error_of(Fd(), whole) == EINVAL);
  CHECK(error_of(good.fd, {0, kBytes + 1, true}) == EINVAL);
  CHECK(error_of(good.fd, {1, kBytes, true}) == EINVAL);
  CHECK(error_of(good.fd, {kBytes + 1, 1, true}) == EINVAL);
  CHECK(error_of(good.fd, {8, ~0ULL - 4, true}) == EINVAL);
  CHECK(error_of(good.fd, {~0ULL - 4, 8, true}) == EINVAL);
  CHECK(error_of(good.fd, {0, 0, true}) == EINVAL);
  CHECK(pools.count() == 1);
}

TEST_CASE("pools: memory shared for reading only is not written to") {
  const File file;
  std::memset(file.at, 7, kBytes);
  const Fd reading(
      ::open(("/proc/self/fd/" + std::to_string(file.fd.get())).c_str(), O_RDONLY | O_CLOEXEC));
  Pools pools;
  CHECK(pools.map(reading, {0, kBytes, true}).error == EACCES);
  const auto made = pools.map(reading, {0, kBytes, false});
  REQUIRE(made.error == 0);
  std::vector<std::byte> bytes(8);
  CHECK(pools.read(made.address, bytes));
  CHECK(bytes[3] == std::byte{7});
  CHECK_FALSE(pools.write(made.address, bytes));
}

TEST_CASE("pools: there is a bound on how many, and how much, a process has mapped") {
  const File file;
  Pools pools;
  std::vector<std::uint64_t> made;
  for (std::size_t i = 0; i < Pools::kMax; ++i) {
    made.push_back(pools.map(file.fd, {0, kPage, true}).address);
    REQUIRE(made.back() != 0);
  }
  CHECK(pools.map(file.fd, {0, kPage, true}).error == ENOMEM);
  pools.unmap(made[100]);
  CHECK(pools.map(file.fd, {0, kPage, true}).error == 0);
  CHECK(pools.count() == Pools::kMax);
  CHECK(pools.bytes() == Pools::kMax * kPage);
}

TEST_CASE("pools: pages that are taken away are zeros, and those that do not answer end a copy") {
  const File file;
  std::memset(file.at, 7, kBytes);
  Pools pools;
  const auto made = pools.map(file.fd, {0, kBytes, true});
  REQUIRE(made.error == 0);
  REQUIRE(::fallocate(file.fd.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kPage) == 0);
  std::vector<std::byte> bytes(kBytes);
  REQUIRE(pools.read(made.address, bytes));
  CHECK(bytes[0] == std::byte{0});
  CHECK(bytes[kPage] == std::byte{7});

  // If a file has shrunk, the kernel sends the same signal as for a page that has failed.
  const File shrinks(0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    bool well = ::ftruncate(shrinks.fd.get(), kPage) == 0;
    for (int i = 0; i < 3; ++i) {
      well = well && !copy_guarded(bytes.data(), shrinks.at, kBytes);
      well = well && !copy_guarded(shrinks.at + kPage, bytes.data(), 8);
      well = well && copy_guarded(bytes.data(), shrinks.at, kPage);
    }
    ::_exit(well ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("pools: a fault that is none of a copy's ends the process as ever") {
  const File shrinks(0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    char byte = 0;
    bool well = copy_guarded(reinterpret_cast<std::byte*>(&byte), shrinks.at, 1) &&
                ::ftruncate(shrinks.fd.get(), 0) == 0;
    if (well) byte = *reinterpret_cast<volatile char*>(shrinks.at);
    ::_exit(byte);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGBUS);
}

TEST_CASE("pools: one process's addresses mean nothing in another, and go with it") {
  const File file;
  Machine machine;
  const ProcessId one = add_self(machine, 1), other = add_self(machine, 2);
  const auto made = machine.map_pool(one, file.fd, {0, kBytes, true});
  REQUIRE(made.error == 0);
  std::vector<std::byte> bytes(8);
  CHECK(machine.read(one, made.address, bytes));
  CHECK_FALSE(machine.read(other, made.address, bytes));
  CHECK_FALSE(machine.write(other, made.address, bytes));
  CHECK_FALSE(machine.copy(other, made.address, one, made.address, 8));
  CHECK_FALSE(machine.copy(one, made.address, other, made.address, 8));
  machine.remove(one);
  CHECK_FALSE(machine.read(one, made.address, bytes));
  CHECK(mappings() == 1);
}

TEST_CASE("pools: the mappings of all processes together have a bound as well") {
  const File file;
  Machine machine;
  const std::size_t enough = Pools::kMaxOfAll / Pools::kMax;
  for (ProcessId id = 1; id <= enough; ++id) {
    add_self(machine, id);
    for (std::size_t i = 0; i < Pools::kMax; ++i)
      REQUIRE(machine.map_pool(id, file.fd, {0, kPage, true}).error == 0);
  }
  const auto last = static_cast<ProcessId>(enough + 1);
  add_self(machine, last);
  CHECK(machine.map_pool(last, file.fd, {0, kPage, true}).error == ENOMEM);
  machine.remove(1);
  CHECK(machine.map_pool(last, file.fd, {0, kPage, true}).error == 0);
}

TEST_CASE("pools: from one to another, bytes are copied without a system call's help") {
  const File from, to;
  const auto sent = numbered(kBytes);
  std::memcpy(from.at, sent.data(), kBytes);
  Machine machine;
  add_self(machine, 1);
  add_self(machine, 2);
  const auto source = machine.map_pool(1, from.fd, {0, kBytes, false});
  const auto target = machine.map_pool(2, to.fd, {0, kBytes, true});
  REQUIRE(machine.copy(1, source.address, 2, target.address, kBytes));
  CHECK(std::memcmp(to.at, sent.data(), kBytes) == 0);
  CHECK_FALSE(machine.copy(2, target.address, 1, source.address, kBytes));  // it is read-only
  CHECK_FALSE(machine.copy(1, source.address, 2, target.address + 1, kBytes));
}

// The copies use process_vm_readv and process_vm_writev.
TEST_CASE("pools: copies between a pool and other memory, of which either may be missing") {
  const File file;
  const auto sent = numbered(kBytes);
  std::vector<std::byte> memory = sent;
  Machine machine;
  add_self(machine, 1);
  add_self(machine, 2);
  const auto pool = machine.map_pool(2, file.fd, {0, kBytes, true});
  const auto address = reinterpret_cast<std::uint64_t>(memory.data());
  REQUIRE(machine.copy(1, address, 2, pool.address, kBytes));
  CHECK(std::memcmp(file.at, sent.data(), kBytes) == 0);
  memory.assign(kBytes, std::byte{0});
  REQUIRE(machine.copy(2, pool.address, 1, address, kBytes));
  CHECK(memory == sent);
  CHECK_FALSE(machine.copy(1, 8, 2, pool.address, 8));
  CHECK_FALSE(machine.copy(2, pool.address, 1, 8, 8));
  CHECK_FALSE(machine.copy(1, address, 2, pool.address + 1, kBytes));
  CHECK_FALSE(machine.copy(2, pool.address + 1, 1, address, kBytes));
}

}  // namespace pools_test
