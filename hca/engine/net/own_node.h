// This node among those of its job: its number, its addresses, and the keys by which it and other
// nodes connect. Fabric has one, on the engine's one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "hca/core/model/engine.h"
#include "hca/engine/net/fabric_record.h"
#include "hca/engine/net/peer_greeting.h"

namespace scela::hca {

// The description of the job (FabricRecord), from this node's point of view.
class OwnNode {
 public:
  // `port` is the TCP port at which this node listens.
  OwnNode(const FabricRecord& record, std::uint16_t port);

  // Returns true if the record says the same about the job and this node; its addresses may differ.
  bool is_of(const FabricRecord& record) const;
  // Returns true if this node asks that traffic between nodes is encrypted.
  bool encrypts() const { return identity_.encrypts; }
  // Asks for it in the greetings from now on.
  void encrypt() { identity_.encrypts = true; }
  // Returns the interpreter's settings of this node: its GUID, its first LID and its first GID. The
  // others have their defaults.
  Settings settings() const;

  const std::string& job() const { return record_.job; }
  // Return the number of this node in the job, and the number of nodes.
  std::uint32_t number() const { return record_.node; }
  std::uint32_t nodes() const { return record_.nodes; }
  // Returns the address at which other nodes and programs reach this one.
  const Endpoint& reached() const { return record_.reached; }
  // Returns where other nodes listen, by their numbers, as far as the record says so.
  const std::map<std::uint32_t, Endpoint>& announced() const { return record_.directory; }
  // Returns what greetings say about this node. The reference is valid as long as this object.
  const Identity& identity() const { return identity_; }

  // Another node, as an address names it.
  struct Target {
    std::uint32_t node = 0;
    std::optional<Endpoint> endpoint;  // if the address says where the node listens
  };
  // Returns the other node of the job that an address leads to, or std::nullopt if it leads to
  // none. The address is the GID if `is_global` is true, otherwise the LID.
  std::optional<Target> target_of(const Gid& gid, bool is_global, std::uint16_t lid) const;

  // `told` is the key of connections to a node that the directory has told, or empty. Returns true
  // if this node can connect there, with that key or with the job's.
  bool knows_key(const std::string& told) const { return !record_.key.empty() || !told.empty(); }
  // Returns the key of connections to the node `node`, or an empty string if neither the job's key
  // nor `told` gives one.
  std::string key_to(std::uint32_t node, const std::string& told) const;

 private:
  FabricRecord record_;  // its key is the job's, or empty
  Identity identity_;
  std::uint32_t tag_ = 0;  // the part of GIDs that names the job
};

}  // namespace scela::hca
