#include "hca/library/link/own_address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/socket.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#include "common/core/text.h"

namespace scela::hca::library {

namespace {

// Returns the first IPv4 address that is up: of the interface `name`, or of any but the loopback if
// that is null.
std::string first_of(const char* name) {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return {};
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> kept(all, ::freeifaddrs);
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    if ((one->ifa_flags & IFF_UP) == 0) continue;
    const bool fits = name != nullptr ? std::strcmp(one->ifa_name, name) == 0
                                      : (one->ifa_flags & IFF_LOOPBACK) == 0;
    if (!fits) continue;
    char text[INET_ADDRSTRLEN] = {};
    sockaddr_in address{};
    std::memcpy(&address, one->ifa_addr, sizeof address);
    if (::inet_ntop(AF_INET, &address.sin_addr, text, sizeof text) != nullptr) return text;
  }
  return {};
}

}  // namespace

std::string own_address(const char* words, std::string& why) {
  const char* const variable = ::getenv("SCELA_HCA_ADDRESS");
  const bool is_from_user = words == nullptr && variable != nullptr && *variable != '\0';
  if (is_from_user) words = variable;
  if (words == nullptr) {
    const std::string first = first_of(nullptr);
    return first.empty() ? "127.0.0.1" : first;
  }
  in_addr number{};
  if (::inet_pton(AF_INET, words, &number) == 1 && number.s_addr != 0) return words;
  std::string found = first_of(words);
  if (found.empty()) {
    why = cat(is_from_user ? "SCELA_HCA_ADDRESS: '" : "the address: '", words,
              "' is no IPv4 address in numbers, and no interface that is up and has one");
  }
  return found;
}

}  // namespace scela::hca::library
