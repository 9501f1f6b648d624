#include "comm-channel/verbs/memory_watch.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdlib>
#include <thread>
#include <vector>

#include "tests/unit/comm-channel/shm/shm_ranks.h"

namespace memory_watch_test {

using scela::channel::shm::test::Child;
using scela::channel::shm::test::refuse;
using scela::channel::verbs::MemoryWatch;

namespace {

constexpr std::size_t kBytes = std::size_t{1} << 20;

struct Pages {
  Pages()
      : at(::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (at == MAP_FAILED) std::abort();  // REQUIRE is not for threads
  }
  std::uint64_t begin() const { return reinterpret_cast<std::uintptr_t>(at); }
  std::uint64_t end() const { return begin() + kBytes; }
  void* at;
};

std::unique_ptr<MemoryWatch> started() {
  auto watch = MemoryWatch::start();
  INFO((watch ? "" : watch.error().text()));
  REQUIRE(watch);
  return std::move(*watch);
}

}  // namespace

TEST_CASE("where the kernel refuses userfaultfd, the watch does not start, and says what to do") {
  Child refused([] {
    if (!refuse({SYS_userfaultfd}, EPERM)) return 2;
    const auto watch = MemoryWatch::start();
    if (watch) return 1;
    return watch.error().hint.find("allow userfaultfd") != std::string::npos ? 0 : 3;
  });
  CHECK(refused.wait() == 0);
}

TEST_CASE("memory that goes by a bare system call is told of when the call has returned") {
  const auto watch = started();
  const Pages pages;
  REQUIRE(watch->watch(pages.begin(), pages.end()));
  const auto before = watch->generation();
  CHECK(watch->is_quiet());
  ::syscall(SYS_munmap, pages.at, kBytes / 2);
  CHECK(watch->is_quiet());
  CHECK(watch->generation() > before);
  MemoryWatch::AllNews news;
  watch->take(news);
  bool told = false;
  for (std::size_t i = 0; i < news.count; ++i)
    told = told ||
           (news.news[i].begin == pages.begin() && news.news[i].end == pages.begin() + kBytes / 2);
  CHECK(told);
  ::munmap(pages.at, kBytes);
}

TEST_CASE("memory that stays, and memory that is not watched, give no news") {
  const auto watch = started();
  const Pages pages, others;
  REQUIRE(watch->watch(pages.begin(), pages.end()));
  const auto before = watch->generation();
  static_cast<char*>(pages.at)[0] = 1;
  ::mprotect(pages.at, kBytes, PROT_READ);
  ::munmap(others.at, kBytes);
  CHECK(watch->is_quiet());
  CHECK(watch->generation() == before);
  watch->forget(pages.begin(), pages.end());
  ::munmap(pages.at, kBytes);
  CHECK(watch->generation() == before);
}

// glibc keeps the stacks of ended threads, at most 40 MiB of them. A thread that joins another
// unmaps what is beyond that. Here the end of the watch does so.
TEST_CASE("memory that goes while the watch ends blocks no thread") {
  Child child([] {
    ::alarm(20);
    pthread_attr_t attributes;
    ::pthread_attr_init(&attributes);
    ::pthread_attr_setstacksize(&attributes, std::size_t{30} << 20);
    ::pthread_setattr_default_np(&attributes);
    auto watch = MemoryWatch::start();
    if (!watch) return 1;
    bool watched = false;
    std::thread([&] {
      const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
      const std::uint64_t page = here & ~std::uint64_t{4095};
      watched = (*watch)->watch(page - kBytes, page);
    }).join();
    watch->reset();
    return watched ? 0 : 2;
  });
  CHECK(child.wait() == 0);
}

TEST_CASE("shared memory, and files, cannot be watched") {
  const auto watch = started();
  void* const shared =
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(shared != MAP_FAILED);
  const auto at = reinterpret_cast<std::uintptr_t>(shared);
  CHECK_FALSE(watch->watch(at, at + kBytes));
  ::munmap(shared, kBytes);
}

TEST_CASE("threads that unmap at the same time are each told before they go on") {
  const auto watch = started();
  std::atomic<int> missed{0};
  const auto work = [&] {
    for (int i = 0; i < 300; ++i) {
      const Pages pages;
      if (!watch->watch(pages.begin(), pages.end())) ++missed;
      const auto before = watch->generation();
      ::munmap(pages.at, kBytes);
      if (watch->is_quiet() && watch->generation() == before) ++missed;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back(work);
  for (auto& thread : threads)
    thread.join();
  CHECK(missed == 0);
}

}  // namespace memory_watch_test
