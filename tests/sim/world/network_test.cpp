#include "tests/sim/world/sim_network.h"

#include <catch2/catch.hpp>

#include "tests/sim/generator/payload.h"

namespace scela::sim::network_test {
namespace {

namespace msg = nla::msg;

struct Wire {
  Wire() {
    schedule.pace.link_max = 5000;
    schedule.pace.tail = 5;
    schedule.codec_every = 1;
  }
  // Runs until nothing is due; tells what was delivered as (link, number of the message).
  std::vector<std::pair<std::uint32_t, std::uint64_t>> run() {
    std::vector<std::pair<std::uint32_t, std::uint64_t>> delivered;
    while (!tasks.empty()) {
      const Task task = tasks.take();
      now = task.at;
      if (task.kind == TaskKind::end_seen) ends.push_back({task.a, task.b});
      if (task.kind == TaskKind::child_gone) gone.push_back(task.a);
      if (task.kind != TaskKind::deliver) continue;
      nla::Message message;
      std::string fault;
      if (!network.take(task.a, task.b != 0, message, fault)) continue;
      REQUIRE(fault.empty());
      delivered.emplace_back(task.a, std::get<msg::Credit>(message).bytes);
    }
    return delivered;
  }
  Schedule schedule;
  TaskQueue tasks;
  Random random{1};
  Micros now = 0;
  Network network{schedule, tasks, random, now};
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ends;
  std::vector<std::uint32_t> gone;
};

TEST_CASE("Messages of one link stay in order, messages of different links do not") {
  Wire wire;
  for (std::uint32_t link = 0; link < 4; ++link) {
    wire.network.open(0, link + 1, link);
    wire.network.connect(link, link + 1);
  }
  for (std::uint64_t i = 0; i < 400; ++i) {
    wire.network.send(static_cast<std::uint32_t>(i % 4), true, msg::Credit{i});
  }
  const auto delivered = wire.run();
  REQUIRE(delivered.size() == 400);
  std::vector<std::uint64_t> last(4);
  std::uint64_t newest = 0;
  bool overtaken = false;
  for (const auto& [link, number] : delivered) {
    CHECK((number == link || number > last[link]));
    last[link] = number;
    overtaken = overtaken || number < newest;
    newest = std::max(newest, number);
  }
  CHECK(overtaken);
}

TEST_CASE("Messages to a child that does not run yet wait for it") {
  Wire wire;
  const auto link = wire.network.open(0, 1, 0);
  wire.network.send(link, true, msg::Credit{1});
  wire.network.send(link, true, msg::Credit{2});
  CHECK(wire.run().empty());
  wire.network.connect(link, 1);
  CHECK(wire.run().size() == 2);
}

TEST_CASE("A cut link loses what is under way and both ends are told once") {
  Wire wire;
  const auto link = wire.network.open(0, 1, 0);
  wire.network.connect(link, 1);
  wire.network.send(link, false, msg::Credit{1});
  wire.network.cut(link);
  wire.network.cut(link);
  wire.network.send(link, true, msg::Credit{2});
  CHECK(wire.run().empty());
  CHECK(wire.ends.size() == 2);
}

TEST_CASE("An agent's end is seen after what it sent, and its node is gone after that") {
  Wire wire;
  const auto link = wire.network.open(0, 1, 0);
  wire.network.connect(link, 1);
  for (std::uint64_t i = 1; i <= 20; ++i)
    wire.network.send(link, false, msg::Credit{i});
  wire.network.end_of(link, true, false);
  wire.network.gone(link);
  CHECK(wire.run().size() == 20);
  REQUIRE(wire.ends.size() == 1);
  CHECK(wire.ends.front() == std::pair<std::uint32_t, std::uint32_t>{link, 0});
  CHECK(wire.gone == std::vector<std::uint32_t>{link});
}

TEST_CASE("A parent that gives a link up hears no more of it than that the child is gone") {
  Wire wire;
  const auto link = wire.network.open(0, 1, 0);
  wire.network.connect(link, 1);
  wire.network.send(link, false, msg::Credit{1});
  wire.network.close_by_parent(link);
  wire.network.gone(link);
  CHECK(wire.run().empty());
  REQUIRE(wire.ends.size() == 1);
  CHECK(wire.ends.front().second == 1);  // the child
  CHECK(wire.gone.size() == 1);
}

TEST_CASE("Streams are the same bytes however they are cut") {
  const Chunk whole = stream_bytes(5, 0, 10'000);
  REQUIRE(whole.size() == 10'000);
  CHECK(stream_bytes(5, 4000, 1000) == whole.slice(4000, 1000));
  CHECK(stream_has(5, 4000, whole.view().substr(4000)));
  CHECK_FALSE(stream_has(5, 4001, whole.view().substr(4000)));
  CHECK_FALSE(stream_has(6, 4000, whole.view().substr(4000)));
  std::uint64_t at = 0;  // over the buffer's end and beyond
  while (at < 3 * kPattern) {
    const Chunk piece = stream_bytes(5, at, 100'000);
    REQUIRE(!piece.empty());
    REQUIRE(stream_has(5, at, piece.view()));
    at += piece.size();
  }
}

}  // namespace
}  // namespace scela::sim::network_test
