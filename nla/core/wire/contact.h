// How the agent of a node is reached. scela-run finds this out once for each host and ships it with
// the host list. So agents read no ssh configuration and ask no name service.
//
// A contact is one line of text, because the host list is a list of lines (msg::SliceHosts) that
// the core hands on without reading them:
//
//   NAME [root]                                 the agent runs on the parent's own machine
//   NAME ADDRESS PORT USER HOSTKEYS [FLAG...]   over ssh; fields are separated by one space
//
// HOSTKEYS is a list TYPE:DIGEST,... of the accepted keys. DIGEST is the SHA-256 of the key's blob
// in hex. An item "*" accepts any other key too: nothing is known of the host, and the first key is
// taken, or StrictHostKeyChecking is no. "-" accepts none. The FLAG "root" says that only scela-run
// itself can start this agent: it is on its own machine, or scela-run knows a way there. The FLAG
// "waits" says that the agent runs already: a bulk starter has started it, and it waits at ADDRESS
// and PORT for its parent (nla/dial/dial_hello.h). USER is then the name that the agent has given
// itself, which may lack the domain of NAME or have one more, and HOSTKEYS has no meaning.
//
// Values only, for any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/result.h"

namespace scela::nla {

// A host key that ssh accepts from a host, given by its digest.
struct HostKey {
  // As ssh names it: ssh-ed25519, ecdsa-sha2-nistp256, ssh-rsa.
  std::string type;
  std::string digest;  // 64 lower-case hexadecimal digits
  friend bool operator==(const HostKey&, const HostKey&) = default;
};

// How one host's agent is reached. The fields are those of the line above.
struct Contact {
  std::string name;     // as the user wrote it, to print
  std::string address;  // numeric, or as --launch's program gets it; empty: the parent's machine
  std::uint16_t port = 22;
  std::string user;      // login name; with `waits` the agent's own name of its node
  bool any_key = false;  // other host keys than these are accepted as well
  std::vector<HostKey> keys;
  bool root_only = false;  // the FLAG "root"
  bool waits = false;      // the FLAG "waits"

  // Returns true if the agent runs on its parent's own machine, without ssh.
  bool here() const { return address.empty(); }
  friend bool operator==(const Contact&, const Contact&) = default;
};

// Returns the line of a contact, without a newline. parse_contact() reads it.
std::string format(const Contact& contact);
// Reads a line without its newline. Returns a protocol error if fields are missing or malformed.
// Unknown flags are ignored.
Result<Contact> parse_contact(std::string_view line);
// Returns the first word of a contact's line: the host's name as the user wrote it. The view is
// into `line`.
std::string_view contact_name(std::string_view line);

}  // namespace scela::nla
