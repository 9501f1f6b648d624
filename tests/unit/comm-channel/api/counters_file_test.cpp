// Tests the file in which a rank reports the resources that it has used.
#include "comm-channel/api/counters_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "common/core/text.h"
#include "common/os/fd.h"
#include "tests/unit/comm-channel/channel_ranks.h"

namespace scela::channel::counters_file_test {
namespace {

std::size_t count_of(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size())
    ++count;
  return count;
}

void exchange(test::Ranks& ranks, int from, int to, std::size_t size) {
  const test::Data sent(size);
  test::Data got(size);
  Operation& receive = ranks.receive(to, from, 1, got);
  Operation& send = ranks.send(from, to, 1, sent);
  ranks.settle();
  CHECK(receive.complete());
  CHECK(send.complete());
  ranks[to].release(receive);
  ranks[from].release(send);
}

TEST_CASE("channel: messages between two ranks count in the counters and totals of both") {
  test::Ranks ranks(3);
  for (const std::size_t size : {std::size_t{0}, std::size_t{10}, std::size_t{100'000}})
    exchange(ranks, 0, 1, size);
  exchange(ranks, 2, 1, 7);
  exchange(ranks, 0, 0, 5);
  const auto is = [](const PeerCounters& found, const PeerCounters& expected) {
    return found.messages_sent == expected.messages_sent &&
           found.bytes_sent == expected.bytes_sent &&
           found.messages_received == expected.messages_received &&
           found.bytes_received == expected.bytes_received;
  };
  CHECK(is(ranks[0].counters(1), {3, 0, 100'010, 0}));
  CHECK(is(ranks[1].counters(0), {0, 3, 0, 100'010}));
  CHECK(is(ranks[1].counters(2), {0, 1, 0, 7}));
  CHECK(is(ranks[0].counters(0), {1, 1, 5, 5}));
  CHECK(is(ranks[0].counters(2), {}));
  const Counters all = ranks[0].counters(), of_one = ranks[1].counters();
  CHECK((all.messages_sent == 4 && all.bytes_sent == 100'015));
  CHECK((of_one.messages_received == 4 && of_one.bytes_received == 100'017 &&
         of_one.bytes_sent == 0));
  CHECK(all.shared_bytes > 0);
}

TEST_CASE("channel: counters are left in a file, and in nothing else that has its name") {
  char folder[] = "/tmp/scela-counters-XXXXXX";
  REQUIRE(::mkdtemp(folder) != nullptr);
  const std::filesystem::path file = std::filesystem::path(folder) / "file";
  const std::filesystem::path fifo = std::filesystem::path(folder) / "fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  const Fd reader(::open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  REQUIRE(reader);
  for (const auto& path : {file, fifo}) {
    ::setenv("SCELA_COUNTERS", path.c_str(), 1);
    write_counters(Counters(), {});
  }
  ::unsetenv("SCELA_COUNTERS");
  char byte = 0;
  CHECK(::read(reader.get(), &byte, 1) == 0);
  CHECK(std::filesystem::file_size(file) == counters_text(Counters(), {}).size());
  std::filesystem::remove_all(folder);
}

TEST_CASE(
    "channel: counters are told with every figure, and the peers that most went to or came from") {
  Counters counters;
  counters.connections = 3;
  counters.max_unexpected = 7;
  counters.resent = 5;
  std::vector<PeerCounters> peers(4);
  peers[1] = {1, 0, 10, 0};
  peers[3] = {2, 4, 10, 30};
  const std::string text = counters_text(counters, peers);
  CHECK(text.starts_with("channel {\"send_queue_pairs\":0,"));
  for (const char* figure : {"\"connections\":3,", "\"max_unexpected\":7,", "\"resent\":5,"})
    CHECK_THAT(text, Catch::Contains(figure));
  CHECK(text.ends_with(
      ",\"peers\":{"
      "\"3\":{\"messages_sent\":2,\"messages_received\":4,\"bytes_sent\":10,\"bytes_received\":30},"
      "\"1\":{\"messages_sent\":1,\"messages_received\":0,\"bytes_sent\":10,\"bytes_received\":0}}}"
      "\n"));
}

TEST_CASE("channel: counters of very many peers stay within what a launcher takes of a rank") {
  std::vector<PeerCounters> peers(100'000);
  for (std::size_t i = 0; i < peers.size(); ++i)
    peers[i] = {1'000'000, 1'000'000, 1'000'000'000 + i, 1'000'000'000};
  const std::string text = counters_text({}, peers);
  CHECK(text.size() < 8192);
  CHECK(count_of(text, "\"messages_sent\"") > 50);
  CHECK_THAT(text, Catch::Contains("\"99999\":{"));
  CHECK(text.ends_with("}}}\n"));
}

}  // namespace
}  // namespace scela::channel::counters_file_test
