// Runs a node's connections without its interpreter, for tests that play the programs.
#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "common/os/clock.h"
#include "hca/engine/net/fabric.h"
#include "tests/support/eventually.h"

namespace scela::hca::testing {

// An interpreter without processes. The tests themselves make the requests of the fabric.
struct NoHost final : Host {
  bool read(ProcessId, std::uint64_t, std::span<std::byte>) override { return false; }
  bool write(ProcessId, std::uint64_t, std::span<const std::byte>) override { return false; }
  bool copy(ProcessId, std::uint64_t, ProcessId, std::uint64_t, std::uint64_t) override {
    return false;
  }
  bool alive(ProcessId) override { return true; }
  Shared allocate(ProcessId, std::uint64_t) override { return {}; }
  void release(ProcessId, const Region&) override {}
  void wake(ProcessId) override {}
  void completion_event(ProcessId, std::uint32_t, std::uint64_t) override {}
  void async_event(ProcessId, const AsyncEvent&) override {}
  std::optional<std::uint32_t> node_of(const Gid&, bool, std::uint16_t) override { return {}; }
  bool ready(std::uint32_t) override { return true; }
  bool send(std::uint32_t, std::span<const std::byte>, std::span<const std::byte>) override {
    return false;
  }
};

inline constexpr std::byte kSent{0x5A};  // each byte of a payload

inline FabricRecord record(std::uint32_t node, char key = 'k') {
  FabricRecord made;
  made.job = "test";
  made.node = node;
  made.nodes = 8;
  made.key = std::string(kEngineKeyBytes, key);
  made.listen = made.reached = *Endpoint::parse("127.0.0.1:0");
  return made;
}

struct Node {
  explicit Node(const FabricRecord& of, Directory directory = {})
      : number(of.node + 1),
        listens(std::move(*Fabric::listen(of, std::move(directory)))),
        fabric(*listens),
        poller(std::move(*TaggedPoller::make())),
        engine(host, fabric.own_node().settings()) {
    REQUIRE(fabric.join(poller, engine));
  }
  std::uint32_t number;  // the number in the interpreter
  NoHost host;
  std::unique_ptr<Fabric> listens;
  Fabric& fabric;
  TaggedPoller poller;
  Engine engine;

  Gid gid() const { return fabric.own_node().settings().gid; }
  bool knows(const Node& other) { return fabric.node_of(other.gid(), true, 0) == other.number; }
  bool send(const Node& other, std::size_t payload = 0) {
    FrameHeader header;
    header.kind = payload == 0 ? FrameKind::answer : FrameKind::data;
    header.total = header.count = payload;
    const std::vector<std::byte> bytes(payload, kSent);
    return fabric.send(other.number, std::as_bytes(std::span(&header, 1)), bytes, monotonic_ns());
  }
  // Handles one event, if one has come.
  bool step() {
    bool came = false;
    for (const TaggedPoller::Ready& ready : poller.wait(0)) {
      came = true;
      if (ready.tag.kind == Tag::Kind::directory) {
        fabric.hear(monotonic_ns());
      } else {
        fabric.take(ready.tag.id, ready.events, monotonic_ns());
      }
    }
    fabric.send_waiting(monotonic_ns());
    return came;
  }
  std::string says(std::string_view name) const {
    for (const auto& [each, value] : fabric.status())
      if (each == name) return value;
    FAIL(name << " is not said");
    return {};
  }
  std::uint64_t count(std::string_view name) const { return std::stoull(says(name)); }
};

template <class... Nodes>
bool run_until(auto&& holds, Nodes&... nodes) {
  return scela::test::eventually([&] {
    (nodes.step(), ...);
    return holds();
  });
}

}  // namespace scela::hca::testing
