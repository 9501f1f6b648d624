// Runs the ranks of a node in one process: their messengers share one mapping, and the test moves
// them.
#pragma once

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "comm-channel/messenger/messenger.h"

namespace scela::channel::test {

using Data = std::vector<std::byte>;

inline Data data_of(std::size_t size, unsigned seed) {
  Data data(size);
  for (std::size_t i = 0; i < size; ++i)
    data[i] = static_cast<std::byte>(seed * 31 + i * 7 + i / 256);
  return data;
}

class Ranks {
 public:
  explicit Ranks(int count, ChannelOptions options = {})
      : options_(std::move(options)), worlds_(static_cast<std::size_t>(count)) {
    auto segment =
        shm::make_segment(shm::shape_for(static_cast<std::uint32_t>(count), options_.eager.shm));
    REQUIRE(segment);
    for (int rank = 0; rank < count; ++rank) {
      World& world = worlds_[static_cast<std::size_t>(rank)];
      world.rank = rank;
      world.size = count;
      world.node_of.assign(static_cast<std::size_t>(count), 0);
      auto link = shm::join_node(*segment, static_cast<std::uint32_t>(rank));
      REQUIRE(link);
      links_.push_back(link->get());
      ranks_.push_back(std::make_unique<Messenger>(world, options_, std::move(*link), nullptr));
    }
    for (shm::NodeLink* const link : links_)
      link->settle();
  }

  Messenger& operator[](int rank) { return *ranks_[static_cast<std::size_t>(rank)]; }
  shm::NodeLink& link(int rank) { return *links_[static_cast<std::size_t>(rank)]; }

  Operation& send(int from, int to, int tag, std::span<const std::byte> bytes,
                  Context context = kWorld, bool synchronous = false) {
    Operation& operation = (*this)[from].send_operation(to, tag, bytes, context);
    operation.synchronous = synchronous;
    (*this)[from].begin(operation);
    return operation;
  }
  Operation& receive(int rank, int source, int tag, std::span<std::byte> bytes,
                     Context context = kWorld) {
    Operation& operation = (*this)[rank].receive_operation(source, tag, bytes, context);
    (*this)[rank].begin(operation);
    return operation;
  }
  // Polls until no rank has anything to move.
  void settle() {
    for (bool moved = true; moved;) {
      moved = false;
      for (const auto& rank : ranks_)
        moved = rank->poll() != 0 || moved;
      for (const auto& rank : ranks_)
        moved = moved || rank->blocked();
    }
  }

 private:
  ChannelOptions options_;
  std::vector<World> worlds_;
  std::vector<shm::NodeLink*> links_;
  std::vector<std::unique_ptr<Messenger>> ranks_;
};

}  // namespace scela::channel::test
