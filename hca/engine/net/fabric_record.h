// The record that tells an engine about its job, so that it can connect to the engines of other
// nodes.
//
// It consists of lines of text, read to the end from the descriptor of --fabric-fd. The key is
// never an argument, in the environment or in a file.
//
//   job NAME                  up to 255 characters without spaces
//   node 3                    this node's number in the job, from 0
//   nodes 8                   how many there are; without it as many as have LIDs
//   key HEX                   64 digits, the same on all nodes; or
//   node-key HEX              64 digits, this node's own (common/crypto/engine_keys.h): the engine
//                             asks for the keys of connections that it makes
//   listen 192.0.2.4:0        or [2001:db8::4]:0; port 0: any
//   address 192.0.2.4         what others reach it at, if that is not what it listens at
//   encrypt yes               encrypts traffic between nodes; also if only the other node says so
//   peer 0 192.0.2.1:7000     where another node's engine listens: so LIDs lead there without a
//   ...                       GID, and nodes without an IPv4 address are found
//   asks                      the last: the descriptor is a socket of datagrams, which stays open,
//                             and on which the engine asks for the others (directory.h)
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "common/core/result.h"
#include "common/crypto/engine_keys.h"
#include "common/crypto/hmac.h"
#include "hca/core/wire/port_address.h"
#include "hca/engine/net/endpoint.h"

namespace scela::hca {

// The values of these lines.
struct FabricRecord {
  ~FabricRecord() { wipe(key); }

  std::string job;
  std::uint32_t node = 0;
  std::uint32_t nodes = kMaxNodes;
  std::string key;  // kEngineKeyBytes bytes
  // `key` is this node's own, not the job's.
  bool key_is_own = false;
  Endpoint listen;
  // The address of other nodes' connections to this one; its port is that of `listen`.
  Endpoint reached;
  bool encrypt = false;
  // The lines `peer`: where other nodes listen, by their numbers.
  std::map<std::uint32_t, Endpoint> directory;
  // True if there is a line `asks`.
  bool asks = false;
};

// Converts 64 hexadecimal digits to kEngineKeyBytes bytes in `key`. Returns false if the text is
// anything else.
bool parse_key(std::string_view hex, std::string& key);
// Parses the lines. Returns an error of kind usage that says which line is wrong, without the key.
Result<FabricRecord> parse_fabric_record(std::string_view text);
// Reads the lines from the descriptor to its end or to "asks", and parses them. Blocks for at most
// 10 s; it is an error if the end does not come. The text is wiped from memory.
Result<FabricRecord> read_fabric_record(int descriptor);

}  // namespace scela::hca
