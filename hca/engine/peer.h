// What this engine knows of another node's, and which of several connections between the two stays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "common/crypto/hmac.h"
#include "hca/core/engine.h"
#include "hca/engine/addresses.h"
#include "hca/engine/peer_link.h"

namespace scela::hca {

struct OtherNode {
  ~OtherNode() { wipe(key); }

  Addresses addresses;
  // The key of connections that this node makes to it, as the directory has said. It stays empty if
  // all nodes have one key.
  std::string key;
  std::size_t untried = 0;  // addresses, of this round
  bool was_asked = false;   // for an address: that is not believed any longer than it serves
  Moment ask_again = 0;
  std::uint32_t standing = 0;  // the connection, 0: none
  std::uint32_t trying = 0;    // one that this node has begun and that does not stand yet
  std::uint32_t attempts = 0;  // that this node has begun
  // The other's connections of this instance up to this attempt are over, or stand.
  std::uint64_t instance = 0;
  std::uint32_t seen = 0;

  Outbox outbox;
  bool full = false;   // it was too full for another frame
  bool dirty = false;  // it is to be sent at the end of this turn
  // While nothing stands: when the frames that wait are given up, and when to try (again).
  Moment give_up = 0;
  Moment not_before = 0;
  // Its engine has said all that it had to say, and closed the last connection: it ended with its
  // programs. That it is spoken to in vain then is nothing that its owner must know.
  bool has_left = false;

  // What to say to the other engine, which has proved itself. If both connect at once, the
  // connection of the lower node stays: that node refuses the other's, and the other takes it
  // instead of its own. A connection that was begun before one that stands is not taken for a new
  // one.
  Greeting::Verdict verdict(std::uint32_t own_node, const Hello& other) const {
    if (other.instance == instance && other.attempt <= seen) return Greeting::Verdict::stale;
    if (trying != 0 && own_node < other.from) return Greeting::Verdict::crossing;
    return Greeting::Verdict::welcome;
  }
  void saw(std::uint64_t other_instance, std::uint32_t attempt) {
    instance = other_instance;
    seen = attempt;
  }
};

}  // namespace scela::hca
