// The shell lends these functions and objects to the parts that serve the ranks of its node.
//
// Used on the shell's loop, in one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "nla/core/tree/events.h"
#include "nla/io/read_buffer.h"
#include "nla/io/trace.h"

namespace boost::asio {
class io_context;
}

namespace scela::nla {

// Lent by the owner of the ranks; must outlive them.
struct RanksHost {
  boost::asio::io_context& io;
  ReadBuffer& buffer;
  Tracer& tracer;
  std::function<std::uint64_t()> clock_ns;  // the root's clock
  std::function<void(Event)> emit;          // queues; does not handle it at once
  std::function<void()> turn_over;          // time to handle the emitted events
  std::function<int()> segment;             // makes the segment if need be; -1: none
  // A rank has read the pair in the segment that has this hash of its key. Empty if the cache
  // evicts nothing.
  std::function<void(std::uint64_t hash)> used;
  // Takes a directory outside of the node's that must not outlive it. Called before it exists.
  std::function<void(const std::string&)> register_cleanup;
};

}  // namespace scela::nla
