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

class OwnNode {
 public:
  // `port` is the one at which this node listens.
  OwnNode(const FabricRecord& record, std::uint16_t port);

  // Returns whether the record says the same about the job and this node; its addresses may differ.
  bool is_of(const FabricRecord& record) const;
  // Returns whether this node wishes that traffic between nodes is encrypted.
  bool encrypts() const { return identity_.encrypts; }
  // Wishes so in the greetings from now on.
  void encrypt() { identity_.encrypts = true; }
  // Returns the settings of this node for the interpreter.
  Settings settings() const;

  const std::string& job() const { return record_.job; }
  std::uint32_t number() const { return record_.node; }
  std::uint32_t nodes() const { return record_.nodes; }  // of the job
  // Returns the address at which other nodes and programs reach this one.
  const Endpoint& reached() const { return record_.reached; }
  // Returns where other nodes listen, by their numbers, as far as the record says so.
  const std::map<std::uint32_t, Endpoint>& announced() const { return record_.directory; }
  // Returns what greetings say about this node. It stays where it is.
  const Identity& identity() const { return identity_; }

  struct Target {
    std::uint32_t node = 0;
    std::optional<Endpoint> endpoint;  // if the address says where the node listens
  };
  // Returns the other node of the job that a program's address leads to, or std::nullopt if it
  // leads to none.
  std::optional<Target> target_of(const Gid& gid, bool is_global, std::uint16_t lid) const;

  // `told` is the key of connections to a node as the directory has told it, or empty. knows_key()
  // returns whether this node can connect there. key_to() returns the key of such connections, or
  // an empty string if it must be asked for.
  bool knows_key(const std::string& told) const { return !record_.key.empty() || !told.empty(); }
  std::string key_to(std::uint32_t node, const std::string& told) const;

 private:
  FabricRecord record_;  // its key is the job's, or empty
  Identity identity_;
  std::uint32_t tag_ = 0;  // the part of GIDs that names the job
};

}  // namespace scela::hca
