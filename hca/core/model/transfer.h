// Transfers that take time (ProgramMemory::at_once): what a queue pair is in the middle of. The
// interpreter's one thread uses it.
//
// The next action of a queue pair is a step, such as a part of a message. If a step comes to a
// transfer that is not over, it stops there. Once the transfer is over, the step is taken again
// from its start. So a step has no effect that would count twice before the last of its transfers.
// Bytes that it has moved are noted here, and are not moved again. If too many bytes are kept for a
// process, a step that needs more gives up those that it keeps.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "hca/core/model/host.h"
#include "hca/core/wire/counted_bytes.h"

namespace scela::hca {

struct Move {
  // A read copies a process's memory into the engine, a write the other way. A copy goes from one
  // process to another. A change is an atomic operation on 8 bytes.
  enum class Kind : std::uint8_t { read, write, copy, change };
  struct What {
    Kind kind = Kind::read;
    ProcessId from = 0;
    ProcessId to = 0;
    std::uint64_t from_address = 0;
    std::uint64_t to_address = 0;
    std::uint64_t bytes = 0;
    // For a change: which atomic operation, and its operands as in SendRequest.
    OrderKind change = OrderKind::fetch_add;
    std::uint64_t compare_add = 0;
    std::uint64_t swap = 0;
    friend bool operator==(const What&, const What&) = default;
  };
  What what;
  // The result, or `later` until the move is over.
  Transfer state = Transfer::later;
  std::uint64_t done = 0;  // bytes
  // For a read, all bytes that were read. For a copy, the bytes that were fetched and are not
  // stored.
  CountedBytes kept;
  // For a copy: the bytes in `kept` were fetched and are not stored yet.
  bool fetched = false;
  std::array<std::byte, 8> before = {};  // of a change: the old number
  Ticket ticket = 0;                     // of an order given to `with`
  ProcessId with = 0;
};

struct Step {
  // The request, and the position in it, that the step belongs to. A step with another key begins
  // with no bytes moved.
  struct Key {
    std::uint64_t index = 0;
    std::uint64_t sent = 0;
    std::uint32_t round = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  Key key;
  std::uint32_t qp = 0;
  std::uint64_t filling = 0;  // the receive request it fills (taking)
  // The moves in the order in which the step comes to them, including those that are over.
  std::vector<Move> moves;
  std::size_t next = 0;     // the move that the step comes to next
  bool held = false;        // it waits for a process
  ProcessId waits_for = 0;  // while held
  bool again = false;       // it was held before
  bool crowded = false;     // no room for bytes it must keep
};

}  // namespace scela::hca
