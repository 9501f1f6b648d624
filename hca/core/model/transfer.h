// The state of transfers that take time: how far the present action of a queue pair has come. The
// engine may be unable to access a process's memory itself; the process then copies its bytes for
// the engine (ProgramMemory::at_once). The interpreter's one thread uses it.
//
// The next action of a queue pair is a step, such as a part of a message. A move is one transfer
// between memories that a step makes. If a step comes to a move that is not over, the step stops
// there: it is held. Once the move is over, the step is taken again from its start. So a step has
// no effect that would count twice before the last of its moves. The bytes that it has moved are
// noted here, and are not moved again. If too many bytes are kept for a process, a step that needs
// more gives up those that it keeps.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "hca/core/model/host.h"
#include "hca/core/wire/counted_bytes.h"

namespace scela::hca {

// One transfer of a step.
struct Move {
  // A read copies a process's memory into the engine, a write the other way. A copy goes from one
  // process to another. A change is an atomic operation on 8 bytes.
  enum class Kind : std::uint8_t { read, write, copy, change };
  // A description of the transfer. A read has no `to` process, a write and a change no `from`
  // process.
  struct What {
    Kind kind = Kind::read;
    ProcessId from = 0;
    ProcessId to = 0;
    std::uint64_t from_address = 0;
    std::uint64_t to_address = 0;
    std::uint64_t bytes = 0;
    // For a change: compare_swap or fetch_add, and its operands as in SendRequest.
    OrderKind change = OrderKind::fetch_add;
    std::uint64_t compare_add = 0;
    std::uint64_t swap = 0;
    friend bool operator==(const What&, const What&) = default;
  };
  What what;
  // The result, or `later` until the move is over.
  Transfer state = Transfer::later;
  std::uint64_t done = 0;  // bytes that were moved so far
  // For a read, all bytes that were read. For a copy, a buffer for the bytes between the two
  // processes.
  CountedBytes kept;
  // For a copy: the bytes in `kept` were fetched and are not stored yet.
  bool fetched = false;
  std::array<std::byte, 8> before = {};  // of a change: the old number
  // The order that was given to the process `with` and is not over; 0: none.
  Ticket ticket = 0;
  ProcessId with = 0;
};

// A step of one queue pair, which TransferSteps begins and ends.
struct Step {
  // The request, and the position in it, that the step belongs to. A step with another key begins
  // with no bytes moved. `index` is the request's in its queue, `sent` the bytes sent before.
  struct Key {
    std::uint64_t index = 0;
    std::uint64_t sent = 0;
    std::uint32_t round = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  Key key;
  std::uint32_t qp = 0;  // queue pair that takes the step
  // The receive request that the step fills (Receiving::taking); 0: none.
  std::uint64_t filling = 0;
  // The moves in the order in which the step comes to them, including those that are over.
  std::vector<Move> moves;
  // The index in `moves` of the move that the step comes to next.
  std::size_t next = 0;
  bool held = false;        // it waits for a process
  ProcessId waits_for = 0;  // while held
  bool again = false;       // it was held before
  // Held because there is no room for bytes that it must keep.
  bool crowded = false;
};

}  // namespace scela::hca
