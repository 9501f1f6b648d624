// The address at which the engines of other nodes reach this node's engine. scela_hca_join() uses
// it.
#pragma once

#include <string>

namespace scela::hca::library {

// Returns an IPv4 address in numbers. `words` is such an address or the name of an interface, or
// null. If it is null, SCELA_HCA_ADDRESS says either. Otherwise the address is the first of an
// interface that is up and not the loopback, or 127.0.0.1 if there is none. Returns an empty string
// if the words name no address; `why` then says which words.
std::string own_address(const char* words, std::string& why);

}  // namespace scela::hca::library
