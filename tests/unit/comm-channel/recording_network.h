// A network for tests of single parts of the messenger: it records what is sent, and has room for
// messages and moves if the test says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "comm-channel/bootstrap/bootstrap.h"
#include "comm-channel/engine/network.h"

namespace scela::channel::test {

class RecordingNetwork final : public Network {
 public:
  struct Sent {
    int rank = -1;
    Header header;
  };

  bool send(int rank, const Header& header, std::span<const std::byte>) override {
    if (has_room) sent.push_back({rank, header});
    return has_room;
  }
  bool write(int, Operation& operation, std::span<const std::byte>, std::uint64_t,
             std::uint32_t) override {
    return move(operation);
  }
  bool read(int, Operation& operation, std::span<std::byte>, std::uint64_t,
            std::uint32_t) override {
    return move(operation);
  }
  Result<verbs::Registration> registered(std::span<const std::byte>,
                                         verbs::Registrations::For) override {
    return verbs::Registration();
  }
  unsigned poll(NetworkUser&) override { return 0; }
  bool takes_eager(int) const override { return true; }
  void keep_eager(bool) override {}
  void ended(int) override {}
  void look_around() override {}
  bool idle() const override { return true; }
  bool leave() override { return true; }
  bool arm() override { return true; }
  void doze(const Timeout&) override {}
  void wake() override {}
  void disarm() override {}
  int events() const override { return -1; }
  Timeout until_timer() const override { return {}; }
  bool is_connected(int rank) const override { return rank == connected; }
  bool works() const override { return has_device; }
  bool is_software() const override { return true; }
  void account(Counters&) const override {}
  std::string describe() const override { return {}; }

  bool has_room = true;
  bool has_device = true;
  int connected = -1;  // the only rank with a connection
  std::vector<Sent> sent;
  std::vector<Operation*> moved;

 private:
  bool move(Operation& operation) {
    if (has_room) moved.push_back(&operation);
    return has_room;
  }
};

// Returns the world of rank 0 among so many ranks, each on a node of its own.
inline World apart(int ranks) {
  World world;
  world.size = world.nodes = ranks;
  for (int rank = 0; rank < ranks; ++rank)
    world.node_of.push_back(rank);
  return world;
}

}  // namespace scela::channel::test
