// Transfers that are not done at once (Host::at_once): what a queue pair is in the midst of.
//
// What a queue pair does next is a step: a part of a message, say. A step that comes to a transfer
// which is not over is left where it is, and taken again from its start once it is; so a step
// changes nothing that would count twice before the last of its transfers. What it has moved
// already is noted here, and not moved again. Where too much is kept for a process, a step that
// needs more gives up what it keeps.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "hca/core/counted.h"
#include "hca/core/host.h"

namespace scela::hca {

struct Move {
  enum class Kind : std::uint8_t { read, write, copy, change };
  struct What {
    Kind kind = Kind::read;
    ProcessId from = 0;
    ProcessId to = 0;
    std::uint64_t from_address = 0;
    std::uint64_t to_address = 0;
    std::uint64_t bytes = 0;
    OrderKind change = OrderKind::fetch_add;
    std::uint64_t compare_add = 0;
    std::uint64_t swap = 0;
    friend bool operator==(const What&, const What&) = default;
  };
  What what;
  Transfer state = Transfer::later;
  std::uint64_t done = 0;  // bytes
  // Of a read, all that was read; of a copy, what has been fetched and is not stored.
  CountedBytes kept;
  bool fetched = false;
  std::array<std::byte, 8> before = {};  // of a change: the number
  Ticket ticket = 0;                     // with this process
  ProcessId with = 0;
};

struct Step {
  // Of which request and from where on; another one begins with nothing moved.
  struct Key {
    std::uint64_t index = 0;
    std::uint64_t sent = 0;
    std::uint32_t round = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  Key key;
  std::uint32_t qp = 0;
  std::uint64_t filling = 0;  // the receive request (Receiving::taking)
  std::vector<Move> moves;
  std::size_t next = 0;     // of them, the one that the step comes to
  bool held = false;        // it waits for a process
  ProcessId waits_for = 0;  // while held
  bool again = false;       // it was held before
  bool crowded = false;     // there was no room for what it would keep
};

}  // namespace scela::hca
