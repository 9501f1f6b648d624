// Keys by which the adapter engines of a job's nodes know each other (hca/engine/peer_greeting.h):
// one for each pair of nodes and each direction, so that a node can take no other node's place.
//
// Each engine has a key of its own. The key of a connection follows from that of the node that
// accepts it and the number of the node that connects. The one that connects is told it by whoever
// has the other's own key: under scela-run by that node's agent (nla/core/engine_desk.h), elsewhere
// by itself, because there all nodes have the job's key. Values only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace scela {

inline constexpr std::size_t kEngineKeyBytes = 32;

// Of a node's engine under scela-run. `node_key`: nla/node_keys.h.
std::string engine_key(std::string_view node_key, std::string_view job_id);
// Of a node's engine where all nodes have one key.
std::string engine_key_of(std::string_view job_key, std::uint32_t node);
// Of connections that node `from` makes to the engine with this key.
std::string connection_key(std::string_view engine_key, std::uint32_t from);

}  // namespace scela
