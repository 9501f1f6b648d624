// Tests that a copy to or from memory that does not exist returns an error and raises no signal.
#include "comm-channel/engine/guarded_copy.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstddef>
#include <vector>

#include "tests/unit/comm-channel/shm/shm_ranks.h"

namespace scela::channel::test::guarded_copy_test {
namespace {

// Two mapped pages, and an unmapped one behind them.
struct Pages {
  Pages()
      : size(2 * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))),
        bytes(static_cast<std::byte*>(::mmap(nullptr, size + size / 2, PROT_READ | PROT_WRITE,
                                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    ::munmap(bytes + size, size / 2);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() { ::munmap(bytes, size); }
  const std::size_t size;
  std::byte* const bytes;
};

// Returns true if copies of both directions are guarded.
bool is_guarded() {
  GuardedCopy copy;
  const Pages pages;
  std::vector<std::byte> data(pages.size + 8), got(pages.size + 8);
  for (std::size_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<std::byte>(i * 7 + i / 256);
  for (int round = 0; round < 2; ++round) {  // a failed copy has left nothing behind
    bool good = copy(pages.bytes, data.data(), pages.size) &&
                copy(got.data(), pages.bytes, pages.size) &&
                std::equal(got.begin(), got.begin() + static_cast<std::ptrdiff_t>(pages.size),
                           data.begin()) &&
                copy(got.data(), nullptr, 0);
    good = good && !copy(pages.bytes, data.data(), pages.size + 8) &&
           !copy(got.data(), pages.bytes, pages.size + 8) &&
           !copy(got.data(), pages.bytes + pages.size, 8) &&
           !copy(pages.bytes + pages.size, data.data(), 8);
    // A copy does not write to memory that is read-only.
    ::mprotect(pages.bytes, pages.size, PROT_READ);
    good = good && !copy(pages.bytes, data.data(), 8) && copy(got.data(), pages.bytes, 8);
    ::mprotect(pages.bytes, pages.size, PROT_READ | PROT_WRITE);
    if (!good) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("channel copy: a copy fails if a buffer is gone or may not be written") {
  CHECK(is_guarded());
}

TEST_CASE("channel copy: it also fails if the kernel refuses copies between processes") {
  shm::test::Child child(
      [] { return shm::test::refuse({SYS_process_vm_readv}, EPERM) && is_guarded() ? 0 : 1; });
  CHECK(child.wait() == 0);
}

TEST_CASE("channel copy: without a descriptor, whole copies are made all the same") {
  shm::test::Child child([] {
    if (!shm::test::refuse({SYS_process_vm_readv, SYS_pipe2}, EMFILE)) return 2;
    GuardedCopy copy;
    const std::vector<std::byte> data(5000, std::byte{3});
    std::vector<std::byte> got(5000);
    return copy(got.data(), data.data(), data.size()) && got == data ? 0 : 1;
  });
  CHECK(child.wait() == 0);
}

}  // namespace scela::channel::test::guarded_copy_test
