// The choice of a network (--network): which of a machine's addresses others shall use. scela-run
// reads the user's text, and each agent finds its own machine's address by it. Pure: the addresses
// of the machine are arguments.
//
// A choice is a list between commas of names of interfaces (ib0) and of prefixes of addresses
// (10.1.0.0/16, fd00:1::/64, 10.1.2.3). The first element that the machine has an address for
// decides.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/result.h"

namespace scela {

// A numeric address: 4 or 16 bytes in network order.
struct NumericAddress {
  std::array<std::uint8_t, 16> bytes{};
  std::uint32_t size = 4;
  friend bool operator==(const NumericAddress&, const NumericAddress&) = default;
};
// Reads an IPv4 or IPv6 address, without a scope. Returns std::nullopt for anything else.
std::optional<NumericAddress> parse_numeric_address(std::string_view text);

// One address of a machine. Addresses of interfaces that are down do not count.
struct InterfaceAddress {
  std::string interface;     // such as "eth0"
  std::string address;       // numeric, without a scope
  std::uint32_t bits = 0;    // the length of its subnet's prefix; 0: unknown
  bool is_loopback = false;  // the interface is one of the loopback (IFF_LOOPBACK)
};

// One element of a choice.
struct NetworkChoice {
  std::string interface;   // empty: by the prefix
  NumericAddress address;  // the prefix
  std::uint32_t bits = 0;  // its length
  // Returns true if this element means that address of a machine.
  bool means(const InterfaceAddress& one) const;
};

// Reads the value of --network. Error (usage) with `why` and `hint`: an element is neither a name
// of an interface nor a prefix.
Result<std::vector<NetworkChoice>> parse_network(std::string_view text);

// Returns the address that the choice means. One of the loopback, which other machines do not
// reach, is the last of an element's. Error (launch): the machine has none. The error names the
// addresses that it has. `text` is what parse_network() has read.
Result<std::string> address_in(std::string_view text, const std::vector<InterfaceAddress>& machine);

// Returns true if another machine may say that this is its address. The choice must have a prefix
// of it, or name an interface that leads to it: `machine`, the addresses of this machine, has one
// there in the same subnet. A loopback interface leads to no other machine, and a prefix means an
// address of the loopback only if address_in() would choose one here.
bool may_be_in(std::string_view text, std::string_view address,
               const std::vector<InterfaceAddress>& machine);

// Returns those elements of the choice by which may_be_in() can return true: the prefixes, and the
// names of this machine's interfaces. Returns an empty text if there is none. If others are left
// out, a comma follows: an empty element, by which a machine without an address in the elements
// before uses the one by which it was reached.
std::string judged_part(std::string_view text, const std::vector<InterfaceAddress>& machine);

}  // namespace scela
