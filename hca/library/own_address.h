// At which address the engines of other nodes reach this one.
#pragma once

#include <string>

namespace scela::hca::library {

// `words`: an IPv4 address in numbers, the name of an interface, or nothing: then SCELA_HCA_ADDRESS
// says either, else it is the first address of an interface that is up and not the loopback, or
// 127.0.0.1 where there is none such. Empty: the words name no address; `why` says which.
std::string own_address(const char* words, std::string& why);

}  // namespace scela::hca::library
