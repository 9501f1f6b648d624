#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <csignal>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/core/random.h"
#include "common/core/text.h"
#include "pmi/protocol/segment_reader.h"
#include "pmi/server/segment_writer.h"

namespace segment_test {

using namespace scela;
namespace segment = scela::pmi::segment;

namespace {

using Table = std::map<std::string, std::string, std::less<>>;

segment::Writer::Pairs pairs_of(const Table& table) {
  return [&table](const segment::Writer::Each& each) {
    for (const auto& [key, value] : table)
      each(key, value);
  };
}

class Memory {
 public:
  explicit Memory(std::uint64_t bytes) : words_(bytes / 8) {}
  void* base() { return words_.data(); }
  std::uint64_t bytes() const { return words_.size() * 8; }
  std::uint64_t& word(std::size_t at) { return words_[at]; }

 private:
  std::vector<std::uint64_t> words_;
};

std::optional<std::string> get(const segment::Reader& reader, std::string_view key,
                               std::uint64_t room = 4096) {
  std::string out(room, '\0');
  const auto size = reader.get(key, out.data(), room);
  if (!size) return std::nullopt;
  out.resize(*size);
  return out;
}

// Returns version v of a key's value. Its length depends on v, and every byte depends on both.
std::string value_of(std::string_view key, std::uint64_t v) {
  std::string value = cat(v, "-");
  const auto letter = static_cast<char>('a' + (v + key.size()) % 26);
  value.append(v % 97, letter);
  return value + std::string(key);
}
bool is_a_value_of(std::string_view key, const std::string& value) {
  const auto dash = value.find('-');
  if (dash == std::string::npos || dash == 0 || dash > 12) return false;
  return value == value_of(key, std::stoull(value.substr(0, dash)));
}

}  // namespace

TEST_CASE("a segment answers as a map would, or says that it cannot") {
  Random random(3);
  for (int program = 0; program < 60; ++program) {
    const bool tight = program % 3 == 0;
    Memory memory(tight ? 8 * 1024 : 1024 * 1024);
    Table table;
    segment::Writer writer(memory.base(), memory.bytes(), 100, pairs_of(table));
    const segment::Reader reader(memory.base(), memory.bytes());
    REQUIRE(reader.usable());
    const std::uint64_t keys = 1 + random.below(tight ? 30 : 400);
    for (int step = 0; step < 2000; ++step) {
      const std::string key = cat(std::string(random.below(20), 'k'), random.below(keys));
      const std::uint64_t what = random.below(10);
      if (what < 4) {
        const std::string value(random.below(tight ? 100 : 600),
                                static_cast<char>('a' + step % 26));
        table[key] = value;
        writer.set(key, value);
      } else if (what < 6) {
        table.erase(key);
        writer.erase(key);
      } else {
        const auto got = get(reader, key);
        const auto have = table.find(key);
        if (got) {
          REQUIRE(have != table.end());
          REQUIRE(*got == have->second);
        } else if (!tight) {
          REQUIRE(have == table.end());
        }
      }
    }
  }
}

TEST_CASE("pairs that are there before the segment are in it") {
  Table table{{"one", "1"}, {"", "empty key"}, {"empty", ""}};
  Memory memory(64 * 1024);
  segment::Writer writer(memory.base(), memory.bytes(), 1, pairs_of(table));
  const segment::Reader reader(memory.base(), memory.bytes());
  CHECK(get(reader, "one") == "1");
  CHECK(get(reader, "") == "empty key");
  CHECK(get(reader, "empty") == "");
  CHECK(get(reader, "two") == std::nullopt);
}

TEST_CASE("a key is found by its hash as long as its pair is there") {
  Table table = {{"one", "1"}, {"another", "2"}};
  Memory memory(1 << 16);
  segment::Writer writer(memory.base(), memory.bytes(), 4, pairs_of(table));
  CHECK(writer.key_of(segment::hash_of("one")) == "one");
  CHECK(writer.key_of(segment::hash_of("another")) == "another");
  CHECK(writer.key_of(segment::hash_of("none")).empty());
  // A hash that begins with the same bits belongs to another key.
  CHECK(writer.key_of(segment::hash_of("one") ^ (std::uint64_t{1} << 31)).empty());
  writer.erase("one");
  CHECK(writer.key_of(segment::hash_of("one")).empty());
}

TEST_CASE("a value longer than the reader's room is left to the socket") {
  Table table{{"key", std::string(100, 'v')}};
  Memory memory(64 * 1024);
  segment::Writer writer(memory.base(), memory.bytes(), 1, pairs_of(table));
  const segment::Reader reader(memory.base(), memory.bytes());
  CHECK(get(reader, "key", 100) == std::string(100, 'v'));
  CHECK(get(reader, "key", 99) == std::nullopt);
}

TEST_CASE("replacing values for ever fits in a fixed room") {
  Table table;
  Memory memory(64 * 1024);
  segment::Writer writer(memory.base(), memory.bytes(), 1, pairs_of(table));
  const segment::Reader reader(memory.base(), memory.bytes());
  for (int i = 0; i < 20000; ++i) {
    const std::string key = cat("key", i % 50);
    table[key] = cat("value ", i, std::string(200, 'x'));
    writer.set(key, table[key]);
    REQUIRE(get(reader, key) == table[key]);
  }
  for (const auto& [key, value] : table)
    CHECK(get(reader, key) == value);
}

TEST_CASE("a cache that evicts has a segment that stays small") {
  Table table;
  Memory memory(std::uint64_t{64} << 20);
  segment::Writer writer(memory.base(), memory.bytes(), 1, pairs_of(table));
  for (int i = 0; i < 200000; ++i) {
    if (i >= 100) {
      table.erase(cat("key", i - 100));
      writer.erase(cat("key", i - 100));
    }
    table[cat("key", i)] = std::string(100, 'x');
    writer.set(cat("key", i), table[cat("key", i)]);
  }
  // The memory was zeroed, so a word that is not zero was used.
  std::size_t used = memory.bytes() / 8;
  while (used > 0 && memory.word(used - 1) == 0)
    --used;
  CHECK(used > 0);
  CHECK(used * 8 < 4 * 1024 * 1024);
}

TEST_CASE("a value that does not fit is absent, never old") {
  Table table{{"key", "small"}};
  Memory memory(4096);
  segment::Writer writer(memory.base(), memory.bytes(), 1, pairs_of(table));
  const segment::Reader reader(memory.base(), memory.bytes());
  table["key"] = std::string(5000, 'x');
  writer.set("key", table["key"]);
  CHECK(get(reader, "key", 8192) == std::nullopt);
  table["key"] = "fits again";
  writer.set("key", "fits again");
  CHECK(get(reader, "key") == "fits again");
}

TEST_CASE("a reader in a layout that is being made gives up and one in none is not usable") {
  Table table{{"key", "value"}};
  Memory memory(64 * 1024);
  const segment::Reader early(memory.base(), memory.bytes());
  CHECK_FALSE(early.usable());
  CHECK(get(early, "key") == std::nullopt);
  segment::Writer writer(memory.base(), memory.bytes(), 1, pairs_of(table));
  const segment::Reader reader(memory.base(), memory.bytes());
  memory.word(segment::sequence) += 1;  // as a killed writer leaves it
  CHECK(get(reader, "key") == std::nullopt);
  memory.word(segment::sequence) += 1;
  CHECK(get(reader, "key") == "value");
  CHECK_FALSE(segment::Reader(memory.base(), memory.bytes() - 8).usable());
  CHECK_FALSE(segment::Reader(nullptr, 0).usable());
}

TEST_CASE("dead ranks are marked once and counted") {
  Table table;
  Memory memory(64 * 1024);
  segment::Writer writer(memory.base(), memory.bytes(), 130, pairs_of(table));
  const segment::Reader reader(memory.base(), memory.bytes());
  for (std::uint64_t rank = 0; rank < 140; ++rank)
    CHECK_FALSE(reader.dead(rank));
  writer.mark_dead(0);
  writer.mark_dead(64);
  writer.mark_dead(129);
  writer.mark_dead(129);
  writer.mark_dead(130);  // this rank is not in the job
  CHECK(reader.generation() == 3);
  for (std::uint64_t rank = 0; rank < 140; ++rank)
    CHECK(reader.dead(rank) == (rank == 0 || rank == 64 || rank == 129));
  CHECK(*reader.futex() == 3);
}

TEST_CASE("a segment of random words is read without harm") {
  Random random(8);
  Table table{{"key", "value"}, {"other", std::string(300, 'o')}};
  Memory memory(4096);
  segment::Writer writer(memory.base(), memory.bytes(), 10, pairs_of(table));
  const std::vector<std::uint64_t> good(&memory.word(0), &memory.word(0) + memory.bytes() / 8);
  for (int round = 0; round < 20000; ++round) {
    for (std::size_t i = 0; i < good.size(); ++i)
      memory.word(i) = good[i];
    for (std::uint64_t i = 1 + random.below(6); i > 0; --i) {
      const std::size_t at = random.chance(1, 2) ? random.below(100) : random.below(good.size());
      const std::uint64_t small = random.below(5000);
      memory.word(at) = random.chance(1, 2) ? small : random.next();
    }
    const segment::Reader reader(memory.base(), memory.bytes());
    for (const char* key : {"key", "other", "third"}) {
      const auto got = get(reader, key, 512);
      if (got) REQUIRE(got->size() <= 512);
    }
    reader.dead(random.below(200));
  }
}

TEST_CASE("readers beside the writer see whole values of the right key, newer and newer") {
  Memory memory(96 * 1024);  // small, so it is laid out again often
  Table table;
  segment::Writer writer(memory.base(), memory.bytes(), 1, pairs_of(table));
  std::atomic<bool> over{false};
  std::atomic<std::uint64_t> seen{0};
  std::vector<std::thread> readers;
  std::atomic<int> wrong{0};
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&, i] {
      const segment::Reader reader(memory.base(), memory.bytes());
      Random random(static_cast<std::uint64_t>(i));
      std::map<std::string, std::uint64_t> newest;
      while (!over) {
        const std::string key = cat("key-", random.below(60));
        const auto got = get(reader, key);
        if (!got) continue;
        ++seen;
        if (!is_a_value_of(key, *got)) {
          ++wrong;
          continue;
        }
        std::uint64_t& last = newest[key];
        const std::uint64_t version = std::stoull(*got);
        if (version < last) ++wrong;
        last = version;
      }
    });
  }
  Random random(77);
  for (std::uint64_t v = 1; v < 20000 || seen < 1000; ++v) {
    const std::string key = cat("key-", random.below(60));
    table[key] = value_of(key, v);
    writer.set(key, table[key]);
  }
  over = true;
  for (std::thread& reader : readers)
    reader.join();
  CHECK(wrong == 0);
  CHECK(seen >= 1000);
}

TEST_CASE("a writer that is killed at any moment blocks no reader and leaves whole values") {
  constexpr std::uint64_t kBytes = 96 * 1024;
  Random random(5);
  for (int round = 0; round < 40; ++round) {
    void* const shared =
        ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(shared != MAP_FAILED);
    const pid_t child = ::fork();
    if (child == 0) {
      Table table;
      segment::Writer writer(shared, kBytes, 1, pairs_of(table));
      for (std::uint64_t v = 1;; ++v) {
        const std::string key = cat("key-", v % 60);
        table[key] = value_of(key, v);
        writer.set(key, table[key]);
      }
    }
    REQUIRE(child > 0);
    const auto* const words = static_cast<const std::uint64_t*>(shared);
    const std::uint64_t layouts = 2 * random.below(20) + random.below(2);
    while (segment::load(words + segment::magic) == 0 ||
           segment::load(words + segment::sequence) < layouts) {
    }
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const segment::Reader reader(shared, kBytes);
    int found = 0;
    for (int i = 0; i < 60; ++i) {
      const auto got = get(reader, cat("key-", i));
      if (!got) continue;
      ++found;
      CHECK(is_a_value_of(cat("key-", i), *got));
    }
    if (segment::load(words + segment::sequence) % 2 != 0) CHECK(found == 0);
    ::munmap(shared, kBytes);
  }
}

}  // namespace segment_test
