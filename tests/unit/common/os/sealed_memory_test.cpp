#include "common/os/sealed_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <utility>

#include "common/core/text.h"

namespace sealed_memory_test {

using namespace scela;

namespace {

constexpr std::uint64_t kBytes = 64 * 1024;

bool maps_writable(int fd) {
  void* const base = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (base == MAP_FAILED) return false;
  ::munmap(base, kBytes);
  return true;
}

}  // namespace

TEST_CASE("sealed memory is written by its maker alone and read by others") {
  auto made = SealedMemory::make("test", kBytes);
  REQUIRE(made);
  auto* const words = static_cast<char*>(made->base());
  CHECK(words[0] == 0);
  std::strcpy(words + 100, "written after the seals");

  auto reader = SealedMemory::attach(Fd(::dup(made->fd().get())));
  REQUIRE(reader);
  CHECK(reader->bytes() == kBytes);
  CHECK(std::string(static_cast<const char*>(reader->base()) + 100) == "written after the seals");

  const int fd = made->fd().get();
  CHECK_FALSE(maps_writable(fd));
  CHECK(::write(fd, "x", 1) == -1);
  CHECK(::ftruncate(fd, 0) == -1);
  CHECK(::fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) == -1);
  // A descriptor for reading can be reopened for writing, and the seals hold there too.
  const Fd again(::open(cat("/proc/self/fd/", fd).c_str(), O_RDWR | O_CLOEXEC));
  REQUIRE(again);
  CHECK_FALSE(maps_writable(again.get()));
  CHECK(::pwrite(again.get(), "x", 1, 0) == -1);
  CHECK(::ftruncate(again.get(), 0) == -1);
  CHECK(::ftruncate(again.get(), 2 * kBytes) == -1);
  CHECK(::fallocate(again.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) == -1);
  CHECK(::mprotect(reader->base(), kBytes, PROT_READ | PROT_WRITE) == -1);
  CHECK(words[0] == 0);
}

TEST_CASE("memory that its maker could shrink is refused") {
  Fd fd(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(::ftruncate(fd.get(), kBytes) == 0);
  const auto attached = SealedMemory::attach(std::move(fd));
  REQUIRE_FALSE(attached);
  CHECK(attached.error().why == "its size is not sealed");
  CHECK_FALSE(SealedMemory::attach(Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC))));
}

TEST_CASE("a large segment costs what is touched of it") {
  auto made = SealedMemory::make("test", std::uint64_t{1} << 30);
  REQUIRE(made);
  static_cast<char*>(made->base())[5] = 1;
  SealedMemory moved = std::move(*made);
  CHECK(static_cast<const char*>(moved.base())[5] == 1);
}

TEST_CASE("memory that all may write keeps its size against every attempt to change it") {
  auto made = SealedMemory::make("test", kBytes, SealedMemory::Writers::all);
  REQUIRE(made);
  auto other = SealedMemory::attach(Fd(::dup(made->fd().get())), SealedMemory::Writers::all);
  REQUIRE(other);
  const Fd again(::open(cat("/proc/self/fd/", made->fd().get()).c_str(), O_RDWR | O_CLOEXEC));
  for (const int fd : {made->fd().get(), other->fd().get(), again.get()}) {
    CHECK(::ftruncate(fd, 0) == -1);
    CHECK(::ftruncate(fd, 2 * kBytes) == -1);
    CHECK(::fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) == -1);
  }
  made->close_fd();
  static_cast<char*>(other->base())[kBytes - 1] = 'x';
  CHECK(static_cast<const char*>(made->base())[kBytes - 1] == 'x');
}

}  // namespace sealed_memory_test
