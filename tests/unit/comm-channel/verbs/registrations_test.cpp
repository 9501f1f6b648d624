// Tests the cache over a device that gives each registration a key of its own and checks nothing.
// If a key comes again, the cache has found the registration.
#include "comm-channel/verbs/registrations.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <thread>
#include <vector>

namespace registrations_test {

using namespace scela::channel::verbs;
using For = Registrations::For;

namespace {

constexpr std::size_t kBytes = std::size_t{1} << 20;
#ifdef __SANITIZE_ADDRESS__
constexpr bool kFreeGivesBack = false;
#else
constexpr bool kFreeGivesBack = true;
#endif
std::atomic<std::uint32_t> keys{1};
std::atomic<int> regions{0};
bool read_only_refused = false;

ibv_mr* reg(ibv_pd* pd, void* address, std::size_t bytes, int access) {
  if (read_only_refused && access != 0) {
    errno = EFAULT;
    return nullptr;
  }
  auto* const mr = new ibv_mr{};
  mr->pd = pd;
  mr->addr = address;
  mr->length = bytes;
  mr->lkey = mr->rkey = keys++;
  ++regions;
  return mr;
}
int dereg(ibv_mr* mr) {
  delete mr;
  --regions;
  return 0;
}

struct Fake {
  Fake() {
    symbols.ibv_reg_mr = reg;
    symbols.ibv_dereg_mr = dereg;
    read_only_refused = false;
  }
  Symbols symbols;
  ibv_pd raw{};
  Pd pd{&raw, +[](ibv_pd*) { return 0; }};
};

void* map_at(void* where) {
  const int fixed = where == nullptr ? 0 : MAP_FIXED_NOREPLACE;
  void* const at =
      ::mmap(where, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | fixed, -1, 0);
  REQUIRE(at != MAP_FAILED);
  return at;
}

std::uint32_t key_of(Registrations& cache, void* at, std::size_t bytes = kBytes) {
  auto got = cache.get(at, bytes, For::transfer);
  REQUIRE(got);
  return got->rkey();
}

void must_cache(const Registrations& cache) {
  REQUIRE(cache.why() == "");
}

}  // namespace

TEST_CASE("memory that was registered is found again, in part too, and while it is used") {
  Fake fake;
  {
    Registrations cache(fake.symbols, fake.pd, 8 * kBytes);
    must_cache(cache);
    void* const at = map_at(nullptr);
    const auto key = key_of(cache, at);
    CHECK(key_of(cache, at) == key);
    CHECK(key_of(cache, static_cast<char*>(at) + 5000, 7000) == key);
    CHECK(cache.counts().found == 2);
    CHECK(cache.counts().bytes == kBytes);
    ::munmap(at, kBytes);
  }
  CHECK(regions == 0);
}

TEST_CASE("other memory at the same addresses is registered anew") {
  Fake fake;
  Registrations cache(fake.symbols, fake.pd, 8 * kBytes);
  must_cache(cache);
  void* const at = map_at(nullptr);
  auto key = key_of(cache, at);
  const auto other = [&](const char* how) {
    INFO(how);
    const auto now = key_of(cache, at);
    CHECK(now != key);
    key = now;
    CHECK(key_of(cache, at) == key);
  };
  ::munmap(at, kBytes);
  map_at(at);
  other("munmap");
  ::mmap(at, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  other("a mapping over it");
  void* const moved = ::mremap(at, kBytes, kBytes, MREMAP_MAYMOVE | MREMAP_FIXED, map_at(nullptr));
  REQUIRE(moved != MAP_FAILED);
  map_at(at);
  other("mremap");
  ::munmap(at, 4096);
  CHECK(::mmap(at, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == at);
  other("a page of it");
  ::munmap(at, kBytes);
  ::munmap(moved, kBytes);
  cache.settle();
  CHECK(cache.counts().bytes == 0);
}

TEST_CASE("memory that free gives back is noticed, and emptied memory is not kept") {
  Fake fake;
  Registrations cache(fake.symbols, fake.pd, 64 * kBytes);
  must_cache(cache);
  constexpr std::size_t kLarge = 40 * kBytes;  // malloc maps it
  void* const block = std::malloc(kLarge);
  REQUIRE(block != nullptr);
  key_of(cache, block, kLarge);
  const std::uint64_t registered = cache.counts().bytes;
  CHECK(registered >= kLarge);
  std::free(block);
  cache.settle();
  // Memory that the address sanitizer keeps has not changed, so the cache hears nothing of it.
  const std::uint64_t left = kFreeGivesBack ? 0 : registered;
  CHECK(cache.counts().bytes == left);
  void* const at = map_at(nullptr);
  std::set<std::uint32_t> seen{key_of(cache, at)};
  ::madvise(at, kBytes, MADV_DONTNEED);
  for (int i = 0; i < 3; ++i)
    CHECK(seen.insert(key_of(cache, at)).second);
  CHECK(cache.counts().bytes == left);
  ::munmap(at, kBytes);
}

TEST_CASE("a user of a registration keeps it until release, even if the memory goes") {
  Fake fake;
  Registrations cache(fake.symbols, fake.pd, 8 * kBytes);
  must_cache(cache);
  void* const at = map_at(nullptr);
  const int before = regions;
  auto used = cache.get(at, kBytes, For::transfer);
  REQUIRE(used);
  ::munmap(at, kBytes);
  cache.settle();
  CHECK(regions == before + 1);
  used->reset();
  CHECK(regions == before);
}

TEST_CASE("memory that others may still reach is registered no longer than it is used") {
  Fake fake;
  {
    Registrations cache(fake.symbols, fake.pd, 8 * kBytes);
    must_cache(cache);
    void* const at = map_at(nullptr);
    auto offered = cache.get(at, kBytes, For::transfer);
    auto used_too = cache.get(at, kBytes, For::transfer);
    REQUIRE(offered);
    REQUIRE(used_too);
    CHECK(regions == 1);
    const std::uint32_t key = offered->rkey();
    offered->keep_not();
    offered->reset();
    CHECK(regions == 1);  // the other use holds it
    CHECK(key_of(cache, at) != key);
    used_too->reset();
    CHECK(regions == 1);  // the new region
    // A registration that is moved to another object stays the same.
    auto last = cache.get(at, kBytes, For::transfer);
    REQUIRE(last);
    last->keep_not();
    Registration moved;
    moved = std::move(*last);
    moved.reset();
    CHECK(regions == 0);
    ::munmap(at, kBytes);
  }
  CHECK(regions == 0);
}

TEST_CASE("no more stays registered than is allowed") {
  Fake fake;
  Registrations cache(fake.symbols, fake.pd, 2 * kBytes);
  must_cache(cache);
  std::vector<void*> all;
  std::vector<std::uint32_t> their_keys;
  for (int i = 0; i < 4; ++i) {
    all.push_back(map_at(nullptr));
    their_keys.push_back(key_of(cache, all.back()));
  }
  CHECK(cache.counts().bytes == 2 * kBytes);
  CHECK(key_of(cache, all[3]) == their_keys[3]);
  CHECK(key_of(cache, all[0]) != their_keys[0]);
  for (void* at : all)
    ::munmap(at, kBytes);
}

TEST_CASE("without the cache each use has a registration of its own") {
  ::setenv("SCELA_CHANNEL_REGISTRATION_CACHE", "0", 1);
  Fake fake;
  Registrations cache(fake.symbols, fake.pd, 8 * kBytes);
  ::unsetenv("SCELA_CHANNEL_REGISTRATION_CACHE");
  CHECK(cache.why() == "SCELA_CHANNEL_REGISTRATION_CACHE is 0");
  void* const at = map_at(nullptr);
  CHECK(key_of(cache, at) != key_of(cache, at));
  CHECK(regions == 0);
  ::munmap(at, kBytes);
}

TEST_CASE("memory that may only be read can be sent from") {
  Fake fake;
  Registrations cache(fake.symbols, fake.pd, 8 * kBytes);
  static const char text[] = "read only";
  read_only_refused = true;
  CHECK(cache.get(const_cast<char*>(text), sizeof text, For::sending));
  const auto refused = cache.get(const_cast<char*>(text), sizeof text, For::transfer);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what.find("register memory") == 0);
  CHECK(cache.counts().bytes == 0);
}

TEST_CASE("threads that map, register and unmap at once find no registration of others' memory") {
  Fake fake;
  Registrations cache(fake.symbols, fake.pd, 64 * kBytes);
  must_cache(cache);
  std::mutex mutex;
  std::map<std::uint32_t, int> memory_of;  // each key belongs to one mapping
  std::atomic<int> mappings{0}, wrong{0};
  const auto work = [&] {
    for (int i = 0; i < 400; ++i) {
      const int mine = ++mappings;
      void* const at =
          ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      for (int use = 0; use < 3; ++use) {
        const auto got = cache.get(at, kBytes, For::transfer);
        const std::lock_guard lock(mutex);
        if (!got || memory_of.try_emplace(got->rkey(), mine).first->second != mine) ++wrong;
      }
      ::munmap(at, kBytes);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back(work);
  for (auto& thread : threads)
    thread.join();
  CHECK(wrong == 0);
  CHECK(cache.counts().found > 0);
}

}  // namespace registrations_test
