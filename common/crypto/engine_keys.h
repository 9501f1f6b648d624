// Keys by which the adapter engines of a job's nodes know each other. An adapter engine is
// scela-hca, the process that carries out a node's InfiniBand requests in software; engines connect
// by TLS (hca/engine/net/peer_greeting.h). There is one key for each pair of nodes and each
// direction, so that a node cannot pose as another.
//
// Each engine has its own key. The key of a connection follows from the key of the node that
// accepts it and from the number of the node that connects. The connecting node gets it from the
// holder of the accepting node's key. Under scela-run that is the agent of the accepting node
// (nla/core/pmix/engine_directory.h). Elsewhere a node computes it itself, because all nodes have
// the job's key. The functions compute values only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace scela {

inline constexpr std::size_t kEngineKeyBytes = 32;  // of every key here

// Returns the key of a node's engine under scela-run. `node_key` is the secret of the node's agent,
// which nla/keys/node_keys.h makes.
std::string engine_key(std::string_view node_key, std::string_view job_id);
// Returns the key of the engine of node number `node` if all nodes have one key, `job_key`.
std::string engine_key_of(std::string_view job_key, std::uint32_t node);
// Returns the key of connections that node number `from` makes to the engine with key `engine_key`.
std::string connection_key(std::string_view engine_key, std::uint32_t from);

}  // namespace scela
