#include "hca/engine/net/fabric_record.h"

#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "common/core/text.h"
#include "common/os/syscall.h"
#include "hca/core/wire/port_address.h"
#include "hca/engine/net/peer_link.h"

namespace fabric_record_test {

using namespace scela;
using namespace scela::hca;

namespace {
const std::string kKey = "00ff0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1dAb";
const std::string kRecord =
    cat("job j.1\nnode 2\nnodes 5\nkey ", kKey, "\nlisten 192.0.2.4:7000\n");

std::vector<std::byte> frame(std::size_t payload) {
  const FrameHeader header;
  const FrameHead head(std::as_bytes(std::span(&header, 1)), payload);
  std::vector<std::byte> made(head.bytes().begin(), head.bytes().end());
  made.resize(made.size() + payload, std::byte{7});
  return made;
}
}  // namespace

TEST_CASE("an engine reads which node of which job it is") {
  const auto record = parse_fabric_record(
      kRecord + "address 2001:db8::5\npeer 0 192.0.2.1:7000\npeer 4 [2001:db8::1]:80\n");
  REQUIRE(record);
  CHECK(record->job == "j.1");
  CHECK(record->node == 2);
  CHECK(record->nodes == 5);
  REQUIRE(record->key.size() == kEngineKeyBytes);
  CHECK(record->key[0] == '\0');
  CHECK(record->key[31] == '\xab');
  CHECK(record->listen.text() == "192.0.2.4:7000");
  CHECK(record->reached.text() == "[2001:db8::5]:0");
  REQUIRE(record->directory.size() == 2);
  CHECK(record->directory.at(0).text() == "192.0.2.1:7000");
  CHECK(record->directory.at(4).text() == "[2001:db8::1]:80");
  CHECK(parse_fabric_record(kRecord)->reached == record->listen);
  CHECK_FALSE(record->encrypt);
  CHECK(parse_fabric_record(kRecord + "encrypt yes\n")->encrypt);
  CHECK_FALSE(parse_fabric_record(kRecord + "encrypt no\n")->encrypt);
  CHECK_FALSE(record->key_is_own);
  const auto own =
      parse_fabric_record(cat("job j\nnode 2\nnode-key ", kKey, "\nlisten 192.0.2.4:7000\nasks\n"));
  REQUIRE(own);
  CHECK(own->key_is_own);
  CHECK(own->key == record->key);
}

TEST_CASE("errors of a record are reported, without the key") {
  const std::string long_name(256, 'x');
  for (const std::string& text :
       {std::string(),
        std::string("nonsense"),
        kRecord + "nonsense 1\n",
        kRecord + "node 2\n",
        cat(kRecord, "node-key ", kKey, "\nasks\n"),
        cat("job j\nnode 2\nnode-key ", kKey, "\nlisten 192.0.2.4:7000\n"),
        kRecord + "asks now\n",
        kRecord + "asks\npeer 1 192.0.2.1:7\n",
        kRecord + "peer 5 192.0.2.1:7000\n",
        kRecord + "peer 1 192.0.2.1:0\n",
        kRecord + "peer 1 192.0.2.1:7\npeer 1 192.0.2.1:7\n",
        kRecord + "peer 1\n",
        kRecord + "encrypt\n",
        kRecord + "encrypt maybe\n",
        kRecord + "encrypt yes\nencrypt no\n",
        kRecord + "address node7\n",
        cat("job ", long_name, "\n"),
        std::string("job a b\n"),
        std::string("job \n"),
        std::string("node -1\n"),
        std::string("node 1x\n"),
        cat("key ", kKey.substr(1), "\n"),
        cat("key ", kKey.substr(1), "g\n"),
        std::string("listen 192.0.2.4\n"),
        std::string("listen 192.0.2.4:70000\n"),
        std::string("listen 192.0.2:7\n"),
        std::string("listen [::1:7\n"),
        std::string("listen localhost:7\n"),
        cat("job j\nnode 5\nnodes 5\nkey ", kKey, "\nlisten 192.0.2.4:0\n"),
        cat("job j\nnode 5\nnodes 30000\nkey ", kKey, "\nlisten 192.0.2.4:0\n")}) {
    CAPTURE(text);
    const auto record = parse_fabric_record(text);
    REQUIRE_FALSE(record);
    CHECK(record.error().kind == ErrorKind::usage);
    CHECK(record.error().text().find(kKey.substr(2, 20)) == std::string::npos);
  }
  for (const char* const line : {"job", "node", "key", "listen"}) {
    std::string text = "\n" + kRecord;
    const std::size_t at = text.find(cat("\n", line, " "));
    text.erase(at, text.find('\n', at + 1) - at);
    const auto record = parse_fabric_record(text);
    REQUIRE_FALSE(record);
    CHECK(record.error().why.find(line) != std::string::npos);
  }
}

TEST_CASE("a record is read to the end of what is sent, in any pieces") {
  auto pipe = make_pipe();
  REQUIRE(pipe);
  std::string text = kRecord;
  for (std::uint32_t i = 0; i < 5; ++i)
    text += cat("peer ", i, " 192.0.2.1:7000\n");
  for (std::size_t at = 0; at < text.size(); at += 11) {
    const std::string part = text.substr(at, 11);
    REQUIRE(::write(pipe->write.get(), part.data(), part.size()) ==
            static_cast<ssize_t>(part.size()));
  }
  pipe->write.reset();
  const auto record = read_fabric_record(pipe->read.get());
  REQUIRE(record);
  CHECK(record->directory.size() == 5);
  CHECK_FALSE(read_fabric_record(9999));
}

TEST_CASE("a record that ends with 'asks' is read without waiting for more") {
  auto pair = make_socket_pair(SOCK_SEQPACKET);
  REQUIRE(pair);
  const std::string text = cat("job j\nnode 24000\nkey ", kKey, "\nlisten 192.0.2.4:0\nasks\n");
  REQUIRE(::write(pair->ours.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  REQUIRE(::write(pair->ours.get(), "nobody 1", 8) == 8);
  const auto record = read_fabric_record(pair->theirs.get());
  REQUIRE(record);
  CHECK(record->asks);
  CHECK(record->nodes == kMaxNodes);  // not known: the job may grow
  CHECK_FALSE(parse_fabric_record(kRecord)->asks);
  char left[16];
  CHECK(::read(pair->theirs.get(), left, sizeof left) == 8);
}

TEST_CASE("frames are cut out of what comes, in any pieces") {
  std::vector<std::byte> all;
  for (const std::size_t payload : {0u, 1u, 65'536u, 3u}) {
    const auto made = frame(payload);
    all.insert(all.end(), made.begin(), made.end());
  }
  const std::size_t step = GENERATE(1u, 7u, 180u, 70'000u, 1'000'000u);
  std::vector<std::byte> have;
  std::vector<std::size_t> sizes;
  for (std::size_t at = 0; at < all.size(); at += step) {
    have.insert(have.end(), all.begin() + static_cast<std::ptrdiff_t>(at),
                all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), at + step)));
    if (step == 1 && have.size() % 64 != 0 && at + 1 < all.size()) continue;
    std::span<const std::byte> rest = have;
    REQUIRE(cut_frames(rest, [&](std::span<const std::byte> one) {
      sizes.push_back(one.size() - sizeof(FrameHeader));
      return true;
    }));
    have = {rest.begin(), rest.end()};
  }
  CHECK(have.empty());
  CHECK(sizes == std::vector<std::size_t>{0, 1, 65'536, 3});
}

TEST_CASE("a length that no frame has is refused as soon as it is there") {
  for (const std::size_t length :
       {std::size_t{0}, sizeof(FrameHeader) - 1, kLongestFrame + 1, std::size_t{0xFFFFFFFF}}) {
    std::vector<std::byte> bytes(4);
    for (std::size_t i = 0; i < 4; ++i)
      bytes[i] = static_cast<std::byte>(length >> (8 * i));
    std::span<const std::byte> rest = bytes;
    CHECK_FALSE(cut_frames(rest, [](std::span<const std::byte>) { return true; }));
  }
  const auto good = frame(5);
  std::span<const std::byte> rest = good;
  CHECK_FALSE(cut_frames(rest, [](std::span<const std::byte>) { return false; }));
}

TEST_CASE("an outbox gives back what was put into it, in order") {
  Outbox outbox;
  std::byte next_in{0}, next_out{0};
  for (std::size_t turn = 0; turn < 2000; ++turn) {
    std::vector<std::byte> more(turn % 97);
    for (std::byte& byte : more)
      byte = std::exchange(next_in, static_cast<std::byte>(std::to_integer<int>(next_in) + 1));
    outbox.add(more);
    const std::size_t out = std::min<std::size_t>(outbox.size(), turn % 101);
    for (const std::byte byte : outbox.waiting().first(out)) {
      REQUIRE(byte == next_out);
      next_out = static_cast<std::byte>(std::to_integer<int>(next_out) + 1);
    }
    outbox.sent(out);
  }
  outbox.sent(outbox.size());
  CHECK(outbox.empty());
}

}  // namespace fabric_record_test
