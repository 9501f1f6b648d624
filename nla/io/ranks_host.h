// The functions and objects that the shell (an agent's code with system calls) lends to the parts
// that serve the ranks of its node.
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
  // Returns nanoseconds on the clock of the root, which is scela-run.
  std::function<std::uint64_t()> clock_ns;
  // Queues an event for the agent's core. It is not handled from within the call.
  std::function<void(Event)> emit;
  // Handles the queued events. To be called at the end of a turn of the loop that has emitted some.
  std::function<void()> turn_over;
  // Returns the descriptor of the memory from which ranks read pairs, and makes it if need be.
  // Returns -1 if there is none.
  std::function<int()> segment;
  // To be called if a rank has read the pair in that memory that has this hash of its key. Absent
  // if the cache evicts nothing.
  std::function<void(std::uint64_t hash)> used;
  // Registers a directory outside of the node's that must not outlive the agent. To be called
  // before it is made.
  std::function<void(const std::string&)> register_cleanup;
};

}  // namespace scela::nla
