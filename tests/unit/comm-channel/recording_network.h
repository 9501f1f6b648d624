// A network for tests of the messenger and of its single parts: it records what is sent, has room
// for messages and moves if the test says so, and brings the messages that the test puts there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
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
  unsigned poll(NetworkUser& user) override {
    for (const auto& [header, body] : std::exchange(arriving, {}))
      user.arrived(1, header, body);
    return 0;
  }
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
  bool is_connected(int rank) const override { return has_connection(rank); }
  bool works() const override { return has_device; }
  bool is_software() const override { return true; }
  void add_counters(Counters&) const override {}
  std::string describe() const override { return {}; }

  bool has_room = true;            // for messages
  bool has_room_for_moves = true;  // for writes and reads
  bool has_device = true;
  std::function<bool(int rank)> has_connection = [](int) { return true; };
  // Messages that poll() brings from rank 1, each once.
  std::vector<std::pair<Header, std::vector<std::byte>>> arriving;
  std::vector<Sent> sent;
  std::vector<Operation*> moved;  // operations of writes and reads

 private:
  bool move(Operation& operation) {
    if (has_room_for_moves) moved.push_back(&operation);
    return has_room_for_moves;
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
