#include "pmi/protocol/ring.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "common/core/random.h"
#include "common/core/text.h"
#include "pmi/protocol/use_notes.h"

namespace ring_test {

using namespace scela;
namespace ring = scela::pmi::ring;

namespace {

class Mapped {
 public:
  Mapped() : words_(ring::kTotalBytes / 8) {}
  ring::SharedMemory memory() { return ring::SharedMemory(words_.data()); }
  std::uint64_t& word(std::size_t at) { return words_[at]; }

 private:
  std::vector<std::uint64_t> words_;
};

std::string pattern(std::uint64_t from, std::size_t size) {
  std::string text;
  for (std::size_t i = 0; i < size; ++i)
    text += static_cast<char>('a' + (from + i) % 23);
  return text;
}

}  // namespace

TEST_CASE("bytes of both directions come out as they went in, however pieces wrap") {
  Random random(4);
  Mapped mapped;
  ring::ServerEnd server(mapped.memory(), 7);
  ring::ClientEnd client(mapped.memory());
  REQUIRE(client.usable());
  CHECK(client.served_by() == 7);
  std::uint64_t asked = 0;
  std::uint64_t heard = 0;
  std::uint64_t answered = 0;
  std::uint64_t got = 0;
  std::string out(2 * ring::kCapacity, '\0');
  bool rings = false;
  for (int step = 0; step < 40000; ++step) {
    const std::size_t size = random.below(random.chance(1, 8) ? out.size() : 300);
    switch (random.below(4)) {
      case 0: {
        const auto wrote = client.write(pattern(asked, size), rings);
        REQUIRE(wrote == std::min(size, ring::kCapacity - static_cast<std::size_t>(asked - heard)));
        asked += *wrote;
        break;
      }
      case 1: {
        const auto read = server.read(out.data(), size);
        REQUIRE(read);
        REQUIRE(out.substr(0, *read) == pattern(heard, *read));
        heard += *read;
        break;
      }
      case 2: {
        const auto wrote = server.write(pattern(answered, size));
        REQUIRE(wrote ==
                std::min(size, ring::kCapacity - static_cast<std::size_t>(answered - got)));
        answered += *wrote;
        break;
      }
      default: {
        const auto read = client.read(out.data(), size, rings);
        REQUIRE(read);
        REQUIRE(out.substr(0, *read) == pattern(got, *read));
        got += *read;
      }
    }
  }
  CHECK(heard > 100 * ring::kCapacity);
  CHECK(got > 100 * ring::kCapacity);
}

TEST_CASE(
    "a rank rings once for requests that an agent has not seen, and not while the agent looks") {
  Mapped mapped;
  ring::ServerEnd server(mapped.memory(), 1);
  ring::ClientEnd client(mapped.memory());
  bool rings = false;
  char out[64];
  client.write("one", rings);
  CHECK(rings);
  client.write("two", rings);
  CHECK_FALSE(rings);
  CHECK(server.has_requests());
  CHECK(server.read(out, sizeof out) == 6U);
  client.write("three", rings);
  CHECK_FALSE(rings);
  CHECK(server.arm());  // the agent reads on
  CHECK(server.read(out, sizeof out) == 5U);
  CHECK_FALSE(server.arm());
  client.write("four", rings);
  CHECK(rings);
}

TEST_CASE("a rank that waits is woken by its answers") {
  Mapped mapped;
  ring::ServerEnd server(mapped.memory(), 1);
  ring::ClientEnd client(mapped.memory());
  bool rings = false;
  char out[ring::kCapacity];
  client.write("request", rings);
  CHECK(client.sleeps(client.noted(), ring::kForAnswers));
  server.read(out, sizeof out);
  CHECK_FALSE(server.tell());  // it waits for the answer, not for room
  server.write("answer");
  CHECK(server.tell());
  CHECK_FALSE(server.tell());
  client.awake();

  client.write(std::string(ring::kCapacity, 'x'), rings);
  CHECK(client.write("y", rings) == 0U);
  const auto seen = client.noted();
  CHECK(client.sleeps(seen, ring::kForRoom));
  server.read(out, 10);
  CHECK(server.tell());
  CHECK_FALSE(client.sleeps(seen, ring::kForRoom));  // it would miss news
  client.awake();
  server.close();
  CHECK(client.is_closed());
}

TEST_CASE("an agent with answers left is rung when the rank has read some") {
  Mapped mapped;
  ring::ServerEnd server(mapped.memory(), 1);
  ring::ClientEnd client(mapped.memory());
  const std::string answer = pattern(0, ring::kCapacity + 100);
  CHECK(server.write(answer) == ring::kCapacity);
  CHECK_FALSE(server.has_room());
  char out[ring::kCapacity];
  bool rings = false;
  CHECK(client.read(out, 50, rings) == 50U);
  CHECK(rings);
  CHECK(server.has_room());
  CHECK(server.write(std::string_view(answer).substr(ring::kCapacity, 20)) == 20U);
  CHECK_FALSE(server.has_room());  // all is written; no answer waits
  client.read(out, 50, rings);
  CHECK_FALSE(rings);
}

TEST_CASE("memory of another kind is no ring") {
  Mapped mapped;
  CHECK_FALSE(ring::ClientEnd(mapped.memory()).usable());
  ring::ServerEnd server(mapped.memory(), 1);
  CHECK(ring::ClientEnd(mapped.memory()).usable());
  mapped.word(ring::total_bytes) += 8;
  CHECK_FALSE(ring::ClientEnd(mapped.memory()).usable());
}

TEST_CASE("positions that cannot be are told, and nothing is read or written by them") {
  for (const std::uint64_t wrong : {std::uint64_t{ring::kCapacity + 1}, std::uint64_t{1} << 63}) {
    Mapped mapped;
    ring::ServerEnd server(mapped.memory(), 1);
    char out[16];
    mapped.word(ring::request_tail) = wrong;
    CHECK(server.has_requests());  // the agent reads, and finds it wrong
    CHECK_FALSE(server.read(out, sizeof out));
    mapped.word(ring::answer_head) = wrong;
    CHECK_FALSE(server.write("answer"));
  }
}

TEST_CASE("a ring of random words harms no agent") {
  Random random(9);
  std::string out(ring::kCapacity, '\0');
  for (int round = 0; round < 1000; ++round) {
    Mapped mapped;
    ring::ServerEnd server(mapped.memory(), 1);
    for (int step = 0; step < 20; ++step) {
      for (std::uint64_t i = random.below(3); i > 0; --i) {
        const std::uint64_t small = random.below(2 * ring::kCapacity);
        mapped.word(random.below(ring::kHeaderWords)) = random.chance(3, 4) ? small : random.next();
      }
      const std::size_t size = random.below(out.size());
      if (const auto got = server.read(out.data(), size)) REQUIRE(*got <= size);
      if (const auto wrote = server.write(pattern(0, size))) REQUIRE(*wrote <= size);
      server.has_requests();
      server.has_room();
      server.tell();
      server.arm();
    }
  }
}

namespace {

// Takes the place of the doorbell and the futex, because both ends are threads of one process.
struct Doorbells {
  std::atomic<std::uint32_t> doorbell{0};
};

void await(const std::atomic<std::uint32_t>& word, std::uint32_t seen) {
  word.wait(seen);
}

}  // namespace

TEST_CASE("an agent and a rank that sleep whenever they may leave no byte behind") {
  constexpr std::uint64_t kBytes = 3'000'000;
  Mapped mapped;
  Doorbells doorbells;
  std::atomic<std::uint32_t> woken{0};
  ring::ServerEnd server(mapped.memory(), 1);
  const auto ring_doorbell = [&] {
    ++doorbells.doorbell;
    doorbells.doorbell.notify_one();
  };
  std::atomic<bool> wrong{false};
  // The agent echoes. It reads no more than it has room to answer, as an agent that bounds its
  // answers does.
  std::thread agent([&] {
    std::string left;
    std::string in(ring::kCapacity, '\0');
    std::uint64_t echoed = 0;
    while (echoed < kBytes) {
      const std::uint32_t seen = doorbells.doorbell;
      if (left.empty()) {
        const auto got = server.read(in.data(), in.size());
        if (!got) wrong = true;
        left.assign(in, 0, got.value_or(0));
      }
      const auto wrote = server.write(left);
      if (!wrote) wrong = true;
      echoed += wrote.value_or(0);
      left.erase(0, wrote.value_or(0));
      if (server.tell()) {
        ++woken;
        woken.notify_one();
      }
      const bool more = left.empty() && server.arm();
      if (!more && echoed < kBytes) await(doorbells.doorbell, seen);
    }
  });
  ring::ClientEnd client(mapped.memory());
  Random random(1);
  std::string out(ring::kCapacity, '\0');
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  while (received < kBytes && !wrong) {
    const std::uint32_t before = woken;
    const std::uint64_t seen = client.noted();
    bool rings = false;
    std::size_t done = 0;
    if (sent < kBytes) {
      const std::size_t size = 1 + random.below(std::min<std::uint64_t>(kBytes - sent, 6000));
      done = client.write(pattern(sent, size), rings).value_or(0);
      sent += done;
      if (rings) ring_doorbell();
    }
    const std::size_t got = client.read(out.data(), out.size(), rings).value_or(0);
    if (rings) ring_doorbell();
    if (out.compare(0, got, pattern(received, got)) != 0) wrong = true;
    received += got;
    if (done + got > 0) continue;
    const auto what = sent < kBytes ? ring::kForRoom : ring::kForAnswers;
    if (client.sleeps(seen, what)) await(woken, before);
    client.awake();
  }
  agent.join();
  CHECK_FALSE(wrong);
  CHECK(received == kBytes);
}

TEST_CASE("a rank that is killed at any moment leaves an agent that goes on") {
  Random random(6);
  for (int round = 0; round < 40; ++round) {
    void* const shared = ::mmap(nullptr, ring::kTotalBytes, PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(shared != MAP_FAILED);
    ring::ServerEnd server(ring::SharedMemory(shared), 1);
    const pid_t child = ::fork();
    if (child == 0) {
      ring::ClientEnd client{ring::SharedMemory(shared)};
      char out[ring::kCapacity];
      bool rings = false;
      for (std::uint64_t sent = 0;;) {
        sent += client.write(pattern(sent, 1 + sent % 3000), rings).value_or(0);
        client.read(out, sizeof out, rings);
      }
    }
    REQUIRE(child > 0);
    std::string in(ring::kCapacity, '\0');
    std::uint64_t heard = 0;
    bool right = true;
    const auto listen = [&] {
      const auto got = server.read(in.data(), in.size());
      right = right && got && in.compare(0, *got, pattern(heard, *got)) == 0;
      heard += got.value_or(0);
      right = right && server.write("answer");
      server.tell();
      if (got == 0U) std::this_thread::yield();
      return got.value_or(0) > 0;
    };
    const std::uint64_t until = random.below(30000);
    while (heard < until && right)
      listen();
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    while (listen()) {
    }
    CHECK(right);
    CHECK_FALSE(server.arm());
    ::munmap(shared, ring::kTotalBytes);
  }
}

TEST_CASE("uses are reported once, the last of very many, in order") {
  std::vector<std::uint64_t> words(ring::kTotalBytes / 8);
  ring::UseNotes rank(words.data()), agent(words.data());
  const auto take = [&] {
    std::vector<std::uint64_t> told;
    agent.take([&](std::uint64_t hash) { told.push_back(hash); });
    return told;
  };
  CHECK(take().empty());
  rank.note(5);
  rank.note(7);
  CHECK(take() == std::vector<std::uint64_t>{5, 7});
  CHECK(take().empty());
  for (std::uint64_t hash = 0; hash < 10 * ring::kUses; ++hash)
    rank.note(hash);
  const auto last = take();
  CHECK(last.size() == ring::kUses);
  CHECK(last.front() == 9 * ring::kUses);
  CHECK(last.back() == 10 * ring::kUses - 1);
  // If a rank writes a wrong number, its agent takes no more than that many uses.
  words[ring::kUsesAt / 8] = 3;
  CHECK(take().size() <= ring::kUses);
  words[ring::kUsesAt / 8] = UINT64_MAX;
  CHECK(take().size() <= ring::kUses);
}

}  // namespace ring_test
