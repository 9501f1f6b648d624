// How the agent of a node is reached: what scela-run finds out about a host once and ships with the
// host list, so that agents read no ssh configuration and ask no name service.
//
// A contact is one line of text, since the host list is a list of lines (msg::SliceHosts) that the
// core hands on without reading them:
//
//   NAME [root]                                 the agent runs on the parent's own machine
//   NAME ADDRESS PORT USER HOSTKEYS [FLAG...]   over ssh; fields are separated by one space
//
// HOSTKEYS is "*" (any key: --ssh-host-keys accept-new, and nothing is known of the host) or a list
// TYPE:DIGEST,... of the accepted keys, DIGEST being the SHA-256 of the key's blob in hex ("-":
// none is). FLAG: "root" - only scela-run itself can start this one (its own machine, or it knows a
// way there).
//
// Values only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/result.h"

namespace scela::nla {

struct HostKey {
  std::string type;    // as ssh names it: ssh-ed25519, ecdsa-sha2-nistp256, ssh-rsa
  std::string digest;  // 64 lower-case hexadecimal digits
  friend bool operator==(const HostKey&, const HostKey&) = default;
};

struct Contact {
  std::string name;     // as the user wrote it; labels, messages
  std::string address;  // IPv4 or IPv6, numeric; empty: here
  std::uint16_t port = 22;
  std::string user;
  bool any_key = false;  // any host key is accepted
  std::vector<HostKey> keys;
  bool root_only = false;

  bool here() const { return address.empty(); }
  friend bool operator==(const Contact&, const Contact&) = default;
};

std::string format(const Contact& contact);
// Error (protocol): missing or malformed fields.
Result<Contact> parse_contact(std::string_view line);
// The first word of a contact's line.
std::string_view contact_name(std::string_view line);

}  // namespace scela::nla
