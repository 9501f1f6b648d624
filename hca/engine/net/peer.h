// The state that this engine keeps about another node's engine, and the rule for which of several
// connections between the two stays. Fabric uses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "common/crypto/hmac.h"
#include "hca/core/model/engine.h"
#include "hca/engine/net/addresses.h"
#include "hca/engine/net/peer_link.h"

namespace scela::hca {

struct OtherNode {
  ~OtherNode() { wipe(key); }

  Addresses addresses;
  // The key of connections that this node makes to it, as the directory has told it. It stays empty
  // if all nodes have one key.
  std::string key;
  std::size_t untried = 0;  // addresses, of this round
  bool was_asked = false;   // the directory, for an address
  Moment ask_again = 0;
  std::uint32_t standing = 0;  // the connection, 0: none
  std::uint32_t trying = 0;    // begun by this node, not established
  std::uint32_t attempts = 0;  // that this node has begun
  // The other's connections of this instance up to this attempt have ended, or are established.
  std::uint64_t instance = 0;
  std::uint32_t seen = 0;

  Outbox outbox;
  bool full = false;   // it was too full for another frame
  bool dirty = false;  // it is sent at the end of this turn
  // While no connection is established: when waiting frames are given up, and when to try again.
  Moment give_up = 0;
  Moment not_before = 0;
  // Its engine has sent all that it had to send and closed the last connection: it ended with its
  // programs. If it does not answer then, the owner of this engine need not know.
  bool has_left = false;

  // Returns the answer to the other engine, which has proved itself. If both connect at once, the
  // connection of the lower node stays. That node refuses the other's, and the other takes it
  // instead of its own. A connection that was begun before an established one is not taken for a
  // new one.
  Greeting::Verdict verdict(std::uint32_t own_node, const Hello& other) const {
    if (other.instance == instance && other.attempt <= seen) return Greeting::Verdict::stale;
    if (trying != 0 && own_node < other.from) return Greeting::Verdict::crossing;
    return Greeting::Verdict::welcome;
  }
  // Notes the attempt of the other engine's connection that was established.
  void saw(std::uint64_t other_instance, std::uint32_t attempt) {
    instance = other_instance;
    seen = attempt;
  }
};

}  // namespace scela::hca
