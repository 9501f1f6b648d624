// Tests the file in which a rank reports the resources that it has used.
#include "comm-channel/api/account_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "common/core/text.h"
#include "common/os/fd.h"
#include "tests/unit/comm-channel/ranks.h"

namespace scela::channel::account_file_test {
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

TEST_CASE("channel: what goes between two is in both their accounts, and in their own of all") {
  test::Ranks ranks(3);
  for (const std::size_t size : {std::size_t{0}, std::size_t{10}, std::size_t{100'000}})
    exchange(ranks, 0, 1, size);
  exchange(ranks, 2, 1, 7);
  exchange(ranks, 0, 0, 5);
  const auto is = [](const PeerAccounts& found, const PeerAccounts& expected) {
    return found.messages_sent == expected.messages_sent && found.sent == expected.sent &&
           found.messages_received == expected.messages_received &&
           found.received == expected.received;
  };
  CHECK(is(ranks[0].accounts(1), {3, 0, 100'010, 0}));
  CHECK(is(ranks[1].accounts(0), {0, 3, 0, 100'010}));
  CHECK(is(ranks[1].accounts(2), {0, 1, 0, 7}));
  CHECK(is(ranks[0].accounts(0), {1, 1, 5, 5}));
  CHECK(is(ranks[0].accounts(2), {}));
  const Accounts all = ranks[0].accounts(), of_one = ranks[1].accounts();
  CHECK((all.messages_sent == 4 && all.sent == 100'015));
  CHECK((of_one.messages_received == 4 && of_one.received == 100'017 && of_one.sent == 0));
  CHECK(all.shared > 0);
}

TEST_CASE("channel: accounts are left in a file, and in nothing else that has its name") {
  char folder[] = "/tmp/scela-accounts-XXXXXX";
  REQUIRE(::mkdtemp(folder) != nullptr);
  const std::filesystem::path file = std::filesystem::path(folder) / "file";
  const std::filesystem::path fifo = std::filesystem::path(folder) / "fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  const Fd reader(::open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  REQUIRE(reader);
  for (const auto& path : {file, fifo}) {
    ::setenv("SCELA_ACCOUNTS", path.c_str(), 1);
    leave_account(Accounts(), {});
  }
  ::unsetenv("SCELA_ACCOUNTS");
  char byte = 0;
  CHECK(::read(reader.get(), &byte, 1) == 0);
  CHECK(std::filesystem::file_size(file) == account_text(Accounts(), {}).size());
  std::filesystem::remove_all(folder);
}

TEST_CASE(
    "channel: accounts are told with every figure, and the peers that most went to or came from") {
  Accounts accounts;
  accounts.connections = 3;
  accounts.max_unexpected = 7;
  accounts.resent = 5;
  std::vector<PeerAccounts> peers(4);
  peers[1] = {1, 0, 10, 0};
  peers[3] = {2, 4, 10, 30};
  const std::string text = account_text(accounts, peers);
  CHECK(text.starts_with("channel {\"send_queue_pairs\":0,"));
  for (const char* figure : {"\"connections\":3,", "\"max_unexpected\":7,", "\"resent\":5,"})
    CHECK_THAT(text, Catch::Contains(figure));
  CHECK(text.ends_with(
      ",\"peers\":{"
      "\"3\":{\"messages_sent\":2,\"messages_received\":4,\"sent\":10,\"received\":30},"
      "\"1\":{\"messages_sent\":1,\"messages_received\":0,\"sent\":10,\"received\":0}}}\n"));
}

TEST_CASE("channel: accounts of very many peers stay within what a launcher takes of a rank") {
  std::vector<PeerAccounts> peers(100'000);
  for (std::size_t i = 0; i < peers.size(); ++i)
    peers[i] = {1'000'000, 1'000'000, 1'000'000'000 + i, 1'000'000'000};
  const std::string text = account_text({}, peers);
  CHECK(text.size() < 8192);
  CHECK(count_of(text, "\"messages_sent\"") > 50);
  CHECK_THAT(text, Catch::Contains("\"99999\":{"));
  CHECK(text.ends_with("}}}\n"));
}

}  // namespace
}  // namespace scela::channel::account_file_test
