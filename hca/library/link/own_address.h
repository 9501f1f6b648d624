// The address at which the engines of other nodes reach this node's engine. scela_hca_join() uses
// it.
#pragma once

#include <string>

namespace scela::hca::library {

// Returns an IPv4 address in numbers, such as "192.0.2.4". `words` is such an address or the name
// of an interface, or null. If it is null, the environment variable SCELA_HCA_ADDRESS has either.
// If that is not set, the result is the first address of an interface that is up and not the
// loopback. If there is none, it is 127.0.0.1. Returns an empty string if the words name no
// address; `why` then says which words.
std::string own_address(const char* words, std::string& why);

}  // namespace scela::hca::library
