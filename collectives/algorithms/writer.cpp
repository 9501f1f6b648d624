#include "collectives/algorithms/writer.h"

#include <utility>

namespace scela::collectives {

void Writer::send(int peer, Blocks from) {
  ++sending_[peer];
  list_.tasks.push_back({.kind = Kind::send, .peer = peer, .from = from, .to = {}});
}

void Writer::receive(int peer, Blocks to) {
  list_.tasks.push_back({.kind = Kind::receive, .peer = peer, .from = {}, .to = to});
}

void Writer::wait_received(int peer, std::uint32_t count) {
  list_.tasks.push_back(
      {.kind = Kind::wait_received, .peer = peer, .count = count, .from = {}, .to = {}});
}

void Writer::wait_sent(int peer) {
  const auto found = sending_.find(peer);
  if (found == sending_.end()) return;
  list_.tasks.push_back(
      {.kind = Kind::wait_sent, .peer = peer, .count = found->second, .from = {}, .to = {}});
  sending_.erase(found);
}

void Writer::wait_all_sent() {
  while (!sending_.empty())
    wait_sent(sending_.begin()->first);
}

void Writer::signal() {
  list_.tasks.push_back({.kind = Kind::signal, .from = {}, .to = {}});
}

void Writer::copy(Blocks from, Blocks to) {
  list_.tasks.push_back({.kind = Kind::copy, .from = from, .to = to});
}

void Writer::reduce_left(Blocks left, Blocks to) {
  list_.tasks.push_back({.kind = Kind::reduce, .from = left, .to = to});
}

void Writer::reduce_right(Blocks right, Blocks to) {
  list_.tasks.push_back({.kind = Kind::reduce, .from_right = true, .from = right, .to = to});
}

TaskList Writer::done(std::uint32_t input, std::uint32_t output, std::uint32_t scratch) {
  wait_all_sent();
  signal();
  list_.blocks[static_cast<std::size_t>(Space::input)] = input;
  list_.blocks[static_cast<std::size_t>(Space::output)] = output;
  list_.blocks[static_cast<std::size_t>(Space::scratch)] = scratch;
  return std::exchange(list_, {});
}

}  // namespace scela::collectives
