// The state that this engine keeps about another node's engine, and the rule for which of several
// connections between the two stays. Fabric and Dialer use it, on the engine's one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "common/crypto/hmac.h"
#include "hca/core/model/engine.h"
#include "hca/engine/net/addresses.h"
#include "hca/engine/net/peer_link.h"

namespace scela::hca {

// Another node. Times are nanoseconds; connections are named by their numbers in PeerLinks.
struct OtherNode {
  ~OtherNode() { wipe(key); }

  Addresses addresses;
  // The key of connections that this node makes to it, as the directory has told it. It stays empty
  // if all nodes have one key.
  std::string key;
  // Addresses that the present round of attempts has not tried.
  std::size_t untried = 0;
  // The directory was asked for its address.
  bool was_asked = false;
  // When the directory may be asked again.
  Moment ask_again = 0;
  std::uint32_t established = 0;  // established connection; 0: none
  // A connection that this node has begun and that is not established; 0: none.
  std::uint32_t trying = 0;
  std::uint32_t attempts = 0;  // connections begun by this node
  // `instance` is the random number of the other engine. Its connections up to attempt number
  // `seen` have ended or are established.
  std::uint64_t instance = 0;
  std::uint32_t seen = 0;

  Outbox outbox;
  // Fabric::ready() has returned false.
  bool full = false;
  bool dirty = false;  // it is in Fabric::dirty_
  // While no connection is established: when waiting frames are given up, and when to try again.
  Moment give_up = 0;
  Moment not_before = 0;
  // True if its engine has sent all that it had to send and closed the last connection: it ended
  // with its programs. That it does not answer then is not worth a report.
  bool has_left = false;

  // Returns the answer to `other`, an engine that has proved itself and wants its connection to be
  // established. If both connect at once, the connection of the lower node stays. That node refuses
  // the other's, and the other takes it instead of its own. A connection that was begun before an
  // established one is refused as old.
  Greeting::Verdict verdict(std::uint32_t own_node, const Hello& other) const {
    if (other.instance == instance && other.attempt <= seen) return Greeting::Verdict::stale;
    if (trying != 0 && own_node < other.from) return Greeting::Verdict::crossing;
    return Greeting::Verdict::welcome;
  }
  // Notes that a connection was established: the other engine's instance, and the number of its
  // attempt.
  void note_established(std::uint64_t other_instance, std::uint32_t attempt) {
    instance = other_instance;
    seen = attempt;
  }
};

}  // namespace scela::hca
